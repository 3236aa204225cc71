from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from fleetbeat.scenario.load import ScenarioError, load
from fleetbeat.scenario.yaml12 import Limits, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"), ("off", "off"), ("yes", "yes"), ("no", "no"), ("y", "y"),
        ("true", True), ("False", False), ("tRUE", "tRUE"),
        ("~", None), ("null", None), ("Null", None), ("nUll", "nUll"),
        ("1e3", 1000.0), ("1E-2", 0.01), ("1.", 1.0), (".5", 0.5), ("-1.5", -1.5), ("+3", 3),
        ("0o17", 15), ("0x1F", 31), ("017", 17), ("0b11", "0b11"), ("1_000", "1_000"),
        ("12:30:00", "12:30:00"), ("1:30", "1:30"), ("2024-01-02", "2024-01-02"),
        (".inf", math.inf), ("-.INF", -math.inf), ("1.2.3", "1.2.3"), ("<<", "<<"), ("=", "="),
        ("'5'", "5"), ('"true"', "true"), ("!!str 5", "5"), ("1h30m", "1h30m"), ("5%", "5%"),
    ],
)  # fmt: skip
def test_a_scalar_means_what_yaml_12_says(text: str, value: object) -> None:
    root, mistakes = parse(f"x: {text}\n", "x.yaml")
    assert not mistakes
    plain = root.plain()["x"]
    assert plain == value
    assert type(plain) is type(value)


def test_not_a_number_is_a_number() -> None:
    root, _ = parse("x: .nan", "x.yaml")
    assert math.isnan(root.plain()["x"])


def test_a_number_of_thousands_of_digits_stays_text() -> None:
    digits = "9" * 5000
    assert parse(f"x: {digits}", "x.yaml")[0].plain() == {"x": digits}


def test_keys_and_values_know_their_places() -> None:
    root, _ = parse("a:\n  - b: 1\n    cc: [2,  3]\n", "x.yaml")
    item = root.value["a"].value[0]  # type: ignore[index, call-overload, union-attr]
    cc = item.value["cc"]  # type: ignore[index, call-overload, union-attr]
    assert str(cc.key) == "x.yaml:3:5"
    assert str(cc.where) == "x.yaml:3:9"
    assert str(cc.value[1].where) == "x.yaml:3:14"  # type: ignore[index, union-attr]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "a: 1\nb: {c: 1, c: 2}\n",
            "x.yaml:2:11: b.c: got the key 'c' again, expected it once (it stands at line 2 already)",
        ),
        (
            "a: [{x: 1}, {x: 1, x: 1}]",
            "x.yaml:1:20: a.1.x: got the key 'x' again, expected it once (it stands at line 1 already)",
        ),
        ("a: {1: 2}", "x.yaml:1:5: a: got 1 as a key, expected text"),
        ("{[1]: 2}", "x.yaml:1:2: got a list as a key, expected text"),
        (
            "a: !!python/object:os.system {}",
            "x.yaml:1:4: a: got the tag tag:yaml.org,2002:python/object:os.system, expected no tag",
        ),
        ("a: !!int 5", "x.yaml:1:4: a: got the tag tag:yaml.org,2002:int, expected no tag"),
    ],
)
def test_what_can_be_read_past_is_noted(text: str, line: str) -> None:
    _, mistakes = parse(text, "x.yaml")
    assert [str(mistake) for mistake in mistakes] == [line]


BILLION = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "x.yaml: got an empty file, expected a mapping"),
        ("# nothing\n", "x.yaml: got an empty file, expected a mapping"),
        ("a: 1\n---\nb: 2\n", "x.yaml:2:1: got another document, expected one document"),
        ("a: [1", "x.yaml:2:1: got broken YAML (did not find expected ',' or ']'), expected valid YAML"),
        ("a: *b", "x.yaml:1:4: got *b, expected an anchor that was given before"),
        ("a: &a [*a]", "x.yaml:1:8: got *a inside its own anchor, expected an anchor that has ended"),
        ("a: \x00", "x.yaml:1:4: got the control character U+0000, expected text"),
        ("a: 1\nb: x\x07y", "x.yaml:2:5: got the control character U+0007, expected text"),
        ("[" * 51 + "]" * 51, "x.yaml:1:51: got more than 50 levels, expected at most 50 levels"),
        ("[" * 100_000, "x.yaml:1:1001: got more than 50 levels, expected at most 50 levels"),
        ("{a: " * 51 + "}" * 51, "x.yaml:1:201: got more than 50 levels, expected at most 50 levels"),
        ("- " * 100_000, "x.yaml:1:101: got more than 50 levels, expected at most 50 levels"),
        (BILLION, "x.yaml:5:45: got more than 100000 values, expected at most 100000 values"),
        ("[" + "1," * 100_001 + "]", "x.yaml:1:200002: got more than 100000 values, expected at most 100000 values"),
        ("x" * 1_048_577, "x.yaml: got more than 1048576 bytes, expected at most 1048576 bytes"),
        ("é" * 600_000, "x.yaml: got more than 1048576 bytes, expected at most 1048576 bytes"),
        ("- 1", "x.yaml:1:1: got a list, expected a mapping"),
        ("5", "x.yaml:1:1: got 5, expected a mapping"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_what_cannot_be_read_is_one_line(text: str, line: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(text, "x.yaml")
    assert str(caught.value) == line


def test_anchors_that_nest_deeper_than_the_text_are_stopped() -> None:
    text = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 60))
    with pytest.raises(ScenarioError, match=r"x\.yaml:50:12: got more than 50 levels"):
        load(text, "x.yaml")


def test_limits_can_be_set() -> None:
    parse("[1, 2]", "x.yaml", Limits(values=3))
    with pytest.raises(ScenarioError, match="more than 2 values"):
        parse("[1, 2]", "x.yaml", Limits(values=2))


def _told(path: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(path, "x.yaml")
    return str(caught.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    assert _told(tmp_path / "x") == "x.yaml: got no such file, expected a file"


def test_a_directory_is_one_line(tmp_path: Path) -> None:
    assert _told(tmp_path) == "x.yaml: got a directory, expected a file"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    assert _told(tmp_path / "x") == "x.yaml: got something that is no regular file, expected a file"


def test_a_name_that_no_file_can_have_is_one_line(tmp_path: Path) -> None:
    assert _told(tmp_path / ("x" * 5000)).startswith("x.yaml: got an error on reading it")
    assert _told(tmp_path / "x\0y").startswith("x.yaml: got ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("a: 1")
    path.chmod(0)
    assert _told(path) == "x.yaml: got an error on reading it (Permission denied), expected a readable file"


def test_bytes_that_are_not_utf8_are_told_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a: 1\nb: \xff\xfe")
    assert _told(tmp_path / "x") == "x.yaml:2:4: got byte 0xff, expected UTF-8 text"


def test_binary_junk_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(range(256)) * 100)
    assert len(_told(tmp_path / "x").splitlines()) == 1


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as stream:
        stream.truncate(1 << 40)  # sparse: reading it whole would need a terabyte
    assert _told(tmp_path / "x") == "x.yaml: got more than 1048576 bytes, expected at most 1048576 bytes"


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbffleet: {agents: 3}\n")
    assert load(tmp_path / "x").fleet.agents == 3
