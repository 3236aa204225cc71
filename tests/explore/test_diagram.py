from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.worlds import post, scenario
from tests.explore.small_cases import CASES as FILES
from tests.explore.small_cases import finding_of, library

from fleetbeat.checks.model import Finding
from fleetbeat.engines.des import run
from fleetbeat.explore import diagram, diagram_svg
from fleetbeat.explore.case import load, replay
from fleetbeat.explore.story import Row, Story, story_of
from fleetbeat.history.records import Record
from fleetbeat.history.strip import without_ops
from fleetbeat.report.plain import safe

SVG = "{http://www.w3.org/2000/svg}"


def lost(**parts: Any) -> tuple[list[Record], Finding]:
    records = run(scenario(post("v1", "2500ms"), post("v2", "3020ms"), fleet={"latency": {"unlink": "50ms"}}, **parts))
    return records, finding_of(records, "no-silent-loss")


def many(count: int) -> tuple[list[Record], Finding]:
    """So many posts renamed over each other while one beat is at work."""
    posts = [post("v0", "2500ms")] + [post(f"v{n}", f"{3100 + 5 * n}ms") for n in range(1, count)]
    records = run(scenario(*posts, fleet={"latency": {"unlink": "900ms"}}))
    return records, finding_of(records, "no-silent-loss")


def test_the_text_shows_who_did_what_and_what_the_files_held() -> None:
    assert diagram.text(*lost()).splitlines()[3:] == [
        " time, s op:v1/a-0         op:v2/a-0         a-0/beat         | .rules canonical prompt",
        "                                                              | none   none      none",
        "2.500100 rename to .rules  .                 .                | v1",
        '3.000160 .                 .                 looks at .rules  | "',
        '3.000220 .                 .                 read .rules: v1  | "',
        "3.020100 .                 rename to .rules  .                | v2",
        "3.050230 .                 .                 unlink .rules    | none",
        "3.050340 .                 .                 write canonical  |        v1",
        '3.050450 .                 .                 write prompt     |        "         v1',
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_case_fits_a_hundred_columns_and_is_sound_svg(path: Any) -> None:
    case = load(path)
    played = replay(case)
    assert played.finding is not None
    drawn = diagram.text(played.records, played.finding)
    assert max(len(line) for line in drawn.splitlines()) <= 100
    assert f"{case.invariant} ({case.kind}, {case.cause})" in drawn
    ET.fromstring(diagram_svg.svg(played.records, played.finding))
    assert diagram.text_of(case) == drawn
    assert diagram.svg_of(case) == diagram_svg.svg(played.records, played.finding)


def test_idle_beats_polls_and_other_agents_are_left_out() -> None:
    records = run(library("two-operators"))
    finding = finding_of(records, "no-silent-loss")
    drawn = diagram.text(records, finding)
    assert len(drawn.splitlines()) < 20
    assert set(re.findall(r"\ba-\d+\b", drawn)) == {finding.agent}
    assert "poll" not in drawn


def test_what_came_long_before_the_finding_is_no_part_of_it() -> None:
    posts = [post(f"old{n}", f"{2 + 2 * n}s") for n in range(5)]
    late = (post("v1", "20500ms"), post("v2", "21280ms"))
    records = run(scenario(*posts, *late, fleet={"latency": {"unlink": "50ms"}}, duration="25s"))
    drawn = diagram.text(records, finding_of(records, "no-silent-loss"))
    assert "op:old" not in drawn
    assert "| none   old4" in drawn


def test_a_long_story_is_capped_and_says_how_much_is_missing() -> None:
    records, finding = many(70)
    drawn = diagram.text(records, finding)
    left = re.search(r"\.\.\. (\d+) earlier steps left out", drawn)
    assert left is not None
    story, whole = story_of(records, finding, diagram.MOST_ROWS), story_of(records, finding, 10_000)
    assert int(left[1]) == len(whole.rows) - diagram.MOST_ROWS == story.left_out > 0
    assert len(drawn.splitlines()) <= diagram.MOST_ROWS + 12
    assert f">{left[1]} earlier steps left out<" in diagram_svg.svg(records, finding)


def test_writers_that_do_not_fit_share_a_column() -> None:
    drawn = diagram.text(*many(9))
    assert "9 writers" in drawn
    assert "v3: rename to .rules" in drawn
    assert max(len(line) for line in drawn.splitlines()) <= 100


def test_a_crash_a_failure_and_a_restart_are_shown() -> None:
    case = load(next(path for path in FILES if path.stem == "empty-canonical"))
    drawn = diagram.text_of(case)
    assert "** crash **" in drawn
    assert "starts again" in drawn
    half = diagram.text_of(load(next(path for path in FILES if path.stem == "half-a-body")))
    assert "ENOSPC: write" in half


def test_without_operations_the_effects_are_drawn() -> None:
    records, finding = lost()
    drawn = diagram.text(without_ops(records), finding)
    assert "unlink .rules" in drawn
    assert "read .rules" not in drawn


def test_a_case_that_does_not_break_any_more_has_no_diagram() -> None:
    case = load(FILES[0])
    assert diagram.text_of(replace(case, invariant="scope")) == ""
    assert diagram.svg_of(replace(case, invariant="scope")) == ""


# --- the SVG ---


def boxes(svg: str) -> list[tuple[str, float, float, float, float]]:
    """Each text of a diagram with its left, right, top and bottom, by the width of a monospaced character."""
    found = []
    for element in ET.fromstring(svg).iter(f"{SVG}text"):
        said, size = element.text or "", float(element.get("font-size", "12"))
        wide, x, y = len(said) * size * 0.602, float(element.get("x", "0")), float(element.get("y", "0"))
        left = x - wide if element.get("text-anchor") == "end" else x
        found.append((said, left, left + wide, y - size * 0.8, y + size * 0.2))
    return found


def overlaps(svg: str) -> list[tuple[str, str]]:
    texts = boxes(svg)
    return [
        (a[0], b[0])
        for i, a in enumerate(texts)
        for b in texts[i + 1 :]
        if a[1] < b[2] and b[1] < a[2] and a[3] < b[4] and b[3] < a[4]
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_text_of_an_svg_overlaps_another_or_leaves_the_picture(path: Any) -> None:
    svg = diagram.svg_of(load(path))
    assert overlaps(svg) == []
    wide, high = (float(ET.fromstring(svg).get(name, "0")) for name in ("width", "height"))
    assert all(left >= 0 and right <= wide and top >= 0 and low <= high for _, left, right, top, low in boxes(svg))


@pytest.mark.slow
def test_a_crowded_svg_has_no_overlaps_either() -> None:
    storm = library("rebuild-storm")
    records = run(storm.model_copy(update={"duration": 32_000_000_000}))
    assert overlaps(diagram_svg.svg(records, finding_of(records, "survives-rebuild"))) == []
    assert overlaps(diagram_svg.svg(*many(70))) == []


def test_an_overlap_would_be_found() -> None:
    svg = diagram_svg.svg(*lost())
    assert overlaps(svg.replace('y="34.0"', 'y="58.0"')) != []


def test_files_are_bars_of_their_content_and_operations_are_points() -> None:
    svg = diagram_svg.svg(*lost())
    root = ET.fromstring(svg)
    rows = diagram.plain_rows(story_of(*lost()))
    assert len(list(root.iter(f"{SVG}circle"))) == len(rows)
    fills = [rect.get("fill") for rect in root.iter(f"{SVG}rect") if rect.get("width") == "14"]
    assert len(fills) == 4  # .rules: v1, v2; canonical: v1; prompt: v1
    assert fills[0] == fills[2] == fills[3] != fills[1]


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_makes_sound_xml_and_lines_of_a_hundred_columns(text: str, name: str) -> None:
    records, finding = lost()
    story = story_of(records, finding)
    end = replace(story.rows[-1], verb="end", error=text, actor=f"a-0/{name}", content=text)
    odd = Row(1, f"op:{name}/a-0", "writer", "fail", text, text, error=name, after=replace(end.after, rules=text))
    hostile = Story(story.agent, replace(finding, message=text), story.before, (odd, *story.rows, end))
    ET.fromstring(diagram_svg.drawn(hostile).encode())
    lines = diagram.drawn(hostile).split("\n")
    assert all(safe(line) == line and len(line) <= 100 for line in lines[3:])
