"""Findings made by hand, small scenarios, and the reference agent's way through a post, for the tests of cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engines.worlds import post, scenario

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.checks import judge
from fleetbeat.checks.model import Finding
from fleetbeat.engines.des import run
from fleetbeat.explore.case import Case
from fleetbeat.explore.model import OK, Bounds, Event, Found
from fleetbeat.explore.plan import plan_of
from fleetbeat.history.records import Record
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

CASES = sorted((Path(__file__).resolve().parents[2] / "scenarios" / "cases").glob("*.yaml"))
SIGNAL, CANONICAL, PROMPT = ".rules", "system/rules.md", "system/system.md"
READS = (("stat", SIGNAL, 0), ("open", SIGNAL, 0), ("read", SIGNAL, 0), ("read", SIGNAL, 1), ("close", SIGNAL, 0))
UNLINK = ("unlink", SIGNAL, 0)
APPLIES = (
    ("open", CANONICAL, 0), ("mkdir", "system", 0), ("open", CANONICAL, 1), ("write", CANONICAL, 0),
    ("close", CANONICAL, 0), ("section", "", 0), ("mkdir", "system", 1), ("compose", "", 0), ("open", PROMPT, 0),
    ("write", PROMPT, 0), ("close", PROMPT, 0), ("emit", "logs/events.jsonl", 0),
)  # fmt: skip


def steps(actor: str, episode: int, *operations: tuple[str, str, int], life: int = 0) -> tuple[Event, ...]:
    return tuple(Event(Step(actor, life, episode, *operation)) for operation in operations)


def writes(version: str, temporary: str) -> tuple[Event, ...]:
    path = f".rules.{temporary}"
    return steps(f"op:{version}/a-0", 1, *((kind, path, 0) for kind in ("open", "write", "close", "rename")))


def struck(events: tuple[Event, ...], outcome: str) -> tuple[Event, ...]:
    """The same with the last event so struck."""
    return (*events[:-1], Event(events[-1].step, outcome))


def two_posts(**parts: Any) -> Scenario:
    return scenario(post("v1", "5s"), post("v2", "6s"), **parts)


def found(world: Scenario, schedule: tuple[Event, ...], invariant: str, kind: str, cause: str, **bounds: Any) -> Found:
    """A finding as a search returns it; its message is nobody's business here."""
    plan = plan_of(world, Bounds(**bounds))
    finding = Finding(invariant, kind, cause, 0, "by hand", "a-0")  # type: ignore[arg-type]
    return Found(invariant, kind, cause, schedule, plan, finding)


def lost_update(beat: int = 3) -> Found:
    """As a search finds it: v2 is renamed over v1 between the read and the unlink of some beat."""
    v1, v2 = writes("v1", "aaaaaa"), writes("v2", "bbbbbb")
    beats = steps("a-0/beat", beat, *READS)
    rest = steps("a-0/beat", beat, UNLINK, *APPLIES)
    return found(two_posts(), (*v1[:3], *v2[:3], v1[3], *beats, v2[3], *rest), "no-silent-loss", "gap", "protocol")


def lost_in_a_crash() -> Found:
    beats = steps("a-0/beat", 0, *READS, UNLINK)
    schedule = (*writes("v1", "aaaaaa"), *struck(beats, "crash-after"))
    return found(two_posts(), schedule, "no-silent-loss", "gap", "environment", posts=1, crashes=1)


def history(case: Case, programs: Any = None) -> list[Record]:
    return run(case.scenario, case.overrides, programs=programs)


def as_case(world: Scenario, invariant: str, kind: str, cause: str) -> Case:
    """A run of the engine that breaks by itself, as a case without choices."""
    return Case(world, Overrides(), invariant, kind, cause)


def library(name: str) -> Scenario:
    return load(Path(__file__).resolve().parents[2] / "scenarios" / f"{name}.yaml")


def finding_of(records: list[Record], invariant: str, *kinds: str) -> Finding:
    """The first finding of an invariant, hazards aside unless asked for."""
    for verdict in judge(records).verdicts:
        for one in verdict.findings:
            if one.invariant == invariant and one.kind in (kinds or ("violation", "gap")):
                return one
    raise AssertionError(f"{invariant} does not break")


def event(step: Step, outcome: str = OK) -> Event:
    return Event(step, outcome)
