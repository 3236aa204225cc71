"""no-self-trigger over hand-written histories of three to six records, and the nasty ones beside them."""

from __future__ import annotations

import pytest
from tests.checks.steps import act, call, emit, event, inject, judged_by, notify, prepare, ready

from fleetbeat.checks.chains import MOST_LINKS, Chains, drawn, shortest
from fleetbeat.checks.kept import MOST, Kept
from fleetbeat.checks.model import Finding, Link
from fleetbeat.history.records import Record

ALLOWED = {
    "one prepare of a user's event": [event(1), prepare(2, 1)],
    "its ready event notifies once": [event(1), prepare(2, 1), ready(3, 2), notify(4, 3)],
    "several actions on one user's event":
        [event(1), prepare(2, 1), inject(3, 1), notify(4, 1), notify(5, 1), prepare(6, 1)],
    "a notify for each of two prepares": [
        event(1), prepare(2, 1), prepare(3, 1), ready(4, 2), ready(5, 3), notify(6, 4), notify(7, 5),
    ],
    "what a user does next is a fresh start": [
        event(1), prepare(2, 1), ready(3, 2), notify(4, 3), event(5, "dismissed"), prepare(6, 5), ready(7, 6), notify(8, 7),
    ],
    "two injects of one event begin a chain each":
        [event(1), inject(2, 1), inject(3, 1), call(4, cause=2), notify(5, 4)],
    "what an injected line brings about itself may notify": [event(1), inject(2, 1), call(3, cause=2), notify(4, 3)],
    "an emission that an observer tells of": [event(1), emit(2, 1), event(3, "notice", 2), notify(4, 3)],
    "an emission on a chain is no action": [event(1), prepare(2, 1), ready(3, 2), emit(4, 3), event(5, "notice", 4)],
    "a task's calls, seen and let be": [
        event(1), prepare(2, 1), call(3, cause=2), event(4, "tool.after", 3), event(5, "file.changed", 2), ready(6, 2),
    ],
    "a stricter core that never does anything": [event(1), call(2, cause=1), event(3, "tool.after", 2)],
    "an action that follows from nothing": [prepare(1, None), ready(2, 1), notify(3, 2)],
}  # fmt: skip

#: The records, and the id of the action that breaks it.
BROKEN = {
    "a prepare of a ready event": ([event(1), prepare(2, 1), ready(3, 2), prepare(4, 3)], 4),
    "an inject of a ready event": ([event(1), prepare(2, 1), ready(3, 2), inject(4, 3)], 4),
    "two notifies of one ready event": ([event(1), prepare(2, 1), ready(3, 2), notify(4, 3), notify(5, 3)], 5),
    "a prepare of a task's call": ([event(1), prepare(2, 1), call(3, cause=2), prepare(4, 3)], 4),
    "a prepare of the result of a task's call": (
        [event(1), prepare(2, 1), call(3, cause=2), event(4, "tool.after", 3), prepare(5, 4)], 5),
    "a prepare of a file that a task touched, in another session": (
        [event(1), prepare(2, 1), event(3, "file.changed", 2, session="other"), act(4, "prepare", 3, session="other")], 4),
    "a notify of a task's call, and not of its ready event":
        ([event(1), prepare(2, 1), call(3, cause=2), notify(4, 3)], 4),
    "a notify of a ready event two hops away": (
        [event(1), prepare(2, 1), ready(3, 2), emit(4, 3), event(5, "ready", 4), notify(6, 5)], 6),
    "a notify of an emission's own emission": (
        [event(1), emit(2, 1), event(3, "notice", 2), emit(4, 3), event(5, "notice", 4), notify(6, 5)], 6),
    "a prepare of what an injected line brought about": ([event(1), inject(2, 1), call(3, cause=2), prepare(4, 3)], 4),
    "an inject of what an injected line brought about": ([event(1), inject(2, 1), call(3, cause=2), inject(4, 3)], 4),
    "a notify two hops from an injected line": (
        [event(1), inject(2, 1), call(3, cause=2), event(4, "tool.after", 3), notify(5, 4)], 5),
    "a notice as an event that an observer prepares of":
        ([event(1), emit(2, 1), event(3, "notice", 2), prepare(4, 3)], 4),
    "a prepare at the very end of a long way through files and calls": (
        [event(1), prepare(2, 1), call(3, cause=2), event(4, "file.changed", 3), call(5, cause=4),
         event(6, "tool.after", 5), prepare(7, 6)], 7),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_holds(name: str) -> None:
    found, _ = judged_by(*ALLOWED[name])
    assert (found.outcome, found.findings) == ("held", ())


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_allowed_is_found_once_with_its_chain(name: str) -> None:
    told, id = BROKEN[name]
    found, _ = judged_by(*told)
    assert found.outcome == "broken"
    (finding,) = found.findings
    assert (finding.kind, finding.cause, finding.agent) == ("violation", "agent", "a")
    assert finding.chain[-1].id == id
    assert f"#{id} " in finding.message


@pytest.mark.parametrize("name", BROKEN)
def test_without_its_last_record_each_of_them_would_hold(name: str) -> None:
    found, _ = judged_by(*BROKEN[name][0][:-1])
    assert found.outcome == "held"


def test_a_chain_goes_on_over_a_restart() -> None:
    restart = [Record(0, "a", "core.end", {"agent": "a", "life": 0, "cause": "crash"}),
               Record(0, "a", "core.begin", {"agent": "a", "life": 1})]  # fmt: skip
    found, _ = judged_by(event(1), prepare(2, 1), *restart, ready(3, 2), prepare(4, 3))
    assert [finding.chain[-1].id for finding in found.findings] == [4]


def test_ids_of_two_agents_do_not_meet() -> None:
    other = [Record(0, "b", one.kind, {**one.fields, "agent": "b"}) for one in (event(1), notify(2, 1), prepare(3, 1))]
    found, _ = judged_by(event(1), prepare(2, 1), *other, ready(3, 2), notify(4, 3))
    assert (found.outcome, found.examined) == ("held", 2)


def test_a_spiral_stays_one_chain_and_each_turn_of_it_breaks() -> None:
    told = [event(1), prepare(2, 1)]
    for n in range(2, 12, 2):
        told += [ready(n + 1, n), prepare(n + 2, n + 1)]
    found, _ = judged_by(*told)
    assert (len(found.findings), found.examined) == (5, 1)


def test_examined_counts_the_chains_that_began() -> None:
    assert judged_by(event(1), notify(2, 1))[0].examined == 0
    assert judged_by(event(1), prepare(2, 1), inject(3, 1), emit(4, 1))[0].examined == 3


def test_an_action_whose_cause_was_not_recorded_is_unknown_and_not_held() -> None:
    found, _ = judged_by(prepare(2, 1))
    assert (found.outcome, found.reason) == ("unknown", "1 action followed from something that is not recorded")


def test_what_is_lost_is_lost_for_what_follows_from_it() -> None:
    found, _ = judged_by(event(2, "tool.after", 1), event(3, "file.changed", 2), notify(4, 3))
    assert found.outcome == "unknown"


def test_an_event_without_a_known_cause_that_leads_to_nothing_leaves_the_verdict_alone() -> None:
    assert judged_by(event(1), prepare(2, 1), event(9, "tool.after", 8))[0].outcome == "held"


def test_what_is_broken_stays_broken_beside_what_is_unknown() -> None:
    found, _ = judged_by(event(1), prepare(2, 1), ready(3, 2), prepare(4, 3), prepare(9, 8))
    assert found.outcome == "broken"


# --- windows ---


def spread(gap: int) -> list[Record]:
    """A prepare, `gap` other events, its ready event, and a prepare that breaks it."""
    others = [event(100 + n) for n in range(gap)]
    return [event(1), prepare(2, 1), *others, ready(3, 2), prepare(4, 3)]


def test_a_window_finds_what_lies_within_it() -> None:
    assert judged_by(*spread(20), window=64)[0].outcome == "broken"


def test_a_cause_further_back_than_the_window_is_unknown_and_says_so() -> None:
    found, _ = judged_by(*spread(70), window=64)
    assert found.outcome == "unknown"
    assert "not among the last 64" in found.reason


def test_without_a_window_nothing_is_too_far_back() -> None:
    assert judged_by(*spread(5000))[0].outcome == "broken"


def test_a_window_keeps_its_last_nodes_and_at_most_as_many_as_it_says() -> None:
    chains = Chains(64)
    for id in range(1000):
        chains.add("a", id, 0, "x", "", "s", None)
    known = [id for id in range(1000) if chains.node("a", id) is not None]
    assert known == list(range(1000 - len(known), 1000))
    assert 32 <= len(known) <= 64


def test_a_storm_is_counted_whole_and_kept_in_part_with_its_shortest_chain() -> None:
    told = [event(1), prepare(2, 1)]
    for n in range(2, 2 * MOST + 100, 2):
        told += [ready(n + 1, n), prepare(n + 2, n + 1)]
    told += [event(9001), prepare(9002, 9001), prepare(9003, 9002)]
    found, _ = judged_by(*told)
    assert len(found.findings) + found.more == MOST + 49 + 1
    assert len(found.findings) == MOST + 1
    assert [link.id for link in shortest([finding.chain for finding in found.findings])] == [9001, 9002, 9003]


def test_kept_makes_no_finding_that_it_would_throw_away() -> None:
    kept = Kept(1)
    wanted = []
    for hops in (3, 3, 2, 2, 5, 1):
        wanted.append(kept.wants(hops))
        if wanted[-1]:
            kept.add(Finding("x", "violation", "agent", hops, ""), hops)
    assert wanted == [True, False, True, False, False, True]
    assert ([one.t for one in kept.findings()], kept.more) == ([3, 1], 4)


# --- chains as told ---


def test_a_chain_begins_with_what_its_beginning_followed_from() -> None:
    told, _ = BROKEN["a prepare of the result of a task's call"]
    (finding,) = judged_by(*told)[0].findings
    assert [(link.id, link.hop) for link in finding.chain] == [(1, None), (2, 0), (3, 1), (4, 2), (5, 3)]


def test_the_tree_of_two_notifies_has_two_branches() -> None:
    told, _ = BROKEN["two notifies of one ready event"]
    (finding,) = judged_by(*told)[0].findings
    assert drawn(finding.chain) == [
        "prompt #1, s, at 1s",
        "└─ prepare p #2, s, at 2s  <- the framework's chain begins",
        "   └─ ready #3, s, at 3s",
        "      ├─ notify p #4, s, at 4s",
        "      └─ notify p #5, s, at 5s  <- breaks it",
    ]


def test_a_long_chain_keeps_its_beginning_and_its_end() -> None:
    told = [event(1), prepare(2, 1), *(event(n, "file.changed", n - 1) for n in range(3, 500)), prepare(500, 499)]
    (finding,) = judged_by(*told)[0].findings
    assert len(finding.chain) == MOST_LINKS + 2
    assert [link.id for link in finding.chain[:3]] == [1, 2, 500 - MOST_LINKS + 1]
    assert drawn(finding.chain)[2].lstrip(" └─").startswith("... file.changed #461")


def test_of_several_chains_the_shortest_is_that_with_the_fewest_links() -> None:
    long, short = (tuple(Link(n, None, n, "x", "", "", n) for n in range(size)) for size in (4, 2))
    assert shortest([long, (), short]) == short
    assert shortest([]) == ()
    assert drawn(()) == []
