from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.worlds import post, scenario
from tests.engines.wrong_agents import CASES, Case
from tests.explore.small_cases import CASES as FILES
from tests.explore.small_cases import finding_of, history, library

from fleetbeat.checks import judge
from fleetbeat.checks.model import Finding
from fleetbeat.engines.des import run
from fleetbeat.explore.case import load as load_case
from fleetbeat.explore.case import replay
from fleetbeat.explore.sentence import tell
from fleetbeat.history.records import Record
from fleetbeat.history.strip import without_bodies, without_ops
from fleetbeat.scenario.load import load


def every_finding(records: list[Record]) -> list[Finding]:
    """The first finding of each invariant, class and cause."""
    found: dict[tuple[str, str, str], Finding] = {}
    for verdict in judge(records).verdicts:
        for one in verdict.findings:
            found.setdefault((one.invariant, one.kind, one.cause), one)
    return list(found.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_case_is_told_as_its_file_tells_it(path: Any) -> None:
    case = load_case(path)
    played = replay(case)
    assert played.finding is not None
    assert tell(played.records, played.finding) == case.sentence


def test_the_lost_update_is_told_in_the_order_in_which_it_happened() -> None:
    records = run(library("lost-update"))
    assert tell(records, finding_of(records, "no-silent-loss")) == (
        "a-0 read rules v1; v2 was renamed over it; the agent unlinked v2 unread and applied v1; v2 is lost"
    )
    assert tell(records, finding_of(records, "last-write-wins")) == (
        "a-0 read rules v1; v2 was renamed over it; the agent unlinked v2 unread and applied v1; "
        "v1 stays effective, not v2"
    )


def test_an_operators_claim_is_told_with_what_was_effective() -> None:
    records = run(library("lost-update"))
    said = tell(records, finding_of(records, "honest-operator", "hazard"))
    assert said.endswith("op said done for v2, verified by disappearance; v1 was effective then")


def test_a_post_that_lands_between_open_and_read_is_told_as_that() -> None:
    """The handle still shows v1 when v2 has taken the name."""
    records = run(scenario(post("v1", "2500ms"), post("v2", "3001ms"), fleet={"latency": {"read": "5ms"}}))
    said = tell(records, finding_of(records, "no-silent-loss"))
    assert said == (
        "a-0 opened v1; v2 was renamed over it; the agent read rules v1, unlinked v2 unread and applied v1; v2 is lost"
    )


@pytest.mark.parametrize("name", ["in-place-writer", "full-disk", "crash-between-unlink-and-write", "late-spawn"])
def test_every_finding_of_a_scenario_is_told_in_one_short_line(name: str) -> None:
    records = run(library(name))
    findings = every_finding(records)
    assert findings
    for finding in findings:
        said = tell(records, finding)
        assert said.isprintable()
        assert 20 < len(said) <= 320, said


WRONG = {
    "no-silent-loss": "unlinked v1 and failed to read .rules (EIO); v1 is lost",
    "consume-before-apply": "failed to unlink .rules (EACCES) and applied v1; v1 was applied and not consumed",
    "whole-body": "applied a text nobody posted; nobody posted that text",
    "identical-is-noop": "read rules v2, unlinked it and applied v2; v2 was effective already and should have changed",
    "survives-rebuild": "applied v1; the molt flushed no rules; v1 is gone from the prompt",
    "one-log-each": "applied v1; rules_loaded was logged 2 times, 1 due",
    "beats-go-on": "read rules v2 and ended its heartbeat with UnicodeDecodeError; it beats no more",
    "empty-is-noop": "wrote v2 to canonical and flushed no rules; v2 is blank and should have changed nothing",
    "scope": "wrote /a-1/backup.md",
    "effective-follows": "left the prompt torn and logged rules_flush_error; the prompt holds a torn prompt, canonical v1",
    "drains": "v1 was renamed into place; v1 was not resolved in 10 runnable beats, with nothing in the way",
    "write-failure-aborts": "emptied canonical",
}


@pytest.mark.parametrize("wrong", CASES, ids=lambda case: f"{type(case.agent).__name__}-{case.check}")
def test_what_a_wrong_agent_did_is_told(wrong: Case) -> None:
    records = run(load(json.dumps(wrong.scenario()), name="wrong"), programs={"reference": wrong.agent})
    said = tell(records, finding_of(records, wrong.check, wrong.kind))
    assert WRONG[wrong.check] in said
    assert said.startswith(("a-", "v1 was"))


def test_without_operations_the_effects_are_told() -> None:
    records = without_ops(run(library("lost-update")))
    said = tell(records, finding_of(records, "no-silent-loss"))
    assert said == "v1 was renamed into place; v2 was renamed over v1; a-0 unlinked v2 and applied v1; v2 is lost"


def test_without_bodies_versions_are_told_by_name() -> None:
    records = without_bodies(run(library("lost-update")))
    assert tell(records, finding_of(records, "no-silent-loss")).startswith("a-0 read rules v1; v2 was renamed over it")


def test_a_long_story_is_cut_to_its_end() -> None:
    posts = [post("v0", "2500ms")] + [post(f"v{n}", f"{3100 + 20 * n}ms") for n in range(1, 20)]
    records = run(scenario(*posts, fleet={"latency": {"unlink": "900ms"}}))
    said = tell(records, finding_of(records, "no-silent-loss"))
    assert said.startswith("...; ")
    assert said.endswith("is lost")


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=20))
def test_an_exceptions_text_cannot_break_the_line(text: str) -> None:
    agent = next(case.agent for case in CASES if case.check == "beats-go-on")

    class Dies(type(agent)):  # type: ignore[misc]
        def consume(self, context: Any) -> Any:
            yield from ()
            raise ValueError(text)

    records = run(scenario(post("v1", "2s"), duration="20s"), programs={"reference": Dies()})
    assert tell(records, finding_of(records, "beats-go-on")).isprintable()


def test_a_finding_without_an_agent_is_told_by_its_message() -> None:
    records = history(load_case(FILES[0]))
    nowhere = Finding("scope", "violation", "writer", 0, "bob wrote /elsewhere, which is nobody's")
    assert tell(records, nowhere).endswith("bob wrote /elsewhere, which is nobody's")
