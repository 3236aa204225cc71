"""The driver strikes the very beats and operations that the simulation strikes, with the same effects.

Everything here starts from a signal that lies there before the first boot, so that nothing depends on time: every beat
looks at it, and what the faults let through decides the rest.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.real.live_crews import MS, agent, crew, program, until

from fleetbeat.cadence import make_cadence
from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.engines.des import run
from fleetbeat.engines.des.pace import following
from fleetbeat.engines.injector import Injector, Rule
from fleetbeat.history.records import Record, digest
from fleetbeat.protocol.live_clock import Rhythm
from fleetbeat.protocol.live_faults import Strikes
from fleetbeat.protocol.live_plan import AgentPlan, FaultPlan, HeartbeatPlan, from_json, to_json
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import AgentSpec, agents

AGENTS = 8
FAULTS: list[dict[str, Any]] = [
    {"operation": "stat", "probability": 0.3, "error": "EIO"},
    {"operation": "read", "path": ".rules*", "probability": 0.4, "error": "EIO"},
    {"operation": "open", "path": ".rules*", "probability": 0.2, "error": "EACCES"},
    {"operation": "close", "path": ".rules*", "probability": 0.3, "error": "EIO"},
    {"operation": "unlink", "path": ".rules*", "probability": 0.4, "error": "EACCES", "effect": "after"},
    {"operation": "rename", "path": "*", "probability": 0.2, "error": "EIO", "effect": "after"},
    {"operation": "sync", "probability": 0.1, "error": "EIO"},
    {"operation": "open", "path": "system/rules.md", "occurrence": [2, 3], "error": "EIO", "effect": "partial"},
    {"operation": "write", "occurrence": 1, "error": "ENOSPC", "effect": "partial", "agents": "50%"},
    {"operation": "flush", "probability": 0.6, "error": "EIO", "effect": "partial"},
    {"operation": "emit", "probability": 0.5, "error": "EIO", "effect": "partial"},
    {
        "operation": "emit",
        "probability": 0.3,
        "delay": {"kind": "exponential", "mean": "1ms"},
        "agents": ["a-0", "a-1"],
    },
    {"operation": "mkdir", "probability": 0.2, "pause": "2ms"},
]
SIGNAL = {"signal": "file", "signal_text": "be kind\nand short\n", "rules": "be brief"}


def _scenario(seed: int, faults: list[dict[str, Any]], **fleet: Any) -> Scenario:
    whole = {"agents": AGENTS, "heartbeat": {"interval": "10ms"}, "start": SIGNAL, **fleet}
    return load(json.dumps({"seed": seed, "duration": "2s", "fleet": whole, "faults": faults}), name="twins")


def _rules(scenario: Scenario) -> list[Rule]:
    return Injector(scenario, agents(scenario), Hashed(scenario.seed), lambda name: "system/system.md").rules


def _plan(scenario: Scenario, spec: AgentSpec, name: str = "reference") -> AgentPlan:
    faults = []
    for rule in _rules(scenario):
        if spec.name in rule.targets and rule.kind is not None:
            pattern = "system/system.md" if rule.fault.operation == "flush" else rule.pattern
            faults.append(FaultPlan.like(rule.id, rule.kind, pattern, rule.fault))
    return agent(spec.name, program(name), HeartbeatPlan.like(spec.heartbeat), faults=tuple(faults))


def _struck(items: Any) -> dict[str, list[tuple[Any, ...]]]:
    """What struck each agent, in order: fault, step, effect, error."""
    found = defaultdict(list)
    for one in items:
        found[one["agent"]].append((one["fault"], one["step"], one["effect"], one["error"]))
    return dict(found)


def _last_beat(history: list[Record]) -> int:
    """The last beat at which an agent did more than look at the name."""
    beats = (r for r in history if r.kind == "op" and r["role"] == "beat" and r["operation"] != "stat")
    return max(r["episode"] for r in beats)


@pytest.mark.parametrize("name", ["reference", "claim"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_steps_are_struck_with_the_same_end(name: str, seed: int, tmp_path: Path) -> None:
    scenario = _scenario(seed, [{"id": f"f{i}", **fault} for i, fault in enumerate(FAULTS)], agent=name)
    history = run(scenario)
    end = _last_beat(history)  # the fault on `stat` strikes on and on; up to there
    with crew(tmp_path, *(_plan(scenario, spec, name) for spec in agents(scenario)), seed=seed) as one:
        for spec in agents(scenario):
            one.file(".rules", spec.name).write_text(str(SIGNAL["signal_text"]))
            one.file("system/rules.md", spec.name).write_text(str(SIGNAL["rules"]))
        one.start()
        until(lambda: min(_beats_struck(one.told("fault")).values(), default=-1) > end, f"beat {end} of all agents")
        one.stop()
        struck = _struck(one.told("fault"))
        simulated = _struck(r for r in history if r.kind == "fault")
        assert len(simulated) == AGENTS
        assert {a: _upto(end, items) for a, items in struck.items()} == {
            a: _upto(end, items) for a, items in simulated.items()
        }
        assert len({fault for items in struck.values() for fault, *_ in items}) >= 10
        for spec in agents(scenario):
            canonical = [r["body"] for r in history if r.kind == "canonical" and r["agent"] == spec.name]
            kept = one.file("system/rules.md", spec.name)
            assert digest(kept.read_bytes()) == (canonical or [digest(str(SIGNAL["rules"]).encode())])[-1]
            logged = [r["event"] for r in history if r.kind == "log" and r["agent"] == spec.name]
            assert _events(one.file("logs/events.jsonl", spec.name)) == logged


def _beat_of(step: str) -> int:
    """Of `a-0/beat#0.12:stat .rules`: 12. Steps of other actors count as before the first."""
    actor, _, rest = step.partition("#")
    return int(rest.split(":")[0].split(".")[1]) if actor.endswith("/beat") else -1


def _upto(end: int, items: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [item for item in items if _beat_of(item[1]) <= end]


def _beats_struck(told: list[dict[str, Any]]) -> dict[str, int]:
    found = {f"a-{i}": -1 for i in range(AGENTS)}
    for one in told:
        found[one["agent"]] = max(found[one["agent"]], _beat_of(one["step"]))
    return found


def _events(log: Path) -> list[str]:
    """The events of the whole lines of a log; half an entry may stand before a whole one."""
    if not log.exists():
        return []
    found = []
    for line in log.read_text().splitlines():
        at = line.rfind('{"type"')
        try:
            found.append(json.loads(line[at:])["type"])
        except ValueError:
            continue
    return found


# --- piece by piece ---

SPREADS: dict[str, Any] = {
    "none": "none",
    "normal": {"kind": "normal", "sd": "1ms"},
    "uniform": {"kind": "uniform", "low": "-4ms", "high": "9ms"},
    "exponential": {"kind": "exponential", "mean": "2ms"},
    "lognormal": {"kind": "lognormal", "median": "2ms", "sigma": 0.7},
    "empirical": {"kind": "empirical", "values": ["1ms", "-2ms", "7ms"]},
}


@pytest.mark.parametrize("ppm", [0.0, 250.0])
@pytest.mark.parametrize("jitter", SPREADS)
@pytest.mark.parametrize("mode", ["fixed-delay", "fixed-rate"])
def test_beats_are_due_when_the_simulation_has_them(mode: str, jitter: str, ppm: float) -> None:
    scenario = _scenario(3, [], heartbeat={"interval": "10ms", "mode": mode, "jitter": SPREADS[jitter]})
    spec, life, origin = agents(scenario)[2], 4, 7 * MS
    plan = AgentPlan(spec.name, spec.home, "", HeartbeatPlan.like(spec.heartbeat), clock_ppm=ppm)
    rhythm = Rhythm(plan, Hashed(3), life)
    cadence = make_cadence(spec.heartbeat, Hashed(3), spec.name, life, ppm)
    first = cadence.elapsed(0) if cadence.mode == "fixed-delay" else cadence.tick(0)
    assert rhythm.first(origin) == origin + max(1, first)
    number, due = 0, rhythm.first(origin)
    for work in [30_000, 5 * MS, 41 * MS, 10_000] * 300:
        expected = following(cadence, origin, number, due + work)
        assert rhythm.following(origin, number, due + work) == expected
        number, due = expected


def test_operations_are_struck_as_by_the_injector() -> None:
    windows = [{"from": "20ms"}, {"to": "70ms"}, {"from": "10ms", "to": "50ms"}]
    faults = [{**fault, **windows[i % 3]} for i, fault in enumerate(FAULTS)]
    faults.append({"operation": "unlink", "crash": "after", "probability": 0.1})
    scenario = _scenario(5, faults)
    specs = agents(scenario)
    injector = Injector(scenario, specs, Hashed(5), lambda name: "system/system.md")
    kinds = ("stat", "read", "open", "close", "unlink", "write", "emit", "mkdir", "rename")
    paths = (".rules", "system/rules.md", "system/system.md", "system", "logs/events.jsonl")
    counted: list[tuple[str, int]] = []
    struck = 0
    for spec in specs:
        strikes = Strikes(_plan(scenario, spec), Hashed(5), lambda fault, n: counted.append((fault, n)))
        for beat in range(100):
            for kind in kinds:
                for path in paths:
                    step = Step(f"{spec.name}/beat", 0, beat, kind, path, beat % 2)
                    expected = injector.outcome("agents", spec.name, "", step, beat * MS)
                    assert strikes.outcome(step, beat * MS) == expected
                    struck += expected is not None
    assert struck > 1000
    assert [n for fault, n in counted if "partial" not in fault][:3] == [1, 2, 3]


def test_occurrences_go_on_from_what_earlier_lives_counted() -> None:
    fault = FaultPlan("third", "read", ".rules", occurrence=(3,), error="EIO")
    for seen, expected in (({}, [False, False, True, False]), ({"third": 2}, [True, False, False, False])):
        counted: list[int] = []
        strikes = Strikes(agent(faults=(fault,), seen=seen), Hashed(1), lambda _, n, kept=counted: kept.append(n))  # type: ignore[misc]
        hits = [strikes.outcome(Step("a-0/beat", 0, n, "read", ".rules"), n) is not None for n in range(4)]
        assert hits == expected
        assert counted == list(range(seen.get("third", 0) + 1, 4))


def test_a_plan_says_the_same_after_its_way_through_a_file(tmp_path: Path) -> None:
    scenario = _scenario(2, FAULTS, heartbeat={"interval": "1s", "jitter": SPREADS["empirical"], "phase": "aligned"})
    with crew(tmp_path, *(_plan(scenario, spec) for spec in agents(scenario)), life=3) as one:
        assert from_json(to_json(one.plan)) == one.plan


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "JSONDecodeError"),
        ('{"format": 2}', "got format 2, expected 1"),
        ('{"format": 1, "agents": []}', "missing"),
        ('{"format": 1, "agents": [{"nam": "a-0"}]}', "nam"),
    ],
)
def test_a_file_that_is_no_plan_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="plan of a crew: ") as caught:
        from_json(text)
    assert said in str(caught.value)
