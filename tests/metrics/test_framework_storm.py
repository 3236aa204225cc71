from __future__ import annotations

from tests.history.hand import body, rollout
from tests.metrics.framework_by_hand import action, begin, event, observer, policies, rules, tables, wave

from fleetbeat.history.records import Record, norm_of
from fleetbeat.metrics.framework_storm import MinuteRow, Stop, WaveRow

BAD = b"bad"
NORM = norm_of("bad")
LOOP = policies(NORM, observer("loop", ["prompt", "ready"], "prepare"))
WAVES = {"waves": [["a"], ["b", "c"]]}
HEAD = (rollout("v1", BAD, ["a", "b", "c"], **WAVES), body(BAD, "v1"), LOOP)
NS = 1_000_000_000


def storm_of(agent: str, start: float, *at: float, policy: str = "loop", cost: float = 0.5) -> list[Record]:
    """A prepare at `start`, and its ready event and the next prepare at each of `at`."""
    records = [begin(start, agent), rules(start, NORM, agent), event(start, 1, "prompt", agent=agent)]
    records.append(action(start, 2, "prepare", policy, 1, agent, cost))
    for i, t in enumerate(at):
        last = 2 + 2 * i
        records.append(event(t, last + 1, "ready", last, agent))
        records.append(action(t, last + 2, "prepare", policy, last + 1, agent, cost))
    return records


def by_time(*records: Record) -> list[Record]:
    return sorted(records, key=lambda record: record.t)


def test_without_a_self_triggered_action_there_is_no_storm() -> None:
    assert tables(*HEAD, *storm_of("a", 1)).storm is None


def test_the_storm_is_told_by_the_minute_with_its_cost_and_its_agents() -> None:
    """The first prepare of a chain is allowed, and its cost no part of the storm; quiet minutes in between are shown."""
    found = tables(*HEAD, *by_time(*storm_of("a", 1, 10, 20, 130), *storm_of("b", 2, 15)), end=200).storm
    assert found is not None
    assert (found.runs, found.cost, found.self_triggered) == (4, 2_000_000, 4)
    assert found.minutes == (MinuteRow(0, 3, 1_500_000, 2), MinuteRow(1, 0, 0, 0), MinuteRow(2, 1, 500_000, 1))


def test_the_wave_that_gave_itself_away_before_the_next_one_should_have_been_stopped() -> None:
    records = by_time(wave(1, "v1", 1), *storm_of("a", 1, 10), wave(40, "v1", 2), *storm_of("b", 41, 50, 55))
    found = tables(*HEAD, *records).storm
    assert found is not None
    assert found.waves == (
        WaveRow("v1", "v1", 1, NS, 1, 1, 10 * NS, 1, 500_000, 2, 1_000_000),
        WaveRow("v1", "v1", 2, 40 * NS, 2, 1, 50 * NS, 2, 1_000_000, 0, 0),
    )
    assert found.stops == (Stop("v1", "v1", 1, 10 * NS, 40 * NS, 2, 1_000_000),)


def test_only_the_first_of_several_waves_that_gave_themselves_away_is_named_with_all_that_came_later() -> None:
    three = (rollout("v1", BAD, ["a", "b", "c"], waves=[["a"], ["b"], ["c"]]), *HEAD[1:])
    agents = [one for i, name in enumerate("abc") for one in storm_of(name, 1 + 40 * i, 10 + 40 * i)]
    found = tables(*three, *by_time(*(wave(1 + 40 * i, "v1", 1 + i) for i in range(3)), *agents), end=200).storm
    assert found is not None
    assert [(stop.wave, stop.runs, stop.cost) for stop in found.stops] == [(1, 2, 1_000_000)]
    assert [row.later_runs for row in found.waves] == [2, 1, 0]


def test_a_body_that_is_rolled_out_again_is_laid_to_the_later_rollout_once_there_is_one() -> None:
    again = rollout("again", BAD, ["a"])
    start = storm_of("a", 1, 10)
    late = [event(20, 5, "ready", 4), action(20, 6, "prepare", "loop", 5, cost=0.5)]
    found = tables(*HEAD, *start, type(again)(15 * NS, again.actor, again.kind, again.fields), *late).storm
    assert found is not None
    assert [(row.rollout, row.runs) for row in found.waves] == [("v1", 1), ("v1", 0), ("again", 1)]


def test_no_wave_is_blamed_if_the_next_one_had_begun_when_the_first_gave_itself_away() -> None:
    records = by_time(wave(1, "v1", 1), wave(5, "v1", 2), *storm_of("a", 1, 10))
    found = tables(*HEAD, *records).storm
    assert found is not None
    assert (len(found.waves), found.stops) == (2, ())


def test_a_storm_is_laid_to_the_rollout_whose_body_brought_the_policy() -> None:
    """Another rollout, of another body, to the same agents, is not blamed; nor is any for a policy that no body has."""
    other = (rollout("v2", b"other", ["a"]), body(b"other", "v2"), policies(norm_of("other")))
    records = by_time(wave(1, "v2", 1), wave(1, "v1", 1), *storm_of("a", 1, 10))
    found = tables(*other, *HEAD, *records).storm
    assert found is not None
    assert {row.rollout for row in found.waves} == {"v1"}
    strange = tables(*HEAD, *storm_of("a", 1, 10, policy="made-up")).storm
    assert strange is not None
    assert (strange.runs, strange.waves) == (1, ())


def test_a_self_triggered_notification_belongs_to_the_storm_and_costs_nothing() -> None:
    head = (rollout("v1", BAD, ["a"]), body(BAD, "v1"), policies(NORM, observer("tell", "*", "notify")))
    twice = [action(9, 4 + i, "notify", "tell", 3, "a") for i in range(2)]
    start = storm_of("a", 1)
    found = tables(*head, *start, event(9, 3, "ready", 2, "a"), *twice).storm
    assert found is not None
    assert (found.self_triggered, found.runs, found.minutes) == (1, 0, ())
    assert [row.triggered for row in found.waves] == [1]
