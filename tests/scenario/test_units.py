from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from fleetbeat.scenario.units import (
    LONGEST,
    format_duration,
    format_share,
    format_size,
    parse_duration,
    parse_share,
    parse_size,
)


@pytest.mark.parametrize(
    ("given", "ns"),
    [
        ("1h30m", 5_400_000_000_000),
        ("250ms", 250_000_000),
        ("90s", 90_000_000_000),
        ("1.5s", 1_500_000_000),
        ("10us", 10_000),
        ("10µs", 10_000),
        ("7ns", 7),
        ("0", 0),
        ("1d", 86_400_000_000_000),
        ("1h 30m", 5_400_000_000_000),
        ("0.000000001s", 1),
        ("1d0.5h", 88_200_000_000_000),
        (3, 3_000_000_000),
        (0.1, 100_000_000),
        (1 / 3, 333_333_333),
    ],
)
def test_a_duration_is_exact_nanoseconds(given: object, ns: int) -> None:
    assert parse_duration(given) == ns


def test_a_text_is_never_rounded_through_a_float() -> None:
    assert parse_duration("1000000.123456789s") == 1_000_000_123_456_789  # a float of seconds ends at 10 ns here


@pytest.mark.parametrize(
    "given",
    ["", "5", "s", "1x", "1.s", ".5s", "1h-3m", "-1s", "1m1m", "1s1m", "1 s", "1e3s", "+1s", "0.1ns", "1" * 70 + "s",
     "٣s", "100000d", True, None, [], float("nan"), float("inf"), 1e300, 10**40, -1, -0.5],
)  # fmt: skip
def test_what_is_no_duration_is_refused(given: object) -> None:
    with pytest.raises(PydanticCustomError):
        parse_duration(given)


def test_a_signed_duration_may_be_below_zero() -> None:
    assert parse_duration("-1m2s", signed=True) == -62_000_000_000
    assert parse_duration(-0.25, signed=True) == -250_000_000


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (5_400_000_000_000, "1h30m"),
        (250_000_000, "250ms"),
        (90_000_000_000, "1m30s"),
        (1_500_000_000, "1.5s"),
        (1_500_000, "1.5ms"),
        (1_000_000_001, "1.000000001s"),
        (10_000, "10us"),
        (999, "999ns"),
        (0, "0s"),
        (-250_000_000, "-250ms"),
        (86_400_000_000_000, "1d"),
        (60_001_000_000, "1m0.001s"),
    ],
)
def test_a_duration_is_written_short_and_exact(ns: int, text: str) -> None:
    assert format_duration(ns) == text


@given(st.integers(-LONGEST, LONGEST))
def test_a_written_duration_reads_back(ns: int) -> None:
    assert parse_duration(format_duration(ns), signed=True) == ns


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("64KiB", 65536),
        ("1MB", 10**6),
        (100, 100),
        ("1.5KiB", 1536),
        ("0B", 0),
        ("2 GiB", 2**31),
        ("3kB", 3000),
        (1e3, 1000),
    ],
)
def test_a_size_is_whole_bytes(given: object, size: int) -> None:
    assert parse_size(given) == size


@pytest.mark.parametrize(
    "given", ["1", "1.5B", "-1KB", "1kib", "1 Byte", True, None, -1, 1.5, 2**63, "9999999TiB", float("nan")]
)
def test_what_is_no_size_is_refused(given: object) -> None:
    with pytest.raises(PydanticCustomError):
        parse_size(given)


@given(st.integers(0, 2**63 - 1))
def test_a_written_size_reads_back(size: int) -> None:
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize(
    ("given", "share"), [("5%", 0.05), (0.05, 0.05), ("100%", 1.0), (1, 1.0), ("0.1%", 0.001), ("0%", 0.0)]
)
def test_a_share_is_a_fraction(given: object, share: float) -> None:
    assert parse_share(given) == share


@pytest.mark.parametrize("given", ["5", "101%", "-1%", 1.1, -0.1, True, None, float("nan"), "%", "5 percent"])
def test_what_is_no_share_is_refused(given: object) -> None:
    with pytest.raises(PydanticCustomError):
        parse_share(given)


@given(st.floats(0, 1).filter(lambda share: share == 0 or share > 1e-30))
def test_a_written_share_reads_back_to_the_same_float(share: float) -> None:
    assert parse_share(format_share(share)) == share
