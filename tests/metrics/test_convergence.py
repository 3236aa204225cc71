from __future__ import annotations

from collections.abc import Sequence

from tests.history.hand import S, agent, applied, body, end, plan, prompt, rec, rollout, run_record, small

from fleetbeat.checks.model import Judgement, PostFate
from fleetbeat.history.records import Record
from fleetbeat.metrics import Convergence, measure

NAMES = [f"a-{i}" for i in range(10)]


def measured(events: Sequence[Record], fates: Sequence[PostFate] = ()) -> tuple[Convergence, ...]:
    told = sorted(events, key=lambda record: record.t)
    return measure([run_record(), *told, end()], Judgement(tuple(fates), ())).convergence


def wave(t: int, name: str) -> Record:
    return rec(t, "wave", rollout=name, wave=1, event="begin", targets=1)


def one_version(events: Sequence[Record], targets: list[str] = NAMES) -> Convergence:
    head = [rollout("v2", b"two", targets), body(b"two", "v2"), *map(agent, targets)]
    return measured([*head, wave(10 * S, "v2"), *events])[0]


def test_times_count_from_the_rollouts_start_and_shares_from_all_its_targets() -> None:
    row = one_version([prompt((11 + i) * S, name, b"two") for i, name in enumerate(NAMES[:9])])
    assert (row.targets, row.reached, row.at_end) == (10, 9, 9)
    assert (row.p50, row.p90, row.p99, row.p100) == (5 * S, 9 * S, None, None)
    assert [missing.agent for missing in row.missing] == ["a-9"]
    assert dict(row.curve)[50] == 5 * S
    assert dict(row.curve)[95] is None


def test_an_agent_that_held_the_version_before_its_rollout_converges_at_once() -> None:
    row = one_version([prompt(S, "a-0", b"two")], ["a-0"])
    assert (row.p100, row.missing) == (0, ())


def test_an_agent_that_held_it_and_lost_it_before_the_rollout_does_not_count() -> None:
    row = one_version([prompt(S, "a-0", b"two"), prompt(2 * S, "a-0", b"one")], ["a-0"])
    assert (row.reached, len(row.missing)) == (0, 1)


def test_an_agent_that_lost_it_after_the_rollout_began_had_it_at_the_start() -> None:
    row = one_version([prompt(S, "a-0", b"two"), prompt(12 * S, "a-0", b"one")], ["a-0"])
    assert (row.p100, row.at_end) == (0, 0)
    assert row.missing[0].why == "it was effective and is no longer"


def test_a_torn_prompt_holds_nothing() -> None:
    row = one_version([prompt(11 * S, "a-0", b"two", state="torn")], ["a-0"])
    assert row.reached == 0


def test_the_first_instant_counts_not_the_last() -> None:
    row = one_version([prompt(11 * S, "a-0", b"two"), prompt(20 * S, "a-0", b"two")], ["a-0"])
    assert row.p100 == S


def test_a_later_version_in_its_place_is_no_failure_to_converge() -> None:
    events = [
        rollout("v2", b"two", ["a-0"]),
        rollout("v3", b"three", ["a-0"]),
        body(b"two", "v2"),
        body(b"three", "v3"),
        agent("a-0"),
        wave(10 * S, "v2"),
        prompt(11 * S, "a-0", b"two"),
        wave(20 * S, "v3"),
        prompt(21 * S, "a-0", b"three"),
    ]
    two, three = measured(events)
    assert (two.version, two.reached, two.at_end, two.missing) == ("v2", 1, 0, ())
    assert (three.version, three.reached, three.at_end, three.missing) == ("v3", 1, 1, ())


def test_a_version_that_never_was_effective_and_was_overtaken_needs_nothing() -> None:
    events = [
        rollout("v2", b"two", ["a-0"]),
        rollout("v3", b"three", ["a-0"]),
        body(b"two", "v2"),
        body(b"three", "v3"),
        agent("a-0"),
        wave(10 * S, "v2"),
        wave(20 * S, "v3"),
        prompt(21 * S, "a-0", b"three"),
    ]
    assert measured(events)[0].missing[0].action.id == "nothing"


def test_an_earlier_version_that_came_back_is_a_failure_to_converge() -> None:
    events = [
        rollout("v2", b"two", ["a-0"]),
        rollout("v3", b"three", ["a-0"]),
        body(b"two", "v2"),
        body(b"three", "v3"),
        agent("a-0"),
        wave(10 * S, "v2"),
        wave(20 * S, "v3"),
        prompt(21 * S, "a-0", b"three"),
        prompt(30 * S, "a-0", b"two"),
    ]
    two, three = measured(events)
    assert two.missing == ()
    assert [row.agent for row in three.missing] == ["a-0"]


def test_the_fate_of_the_last_attempt_is_told_not_of_the_first() -> None:
    events = [
        rollout("v2", b"two", ["a-0"]),
        body(b"two", "v2"),
        agent("a-0"),
        wave(S, "v2"),
        plan(2 * S, "v2/a-0#1", "v2", "a-0", b"two"),
        plan(3 * S, "v2/a-0#2", "v2", "a-0", b"two"),
    ]
    fates = [PostFate("v2/a-0#2", "v2", "a-0", "op", "stuck"), PostFate("v2/a-0#1", "v2", "a-0", "op", "lost")]
    assert (measured(events, fates)[0].missing[0].post, measured(events, fates)[0].missing[0].fate) == (
        "v2/a-0#2",
        "stuck",
    )


def test_a_target_that_nobody_posted_to_says_so() -> None:
    missing = one_version([], ["a-0"]).missing[0]
    assert (missing.post, missing.fate, missing.action.id) == (None, "unposted", "post")


def test_a_blank_version_is_never_reached() -> None:
    events = [
        rollout("v2", b" \n", ["a-0"]),
        body(b" \n", "v2"),
        agent("a-0"),
        wave(S, "v2"),
        prompt(2 * S, "a-0", b""),
    ]
    row = measured(events)[0]
    assert (row.blank, row.reached) == (True, 0)


def test_what_parents_hand_down_is_nobodys_rollout() -> None:
    assert measured([rollout("handed-down:a-0", b"two", ["a-1"], write="hand-down", operator="a-0")]) == ()


def test_two_operators_with_one_version_are_one_row_over_all_their_targets() -> None:
    events = [
        rollout("v2", b"two", ["a-0"]),
        rollout("v2", b"two", ["a-0", "a-1"], rollout="bob:v2", operator="bob"),
        body(b"two", "v2"),
        wave(20 * S, "v2"),
        wave(10 * S, "bob:v2"),
        prompt(21 * S, "a-1", b"two"),
    ]
    rows = measured(events)
    assert [(row.targets, row.began, row.p50) for row in rows] == [(2, 10 * S, 11 * S)]


def test_without_a_wave_the_first_planned_post_begins_a_rollout() -> None:
    events = [rollout("v2", b"two", ["a-0"]), body(b"two", "v2"), plan(5 * S, "v2/a-0#1", "v2", "a-0", b"two")]
    row = measured([*events, prompt(9 * S, "a-0", b"two")], [applied("v2/a-0#1", "a-0", 6 * S, 9 * S)])[0]
    assert row.p100 == 4 * S


def test_a_rollout_that_never_began_has_no_times() -> None:
    row = measured([rollout("v2", b"two", ["a-0"]), body(b"two", "v2"), prompt(S, "a-0", b"two")])[0]
    assert (row.began, row.p50, row.reached) == (None, None, 0)


def test_the_small_history_misses_the_agent_that_lost_its_post() -> None:
    records, judgement = small()
    row = measure(records, judgement).convergence[0]
    assert [(missing.agent, missing.fate, missing.action.id) for missing in row.missing] == [
        ("a-1", "lost", "post-again")
    ]


def test_a_version_is_not_to_be_posted_again_where_a_later_one_is_still_on_its_way() -> None:
    records, judgement = small()
    later = [rollout("v3", b"three", ["a-1"]), body(b"three", "v3"), wave(20 * S, "v3")]
    told = sorted([*records[1:-1], *later], key=lambda record: record.t)
    two, three = measure([records[0], *told, records[-1]], judgement).convergence
    assert [(row.agent, row.action.id) for row in two.missing] == [("a-1", "nothing")]
    assert [(row.agent, row.action.id) for row in three.missing] == [("a-1", "post")]


def test_a_blank_later_version_undoes_nothing_so_the_earlier_one_may_be_posted_again() -> None:
    records, judgement = small()
    later = [rollout("v3", b" ", ["a-1"]), body(b" ", "v3"), wave(20 * S, "v3")]
    told = sorted([*records[1:-1], *later], key=lambda record: record.t)
    two = measure([records[0], *told, records[-1]], judgement).convergence[0]
    assert [row.action.id for row in two.missing] == ["post-again"]
