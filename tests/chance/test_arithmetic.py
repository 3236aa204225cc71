from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import special

from fleetbeat import cadence, chance
from fleetbeat.chance import arithmetic, arithmetic_array

positive = st.floats(min_value=1e-300, max_value=1e300)
near_one = st.floats(min_value=-1e-3, max_value=1e-3).map(lambda d: 1.0 + d)
units = st.one_of(
    st.floats(min_value=2.0**-53, max_value=1 - 2.0**-53),
    st.floats(min_value=1, max_value=53).map(lambda e: 2.0**-e),
)


@given(st.one_of(positive, near_one))
@example(5e-324)
@example(2.0**0.5)
@example(0.5)
def test_ln_is_the_logarithm(x):
    assert arithmetic.ln(x) == pytest.approx(math.log(x), rel=1e-14, abs=0.0)


@given(st.floats(min_value=-0.999, max_value=1e9))
@example(-1e-18)
@example(-1e-9)
@example(1e-300)
def test_ln1p_keeps_its_precision_near_nought(x):
    assert arithmetic.ln1p(x) == pytest.approx(math.log1p(x), rel=1e-14, abs=0.0)


@given(st.floats(min_value=-700, max_value=700))
@example(709.7)
@example(-707.9)
@example(1e-20)
def test_exp_is_the_exponential(x):
    assert arithmetic.exp(x) == pytest.approx(math.exp(x), rel=1e-14, abs=0.0)


def test_exp_beyond_its_range_is_infinite_or_nought():
    assert (arithmetic.exp(710.0), arithmetic.exp(-710.0)) == (math.inf, 0.0)
    assert arithmetic_array.exp(np.array([710.0, -710.0, 0.0])).tolist() == [math.inf, 0.0, 1.0]


@given(units)
@example(0.5)
@example(0.075)
@example(0.925)
@example(2.0**-53)
@example(1 - 2.0**-53)
@example(1.3887943864964021e-11)  # exp(-25): where the two tail formulas meet
def test_normal_quantile_is_the_quantile(u):
    assert arithmetic.normal_quantile(u) == pytest.approx(special.ndtri(u), abs=1e-12, rel=0.0)


@given(units.filter(lambda u: 1.0 - (1.0 - u) == u))
def test_normal_quantile_is_odd(u):
    assert arithmetic.normal_quantile(1.0 - u) == -arithmetic.normal_quantile(u)


@given(st.lists(st.one_of(positive, near_one), max_size=8), st.lists(st.floats(-750, 750), max_size=8))
def test_arrays_give_the_same_bits_for_ln_and_exp(xs, ys):
    assert arithmetic_array.ln(np.array(xs)).tolist() == [arithmetic.ln(x) for x in xs]
    assert arithmetic_array.exp(np.array(ys)).tolist() == [arithmetic.exp(y) for y in ys]


@given(st.lists(units, max_size=8))
def test_arrays_give_the_same_bits_for_the_quantile(us):
    assert arithmetic_array.normal_quantile(np.array(us)).tolist() == [arithmetic.normal_quantile(u) for u in us]


def test_arrays_give_the_same_bits_on_a_dense_grid_and_keep_their_shape():
    us = np.concatenate([(np.arange(1, 4000) / 4000), 2.0 ** -np.linspace(1, 53, 997)]).reshape(4, -1)
    flat = us.reshape(-1).tolist()
    for name in ("ln", "exp", "normal_quantile"):
        many = getattr(arithmetic_array, name)(us)
        assert many.shape == us.shape
        assert many.reshape(-1).tolist() == [getattr(arithmetic, name)(u) for u in flat]


@pytest.mark.parametrize("x", [0.0, -1.0, math.inf, math.nan])
def test_ln_refuses_what_has_no_logarithm(x):
    with pytest.raises(ValueError, match="above 0"):
        arithmetic.ln(x)
    with pytest.raises(ValueError, match="above 0"):
        arithmetic_array.ln(np.array([1.0, x]))


@pytest.mark.parametrize("u", [0.0, 1.0, -0.1, math.nan])
def test_the_quantile_refuses_the_ends(u):
    with pytest.raises(ValueError, match="both excluded"):
        arithmetic.normal_quantile(u)
    with pytest.raises(ValueError, match="both excluded"):
        arithmetic_array.normal_quantile(np.array([0.5, u]))


SAFE = {"frexp", "ldexp", "sqrt", "inf"}


@pytest.mark.parametrize("package", [chance, cadence])
def test_no_logarithm_or_exponential_of_the_platform_is_used(package):
    for path in sorted(Path(package.__path__[0]).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "math":
                assert {name.name for name in node.names} <= SAFE, path
            elif isinstance(node, ast.Import):
                assert "math" not in {name.name for name in node.names}, path
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
                assert node.attr not in {"log", "log1p", "log2", "exp", "exp2", "expm1", "power", "random"}, path
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                assert isinstance(node.left, ast.Constant), path
