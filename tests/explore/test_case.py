from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.engines.wrong_agents import REFERENCE, Reference
from tests.explore.small_cases import (
    APPLIES,
    CASES,
    READS,
    UNLINK,
    found,
    history,
    library,
    lost_in_a_crash,
    lost_update,
    steps,
    struck,
    two_posts,
    writes,
)

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.checks import judge
from fleetbeat.explore.case import Case, CaseError, dump, load, make_case, replay
from fleetbeat.explore.model import Bounds
from fleetbeat.explore.plan import plan_of
from fleetbeat.explore.search import explore
from fleetbeat.explore.shrink import shrink
from fleetbeat.history.jsonl import dumps
from fleetbeat.protocol.spelling import read_file, write_file
from fleetbeat.protocol.vocabulary import Rename
from fleetbeat.scenario.mistakes import ScenarioError

# --- from a finding to a case ---


def test_a_schedule_becomes_a_case_that_breaks_for_the_same_reason() -> None:
    case = make_case(lost_update())
    assert (case.invariant, case.kind, case.cause) == ("no-silent-loss", "gap", "protocol")
    assert case.broken == ("no-silent-loss", "last-write-wins")
    assert {fate.version: fate.fate for fate in judge(history(case)).fates} == {"v1": "applied", "v2": "lost"}


def test_one_hold_is_enough_for_a_lost_update() -> None:
    case = make_case(lost_update())
    assert case.size == 1
    ((held, until),) = case.overrides.holds.items()
    assert (held.actor, held.operation) == ("op:v2/a-0", "rename")
    assert until.actor == "a-0/beat"


def test_the_number_of_a_beat_in_the_schedule_does_not_matter() -> None:
    assert make_case(lost_update(0)) == make_case(lost_update(3))


def test_a_crash_becomes_a_fault_that_strikes_at_its_step_alone() -> None:
    case = make_case(lost_in_a_crash())
    ((stream, step),) = case.overrides.bits
    assert (stream, step.operation, step.path) == ("fault:crash", "unlink", ".rules")
    assert case.scenario.faults[0].crash == "after"
    asleep = judge(history(replace(case, overrides=Overrides())))
    assert [fate.fate for fate in asleep.fates] == ["applied"]


def test_a_fault_of_the_scenario_strikes_where_the_schedule_has_it_and_nowhere_else() -> None:
    fault = {"id": "bad", "operation": "write", "error": "EIO", "probability": 1, "restart": None}
    world = two_posts(faults=[{k: v for k, v in fault.items() if v is not None}])
    beat = struck(steps("a-0/beat", 0, *READS, UNLINK, *APPLIES[:4]), "fault:bad")
    again = (("emit", "logs/events.jsonl", 0),)
    dying = struck(steps("a-0/beat", 0, *again), "crash-before")
    schedule = (*writes("v1", "aaaaaa"), *beat, *dying)
    case = make_case(found(world, schedule, "no-silent-loss", "gap", "environment", posts=1, crashes=1))
    assert {stream for stream, _ in case.overrides.bits} == {"fault:bad", "fault:crash"}
    assert [record["error"] for record in history(case) if record.kind == "fault"] == ["EIO", None]


def test_a_second_post_of_one_version_is_another_operators() -> None:
    first = writes("v1", "aaaaaa")
    second = tuple(replace(one, step=one.step._replace(episode=2, path=".rules.bbbbbb")) for one in first)
    beats = steps("a-0/beat", 0, *READS)
    schedule = (*first, *beats, *second, *steps("a-0/beat", 0, UNLINK, *APPLIES))
    case = make_case(
        replace(lost_update(), schedule=schedule, invariant="honest-operator", kind="hazard", cause="writer")
    )
    assert [(one.operator, one.version) for one in case.scenario.rollouts] == [("op", "v1"), ("op-2", "v1")]


def test_power_loss_keeps_the_pieces_that_the_schedule_says_were_kept() -> None:
    """The truncation was kept and the write was not: canonical is empty at the boot."""
    world = two_posts(fleet={"start": {"rules": "old"}})
    read = (("open", "system/rules.md", 0), ("read", "system/rules.md", 0), ("read", "system/rules.md", 1))
    known = (*read, ("close", "system/rules.md", 0))
    later = tuple(
        (kind, path, nth + (path == "system/rules.md" and kind == "close")) for kind, path, nth in APPLIES[1:]
    )
    beat = steps("a-0/beat", 0, *READS, UNLINK, *known, *later)
    boots = steps("a-0/rebuild", 0, ("open", "system/rules.md", 0), ("read", "system/rules.md", 0), life=1)
    dying = struck(beat, "power-after:length /a-0/system/rules.md@0")
    schedule = (*writes("v1", "aaaaaa"), *dying, *boots)
    case = make_case(found(world, schedule, "canonical-intact", "gap", "environment", posts=1, crashes=1, power=True))
    assert ("unsynced", Step("host-0", 0, 0, "length", "/a-0/system/rules.md")) in case.overrides.bits
    assert "empty" in case.sentence


def test_what_the_engine_does_not_break_is_no_case() -> None:
    applied = (*writes("v1", "aaaaaa"), *steps("a-0/beat", 0, *READS, UNLINK, *APPLIES))
    with pytest.raises(
        CaseError, match=r"^no-silent-loss \(gap, protocol\) was found in 22 steps, and the engine did not"
    ):
        make_case(replace(lost_update(), schedule=applied))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("lost-update", {"crashes": 1}),
        ("flaky-disk", {"posts": 1, "crashes": 1, "faults": 1}),
        ("in-place-writer", {"posts": 1, "crashes": 1}),
        ("canary-rollout", {"posts": 1, "crashes": 1, "rebuilds": 1, "power": True}),
    ],
)
def test_whatever_a_search_finds_becomes_a_case_that_shrinks(name: str, bounds: dict[str, Any]) -> None:
    outcome = explore(plan_of(library(name), Bounds(beats=1, **bounds)), max_states=15_000)
    assert outcome.found
    for one in outcome.found:
        case = shrink(make_case(one))
        assert (case.invariant, case.kind, case.cause) == one.key
        assert case.size <= 4
        assert replay(load(dump(case))).outcome == "reproduced"


# --- the file ---


@pytest.mark.parametrize("make", [lost_update, lost_in_a_crash])
def test_a_case_reads_back_as_it_was_written(make: Any) -> None:
    case = make_case(make())
    text = dump(case)
    assert load(text) == case
    assert dump(load(text)) == text


def test_the_scenario_of_a_case_says_nothing_that_is_left_at_its_default() -> None:
    text = dump(make_case(lost_update()))
    assert "latency" not in text
    assert "reference" in text  # the program, by name and digest


def test_a_case_plays_the_same_bytes_every_time() -> None:
    case = make_case(lost_update())
    assert dumps(history(case)) == dumps(history(load(dump(case))))


def _edited(old: str, new: str, make: Any = lost_update) -> str:
    text = dump(make_case(make()))
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_edited("format: 1", "format: 2"), "c.yaml:1:9: format: got 2, expected 1"),
        (_edited("class: gap", "class: gpa"), "expect.class: got 'gpa', expected violation, gap or hazard"),
        (_edited("invariant: no-silent-loss", "invariant: no-loss"), "expect.invariant: got 'no-loss', expected an inv"),
        (_edited("- last-write-wins", "- last-write"), "expect.broken.1: got 'last-write', expected an invariant's id"),
        (_edited("until: 'a-0/", "until: 'a-7/"), "choices.holds.0.until: got the actor 'a-7/beat', expected an actor of"),
        (_edited("step: 'op:v2/", "step: 'op:v3/"), "choices.holds.0.step: got the actor 'op:v3/a-0', expected an actor"),
        (_edited("fault:crash", "fault:cash", lost_in_a_crash), "stream: got 'fault:cash', expected fault:crash (did you"),
        (_edited("agents: 1", "agents: none"), "fleet.agents: got 'none', expected a whole number"),
        (_edited("digest: ", "digset: "), "program.digset: got the unknown key 'digset', expected name or digest (did you"),
        ("format: 1\nchoices: {}\n", "scenario: got nothing, expected a value: a case that is replayed holds its scen"),
        ("fleet: {agents: 1}\n", "c.yaml:1:1: got a scenario, which `fleetbeat run` plays, expected a case"),
        ("- 1\n", "c.yaml:1:1: got a list, expected a mapping"),
        ("format: [1\n", "c.yaml:"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_case_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(text, "c.yaml")
    assert said in str(caught.value)
    assert all(line.startswith("c.yaml:") for line in str(caught.value).splitlines())


# --- playing it again ---


class PersistsByRename(Reference):
    """Writes canonical beside it and renames: there is no write to system/rules.md any more."""

    def persist(self, context: Any, body: str) -> Any:
        yield from write_file(context.path("system/new.md"), body.encode(), context.chunk)
        yield Rename(context.path("system/new.md"), context.path("system/rules.md"))


def _kept(name: str) -> Case:
    return load(next(path for path in CASES if path.stem == name))


def test_a_replay_reproduces() -> None:
    played = replay(make_case(lost_update()))
    assert played.outcome == "reproduced"
    assert played.diverged == ()
    assert played.notes == ()


def test_a_step_that_is_gone_is_named_with_what_is_there_now() -> None:
    played = replay(_kept("older-rules-win"), {"reference": PersistsByRename()})
    assert played.outcome == "diverged"
    assert played.diverged[0].startswith(
        "a-0/beat#0.1:write system/rules.md never comes; a-0/beat#0.1 now makes: stat .rul"
    )
    assert "write system/new.md" in played.diverged[0]


def test_a_fault_that_has_nothing_to_strike_is_a_divergence() -> None:
    played = replay(_kept("empty-canonical"), {"reference": PersistsByRename()})
    assert played.outcome == "diverged"
    assert "a-0/beat#0.1:open system/rules.md@1 never comes" in played.diverged[0]


def test_an_episode_that_does_not_come_is_told() -> None:
    case = _kept("lost-update")
    until = Step("a-0/beat", 0, 99, "close", ".rules")
    holds = dict.fromkeys(case.overrides.holds, until)
    played = replay(replace(case, overrides=Overrides({}, {}, holds)))
    assert played.outcome == "diverged"
    assert played.diverged == (
        "op:v2/a-0#0.1:rename .rules.IgQrcD waits for a-0/beat#0.99:close .rules, which never comes; "
        "there is no a-0/beat#0.99: beats go up to 1",
    )


def test_an_idle_beat_is_told_by_what_it_looks_at() -> None:
    case = _kept("lost-update")
    holds = dict.fromkeys(case.overrides.holds, Step("a-0/beat", 0, 0, "close", ".rules"))
    (said,) = replay(replace(case, overrides=Overrides({}, {}, holds))).diverged
    assert said.endswith("a-0/beat#0.0 is idle now and makes: stat")


class ReadsTwice(Reference):
    """Reads the signal again right before the unlink: every step of the lost update is there, and nothing is lost."""

    def consume(self, context: Any) -> Any:
        yield from read_file(context.path(".rules"), context.chunk)
        return (yield from super().consume(context))


def test_another_verdict_is_told_from_a_reproduction() -> None:
    played = replay(_kept("lost-update"), {"reference": ReadsTwice()})
    assert (played.outcome, played.broken, played.finding) == ("differs", (), None)


def test_a_program_that_changed_is_a_note_and_no_failure() -> None:
    case = replace(make_case(lost_update()), programs=(("reference", "0" * 16),), version="0.0.1")
    played = replay(case)
    assert played.outcome == "reproduced"
    assert played.notes[0].startswith("made by fleetbeat 0.0.1, this is ")
    assert "the program reference has changed since (its file was 0000000000000000" in played.notes[1]


# --- the cases that come with fleetbeat ---


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_that_comes_with_fleetbeat_still_breaks_as_it_says(path: Any) -> None:
    case = load(path)
    played = replay(case, {"reference": REFERENCE})
    assert played.outcome == "reproduced", (played.broken, played.diverged)
    assert path.read_text().startswith("# ")
    assert dump(case) in path.read_text()


def test_every_known_gap_of_the_reference_agent_has_a_case() -> None:
    cases = [load(path) for path in CASES]
    gaps = next(set(record["known_gaps"]) for record in history(cases[0]) if record.kind == "agent")
    assert {case.invariant for case in cases} == gaps
    assert {name for case in cases for name in case.broken} == gaps
    assert {(case.invariant, case.cause) for case in cases} >= {
        ("no-silent-loss", "protocol"), ("no-silent-loss", "environment")
    }  # fmt: skip
    assert all(case.kind == "gap" and case.size <= 3 and len(case.scenario.rollouts) <= 2 for case in cases)
