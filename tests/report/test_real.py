"""What the report says of a run in real time, and that it says nothing of a simulated one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.history.hand import S, end, rec, run_record

from fleetbeat.history.records import Record
from fleetbeat.report import real_text
from fleetbeat.report.json import plain
from fleetbeat.report.real import Real, real

LAG = rec(9, "measured", what="observation", count=3, p50=1_000_000, p90=2_000_000, p99=3_000_000, max=4_000_000)
CLOCK = rec(9, "measured", what="clock", count=1, p50=7, p90=7, p99=7, max=7)


def _count(**fields: Any) -> Record:
    return rec(
        9, "fault.count", **{"fault": "f", "means": ["driver", "strace"], "planned": None, "observed": 2, **fields}
    )


def _real(*records: Record) -> Real:
    part = real([run_record(), *records, end()])
    assert part is not None
    return part


def test_a_simulated_run_says_nothing_of_real_time() -> None:
    assert real([run_record(), end()]) is None
    assert (real_text.counts(None), real_text.observation(None), real_text.notes(None)) == ("", "", "")


def test_how_late_things_were_seen_is_said_with_its_quantiles() -> None:
    told = " ".join(real_text.observation(_real(LAG, CLOCK)).split())
    assert "3 measured: p50 1.00ms, p90 2.00ms, p99 3.00ms, max 4.00ms." in told
    assert "stepped by 7ns at most" in told


@pytest.mark.parametrize(("p99", "said"), [(10_000_000, False), (10_000_001, True)])
def test_a_machine_too_busy_to_time_things_on_is_said_to_be(p99: int, said: bool) -> None:
    measured = rec(9, "measured", what="observation", count=3, p50=1, p90=2, p99=p99, max=p99)
    assert ("The machine was busy" in real_text.observation(_real(measured))) == said


def test_nothing_measured_is_said_and_is_not_called_nought() -> None:
    told = real_text.observation(_real(rec(9, "measured", what="observation", count=0)))
    assert "not measured" in told
    assert "0ns" not in told


def test_what_was_not_seen_is_said_with_its_time_and_whose_it_is() -> None:
    fields: list[dict[str, Any]] = [{"from": t * S, "to": (t + 1) * S, "missing": "events"} for t in range(7)]
    gaps = [rec(one["from"], "unseen", agent=None, **one) for one in fields]
    told = real_text.observation(_real(LAG, *gaps))
    assert told.count("all agents: events") == 5
    assert "and 2 more" in told


def test_faults_are_counted_and_one_that_was_not_removed_cries_out() -> None:
    part = _real(LAG, _count(fired=2, removed=True), _count(fault="g", planned=3, fired=1, removed=False))
    lines = [line.split() for line in real_text.counts(part).splitlines()[2:]]
    assert lines == [["f", "driver,", "strace", "-", "2", "2", "yes"], ["g", "driver,", "strace", "3", "1", "2", "NO"]]
    assert json.loads(json.dumps(plain(part)))["counts"][1]["removed"] is False


@pytest.mark.parametrize("told", ["\x1b]0;owned\x07", "\u202eevil", "a\rb"])
def test_what_a_process_wrote_cannot_act_on_a_terminal(told: str) -> None:
    shown = real_text.notes(_real(rec(S, "note", agent="a-0", text="its process ended; its last lines:", told=told)))
    assert all(char == "\n" or char.isprintable() for char in shown)
    assert told not in shown


def test_many_notes_and_long_ones_are_cut() -> None:
    note = rec(S, "note", agent=None, text="words", told="\n".join(map(str, range(100))))
    shown = real_text.notes(_real(*[note] * 9))
    assert "and 4 more notes" in shown
    assert shown.count("\n    99\n") == 5
    assert "\n    79\n" not in shown
