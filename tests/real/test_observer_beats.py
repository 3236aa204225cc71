"""Beats as an observer counts them: from the file that an agent writes at each, and from what a driver reports."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real.observed import REFERENCE, Eyewitness, eyewitness

from fleetbeat.engines.real import beats as beats_module
from fleetbeat.history.records import Record

FOREIGN = REFERENCE.model_copy(update={"command": ("agent",)})
SPAN = ("first", "last", "runnable")
BEAT = ("beat", "outcome", "runnable")


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[Eyewitness]:
    """An agent with a program of its own, of which nothing is reported."""
    with eyewitness(tmp_path, manifest=FOREIGN) as found:
        yield found


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    with eyewitness(tmp_path) as found:
        yield Driven(found, tmp_path)


class Driven:
    """An agent on the driver, whose reports the test writes."""

    def __init__(self, witness: Eyewitness, top: Path) -> None:
        self.witness = witness
        self.lines: list[dict[str, Any]] = []
        (top / "control").mkdir()
        self.report = top / "control" / "report.jsonl"
        self.take = self.lines.append
        witness.observer.watch_reports("crew.0", top / "control", lambda line: self.take(line))

    def tell(self, what: str, **fields: Any) -> None:
        line = {"what": what, "t": self.witness.clock.now(), "agent": "a-0", "life": 0, **fields}
        with self.report.open("ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")
        self.witness.observer.drain()


def beat(witness: Eyewitness, count: int = 1) -> None:
    for _ in range(count):
        (witness.home() / ".agent.heartbeat").write_text("0")
        witness.observer.drain()


def take(witness: Eyewitness) -> None:
    (witness.home() / ".rules").unlink()
    witness.observer.drain()


def post(witness: Eyewitness) -> None:
    (witness.home() / ".rules").write_text("x")
    witness.observer.drain()


def told(history: list[Record], kind: str, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return [tuple(r[name] for name in names) for r in history if r.kind == kind]


def test_idle_beats_are_one_span_cut_where_the_signal_or_the_window_changes(foreign: Eyewitness) -> None:
    beat(foreign, 3)
    post(foreign)
    beat(foreign, 2)
    foreign.observer.runnable("a-0", False)
    beat(foreign, 2)
    history = foreign.over()
    assert told(history, "beats", SPAN) == [(0, 2, True), (3, 4, True), (5, 6, False)]
    assert [r.t for r in history] == sorted(r.t for r in history)


def test_a_beat_in_which_something_was_seen_ends_with_the_last_of_it(foreign: Eyewitness) -> None:
    beat(foreign)
    post(foreign)
    beat(foreign)
    take(foreign)
    (foreign.home() / "logs").mkdir()
    (foreign.home() / "logs" / "events.jsonl").write_text('{"type": "rules_loaded"}\n')
    foreign.observer.drain()
    beat(foreign)
    history = foreign.over()
    assert told(history, "beat", BEAT) == [(1, "done", True)]
    assert told(history, "beats", SPAN) == [(0, 0, True), (2, 2, True)]
    (played,) = [r for r in history if r.kind == "beat"]
    (log,) = [r for r in history if r.kind == "log"]
    kinds = [r.kind for r in history if r.kind in ("beat", "beats", "signal", "log")]
    assert kinds == ["beats", "signal", "signal", "beat", "signal", "log", "beats"]
    assert played["end"] == log.t


def test_what_other_eyes_saw_of_a_beat_is_part_of_it(foreign: Eyewitness) -> None:
    beat(foreign)
    before = foreign.clock.now()
    beat(foreign)
    foreign.observer.also_seen("a-0", before)
    beat(foreign)
    seen = foreign.clock.now()
    foreign.observer.drain()
    foreign.observer.also_seen("a-0", seen)
    beat(foreign)
    history = foreign.over()
    assert [(r["beat"], r["end"]) for r in history if r.kind == "beat"] == [(2, seen)]


def test_beats_do_not_run_together_however_late_the_observer_looks(foreign: Eyewitness) -> None:
    for _ in range(500):
        (foreign.home() / ".agent.heartbeat").write_text("0")
    foreign.observer.drain()
    assert told(foreign.over(), "beats", SPAN) == [(0, 499, True)]


def test_a_file_of_beats_that_is_replaced_by_rename_counts_as_well(foreign: Eyewitness) -> None:
    foreign.observer.ours("/a-0/new")
    for _ in range(3):
        (foreign.home() / "new").write_text("0")
        os.rename(foreign.home() / "new", foreign.home() / ".agent.heartbeat")
    assert told(foreign.over(), "beats", SPAN) == [(0, 2, True)]


def test_a_driver_tells_which_beats_did_something_and_when_they_ended(driven: Driven) -> None:
    witness = driven.witness
    beat(witness)
    post(witness)
    beat(witness)
    take(witness)
    driven.tell("beat", beat=1, end=witness.clock.now(), idle=False, outcome="done")
    (witness.home() / "system").mkdir()
    (witness.home() / "system" / "system.md").write_text("a rebuild between two beats")
    beat(witness)
    history = witness.over()
    assert told(history, "beat", BEAT) == [(1, "done", True)]
    assert told(history, "beats", SPAN) == [(0, 0, True), (2, 2, True)]
    (played,) = [r for r in history if r.kind == "beat"]
    prompt = next(r for r in history if r.kind == "prompt")
    assert next(r.t for r in history if r.kind == "signal" and r["event"] == "vanished") <= played["end"] < prompt.t
    assert [line["what"] for line in driven.lines] == ["beat"]


def test_a_rebuild_between_beats_makes_no_beat_of_a_driver_busy(driven: Driven) -> None:
    witness = driven.witness
    beat(witness)
    (witness.home() / "system").mkdir()
    (witness.home() / "system" / "system.md").write_text("flushed")
    beat(witness)
    assert told(witness.over(), "beats", SPAN) == [(0, 1, True)]


def test_numbers_follow_the_driver_where_it_left_ticks_out(driven: Driven) -> None:
    witness = driven.witness
    beat(witness, 2)
    driven.tell("beat", beat=4, end=0, idle=True, outcome="done")
    beat(witness, 2)
    assert told(witness.over(), "beats", SPAN) == [(0, 0, True), (4, 6, True)]


def test_a_beat_that_an_exception_ended_is_told_and_no_silence_after_it(driven: Driven) -> None:
    witness = driven.witness
    beat(witness)
    driven.tell("beat", beat=0, end=witness.clock.now(), idle=False, outcome="ended")
    driven.tell("heartbeat.end", beat=0, error="UnicodeDecodeError: ...")
    _let_time_pass(witness, 60)
    history = witness.over()
    assert told(history, "beat", BEAT) == [(0, "ended", True)]
    assert not [r for r in history if r.kind == "heartbeat.end"]


def test_a_life_that_ends_in_a_beat_cuts_it_and_numbers_begin_again(driven: Driven) -> None:
    witness = driven.witness
    beat(witness, 2)
    post(witness)
    beat(witness)
    take(witness)
    witness.observer.end_life("a-0")
    witness.observer.new_life("a-0", 1)
    beat(witness, 2)
    history = witness.over()
    assert told(history, "beat", ("life", *BEAT)) == [(0, 2, "cut", True)]
    assert told(history, "beats", ("life", *SPAN)) == [(0, 0, 1, True), (1, 0, 1, True)]


def _let_time_pass(witness: Eyewitness, seconds: float) -> None:
    for _ in range(round(seconds / 0.25)):
        witness.clock.zero -= 250_000_000
        witness.observer.drain()


def test_a_heart_that_stops_is_told_once_when_its_life_is_over(foreign: Eyewitness) -> None:
    beat(foreign, 2)
    for _ in range(3):
        _let_time_pass(foreign, 6)
    history = foreign.over()
    assert told(history, "heartbeat.end", ("life", "beat", "error")) == [(0, 1, "no beat for 5 s")]
    (end,) = [r for r in history if r.kind == "heartbeat.end"]
    assert 5_000_000_000 <= end.t < 6_000_000_000


def test_a_silence_that_the_observer_slept_through_accuses_nobody(foreign: Eyewitness) -> None:
    beat(foreign, 2)
    for _ in range(3):
        foreign.clock.zero -= 6_000_000_000
        foreign.observer.drain()
    _let_time_pass(foreign, 4)
    assert not [r for r in foreign.over() if r.kind == "heartbeat.end"]


def test_a_slow_beat_is_no_dead_heart(foreign: Eyewitness) -> None:
    beat(foreign, 2)
    _let_time_pass(foreign, 20)
    beat(foreign)
    assert not [r for r in foreign.over() if r.kind == "heartbeat.end"]


def test_a_process_that_stands_still_on_purpose_is_no_dead_heart(foreign: Eyewitness) -> None:
    beat(foreign, 2)
    foreign.observer.paused("a-0", True)
    _let_time_pass(foreign, 20)
    foreign.observer.paused("a-0", False)
    _let_time_pass(foreign, 2)
    assert not [r for r in foreign.over() if r.kind == "heartbeat.end"]


def test_an_agent_that_never_beats_is_told(foreign: Eyewitness) -> None:
    assert foreign.observer.beat_ages() == {"a-0": None}
    _let_time_pass(foreign, 2 + (beats_module.GRACE_NS + beats_module.LEAST_NS) / 1e9)
    assert told(foreign.over(), "heartbeat.end", ("beat", "error")) == [(0, "no beat for 5 s")]


@pytest.mark.parametrize(("seconds", "ends"), [(4, 0), (6, 1)])
def test_a_driver_that_has_not_booted_yet_owes_no_beats(seconds: float, ends: int, driven: Driven) -> None:
    witness = driven.witness
    _let_time_pass(witness, 100)
    driven.tell("rebuild.end", rebuild=0, cause="boot", outcome="done")
    _let_time_pass(witness, seconds)
    assert len([r for r in witness.over() if r.kind == "heartbeat.end"]) == ends


def test_reports_keep_their_place_among_what_happened_in_the_homes(driven: Driven) -> None:
    witness = driven.witness
    order: list[str] = []
    witness.observer.expect("a-0", ("vanished",), lambda t: order.append("vanished"))
    driven.tell("ready")
    with driven.report.open("ab", buffering=0) as file:
        file.write(b'{"what": "one"}\n')
        (witness.home() / ".rules").write_text("x")
        (witness.home() / ".rules").unlink()
        file.write(b'{"what": "two"}\n')
        file.write(b"[]\n")
    driven.take = lambda line: order.append(line["what"])
    witness.observer.drain()
    assert order == ["one", "vanished", "two", "unreadable"]
