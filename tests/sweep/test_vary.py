"""What varies: texts in, axes and cells out."""

from __future__ import annotations

import pytest

from fleetbeat.sweep.vary import Axis, VaryError, cells, count, parse_axes, parse_axis, sample


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=0.5s,1s , 2s", ("0.5s", "1s", "2s")),
        ("a=0..0.05:6", ("0", "0.01", "0.02", "0.03", "0.04", "0.05")),
        ("a=1..5:3", ("1", "3", "5")),
        ("a=0..10%:3", ("0%", "5%", "10%")),
        ("a=500ms..2s:4", ("500ms", "1s", "1.5s", "2s")),
        ("a=[1, 2],{x: 1, y: 2},'p,q'", ("[1, 2]", "{x: 1, y: 2}", "'p,q'")),
        ("targets=a-0..a-9", ("a-0..a-9",)),
    ],
)
def test_values_are_read_as_written_and_ranges_are_exact(text: str, values: tuple[str, ...]) -> None:
    assert parse_axis(text).values == values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", "expected PATH=v1,v2 or PATH=a..b:n"),
        ("=1", "expected PATH=v1,v2"),
        ("a=", "expected values between commas"),
        ("a=1,,2", "expected values between commas"),
        ("a=1,2,1", "got '1' twice"),
        ("a=1..2:0", "got 1..2:0, expected 2 to"),
        ("a=5..1:3", "expected the first below the last"),
        ("a=2..2:3", "expected the first below the last"),
        ("a=1s..5%:3", "expected two numbers, two percents or two durations"),
    ],
)
def test_what_is_no_axis_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(VaryError, match=r"--vary") as caught:
        parse_axis(text)
    assert words in str(caught.value)


def test_a_path_given_twice_is_refused() -> None:
    with pytest.raises(VaryError, match="this path twice"):
        parse_axes(["a=1", "a=2"])


def test_the_grid_is_every_combination_and_without_axes_one_cell() -> None:
    axes = parse_axes(["a=1,2", "b=x,y"])
    assert cells(axes) == [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y")]
    assert cells(()) == [()]
    assert count(axes) == 4


def test_a_sample_fills_the_space_evenly_and_a_larger_one_holds_it() -> None:
    axes = tuple(Axis(name, tuple(str(i) for i in range(10))) for name in ("a", "b"))
    small, large = sample(axes, 20, 7), sample(axes, 40, 7)
    assert len(set(small)) == 20
    assert set(small) <= set(large)
    for place in (0, 1):  # twenty of ten values: each two times, one more or less at the most
        counts = [sum(cell[place] == str(i) for cell in small) for i in range(10)]
        assert min(counts) >= 1
        assert max(counts) <= 3
    assert sample(axes, 20, 8) != small
    assert sample(axes, 1000, 7) == cells(axes)


def test_a_sample_of_none_is_refused() -> None:
    with pytest.raises(VaryError, match="--sample: got 0"):
        sample((Axis("a", ("1",)),), 0, 1)
