"""The search of the framework finds what it is there to find, with the shortest schedule, and says what it covered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.explore.framework_worlds import FEW, plan_for, scenario_of, wrong_core

from fleetbeat.explore.framework.plan import Limits, Plan, plan_of
from fleetbeat.explore.framework.search import explore, head_of
from fleetbeat.explore.framework.world import Move, World
from fleetbeat.explore.model import ExploreError

CHAINS, GUARD = "no-self-trigger", "guard-not-silenced"
#: Whatever it does not know counts as the user's.
TRUSTS = """
    def link(self, event):
        if event.cause is None or self.marks.get(event.cause) is not None:
            return super().link(event)
        return reference.Chain(event.id, event.origin), 0
"""
FORGETS_AT_RULES = (
    TRUSTS
    + """
    def take(self, text):
        super().take(text)
        self.marks = reference.Recent(100)
"""
)
FORGETS_AT_REBUILD = (
    TRUSTS
    + """
    def rules(self, text):
        if text == self.text:
            self.marks = reference.Recent(100)
        super().rules(text)
"""
)
HOLDS_A_GENERATOR = """
    def __init__(self, host, options):
        super().__init__(host, options)
        self.numbers = (number for number in range(9))
"""


def only(plan: Plan, *names: str) -> Plan:
    return replace(plan, scenes=tuple(scene for scene in plan.scenes if scene.name in names))


def test_a_right_core_lives_and_the_search_says_that_it_was_complete() -> None:
    outcome = explore(plan_for())
    assert outcome.found == ()
    assert outcome.complete
    assert outcome.vacuous == ""
    assert outcome.summary.startswith("complete within these bounds: ")
    assert [world.scene for world in outcome.worlds] == ["chains", "calls rm", "calls drop"]


@pytest.mark.parametrize("core", ["core-no-guard", "core-forgets-at-restart", "core-raise-allows", "reference"])
def test_merging_states_changes_neither_what_is_found_nor_how_many_schedules_there_are(core: str) -> None:
    plan = plan_for(core, Limits(tasks=1, calls=1, waits=0, dismissals=0))
    merged, plain = explore(plan), explore(plan, merge=False)
    assert [(one.key, len(one.schedule)) for one in merged.found] == [
        (one.key, len(one.schedule)) for one in plain.found
    ]
    assert [world.schedules for world in merged.worlds] == [world.schedules for world in plain.worlds]
    assert merged.states < plain.states


def test_a_finding_has_a_shortest_schedule() -> None:
    (found,) = explore(plan_for("core-no-guard")).found
    assert found.key == (CHAINS, "violation", "agent")
    assert list(map(str, found.schedule)) == ["prompt s-0 0", "task s-0 0", "task s-0 0.1"]
    plan = found.plan
    world = World(plan, found.scene, head_of(plan), {})
    for move in found.schedule[:-1]:
        world.play(move, strict=True)
        assert world.findings() == ()


def test_a_finding_has_the_shortest_chain_of_causes_even_where_its_schedule_is_longer() -> None:
    """The task's call leads to another Prepare two moves earlier than its ready event does, by a longer chain."""
    wide = scenario_of("core-no-guard", **{"on: ready, action: {prepare": "on: [ready, tool.after], action: {prepare"})
    plan = only(plan_of(wide, FEW), "chains")
    (first,) = explore(plan, until=lambda one: True).found
    (best,) = explore(plan).found
    assert len(best.schedule) > len(first.schedule)
    assert [link.what for link in best.finding.chain] == ["prompt", "prepare", "ready", "prepare"]
    assert len(first.finding.chain) == 5


def test_a_core_that_raises_is_said(tmp_path: Path) -> None:
    core = wrong_core(tmp_path, "    def watch(self, type):\n        raise RuntimeError('no')\n")
    outcome = explore(only(plan_for(core, Limits(tasks=0, calls=1, troubles=0)), "chains"))
    assert outcome.notes == ("in the world 'chains' the core raised RuntimeError: no",)
    assert outcome.vacuous


def test_rules_that_are_replaced_between_a_prepare_and_its_ready_are_tried(tmp_path: Path) -> None:
    core = wrong_core(tmp_path, FORGETS_AT_RULES)
    (found,) = explore(plan_for(core), until=lambda one: True).found
    whats = [move.what for move in found.schedule]
    assert found.key[0] == CHAINS
    assert whats.index("prompt") < whats.index("rules") < len(whats) - 1
    still = plan_for(core, replace(FEW, bodies=1))
    assert explore(only(still, "chains")).found == ()


def test_a_rebuild_in_the_middle_of_a_chain_is_tried(tmp_path: Path) -> None:
    core = wrong_core(tmp_path, FORGETS_AT_REBUILD)
    (found,) = explore(only(plan_for(core), "chains"), until=lambda one: True).found
    assert "rebuild" in [move.what for move in found.schedule]
    assert explore(only(plan_for(core, replace(FEW, rebuilds=0, crashes=0)), "chains")).found == ()


def test_a_restart_in_the_middle_of_a_chain_is_tried() -> None:
    (found,) = explore(only(plan_for("core-forgets-at-restart"), "chains"), until=lambda one: True).found
    assert [move.what for move in found.schedule][:3] == ["prompt", "crash", "restart"]


def test_a_failing_gate_is_tried() -> None:
    (found,) = explore(only(plan_for("core-raise-allows"), "calls drop"), until=lambda one: True).found
    assert found.key[0] == GUARD
    assert "raises" in [move.what for move in found.schedule]


def test_rejections_in_a_row_are_tried() -> None:
    plan = plan_for("core-silences-gates", Limits(calls=4, waits=0, crashes=0, bodies=1, failures=0))
    (found,) = explore(only(plan, "calls rm")).found
    assert [move.answer for move in found.schedule if move.answer] == ["reject"] * 3


def test_a_core_that_cannot_be_looked_into_is_searched_without_merging(tmp_path: Path) -> None:
    plan = only(plan_for(wrong_core(tmp_path, HOLDS_A_GENERATOR), Limits(tasks=0, calls=1, troubles=0)), "calls rm")
    outcome = explore(plan)
    assert outcome.complete
    assert not outcome.worlds[0].merged
    assert "no states were merged" in outcome.notes[0]
    assert "generator" in outcome.notes[0]


def test_a_budget_that_runs_out_is_said() -> None:
    outcome = explore(plan_for(), max_states=20)
    assert not outcome.complete
    assert outcome.summary.startswith("budget ran out at ")
    assert explore(plan_for(), stop=lambda: True).states < 10


def test_what_was_found_before_the_budget_ran_out_is_told() -> None:
    outcome = explore(only(plan_for("core-no-guard"), "chains"), max_states=40)
    assert not outcome.complete
    assert [one.key[0] for one in outcome.found] == [CHAINS]


def test_a_world_where_nothing_could_break_is_vacuous() -> None:
    still = scenario_of("reference", **{"share: 10%": "share: 0%", "on: prompt": "on: nothing", "[ready, prompt]": "x"})
    outcome = explore(plan_of(still, FEW))
    assert outcome.found == ()
    assert outcome.vacuous == "no framework chain began and no dangerous call was made"


def test_a_scenario_without_a_workload_has_no_framework() -> None:
    with pytest.raises(ExploreError, match="workload: got none"):
        plan_of(scenario_of().model_copy(update={"workload": None}))


@pytest.mark.parametrize(("name", "value"), [("prompts", 0), ("calls", 13), ("troubles", -1)])
def test_limits_without_use_are_refused(name: str, value: int) -> None:
    with pytest.raises(ExploreError, match=f"{name}: got {value}, expected"):
        plan_of(scenario_of(), replace(Limits(), **{name: value}))


def test_a_move_that_cannot_be_made_is_refused() -> None:
    plan = plan_for()
    world = World(plan, plan.scenes[0], head_of(plan), {})
    with pytest.raises(KeyError):
        world.play(Move("thought", "s-0"), strict=True)


def test_a_schedule_plays_alike_every_time() -> None:
    plan = plan_for("core-no-guard")
    (found,) = explore(plan).found
    looks = []
    for _ in range(2):
        world = World(plan, found.scene, head_of(plan), {})
        for move in found.schedule:
            world.play(move, strict=True)
        looks.append((world.picture(), [(record.kind, dict(record.fields)) for record in world.records]))
    assert looks[0] == looks[1]


@pytest.mark.parametrize(
    "methods",
    [
        "    def __init__(self, host, options):\n        raise RuntimeError('no')\n",
        "    def handle(self, event):\n        raise SystemExit(3)\n",
    ],
)
def test_a_core_that_cannot_be_made_or_exits_is_searched_to_the_end(tmp_path: Path, methods: str) -> None:
    outcome = explore(plan_for(wrong_core(tmp_path, methods), Limits(tasks=0, calls=1)))
    assert outcome.complete
    assert outcome.found == ()
    assert "the core raised" in outcome.notes[0]


def test_a_core_that_does_not_behave_alike_twice_is_refused(tmp_path: Path) -> None:
    core = wrong_core(
        tmp_path,
        """
    calls = [0]

    def handle(self, event):
        self.calls[0] += 1
        return super().handle(event) if self.calls[0] % 5 else None
""",
    )
    with pytest.raises(ExploreError, match="got another course at"):
        explore(plan_for(core))
