"""The harness's loop: order, lateness, flags, what the kernel tells, and that a wall clock moves nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import Any

import pytest

from fleetbeat.engines.real.loop import Flag, Loop
from fleetbeat.engines.real.records import STEP_NS, Clock, Sink

MS = 1_000_000


@pytest.fixture
def loop() -> Loop:
    return Loop(Clock())


def test_what_is_due_is_done_in_the_order_of_its_time_and_late_things_are_not_skipped(loop: Loop) -> None:
    told: list[str] = []
    begin = loop.clock.now()

    def slow() -> None:
        told.append("first")
        time.sleep(0.01)

    loop.at(begin + 4 * MS, lambda: told.append("second"))
    loop.at(begin + 2 * MS, slow)
    loop.at(begin + 5 * MS, lambda: told.append("third"))
    loop.at(begin + 10_000 * MS, lambda: told.append("never"))
    loop.run(begin + 30 * MS)
    assert told == ["first", "second", "third"]
    assert loop.clock.now() >= begin + 30 * MS


def test_a_task_goes_on_at_the_times_it_asks_for_and_when_its_flag_goes_up(loop: Loop) -> None:
    told: list[tuple[str, bool]] = []
    begin = loop.clock.now()
    flag = Flag()

    def waits() -> Generator[int | Flag, None, None]:
        yield flag
        told.append(("waited", loop.clock.now() >= begin + 3 * MS))
        yield flag  # up already: goes on at once
        told.append(("again", True))

    def raises() -> Generator[int | Flag, None, None]:
        yield begin + 3 * MS
        told.append(("raises", loop.clock.now() >= begin + 3 * MS))
        loop.raise_flag(flag)

    over = loop.start(waits())
    loop.start(raises())
    loop.run(begin + 500 * MS, lambda: over.is_up)
    assert told == [("raises", True), ("waited", True), ("again", True)]


def test_what_the_kernel_has_to_tell_is_asked_before_anything_due_is_done(loop: Loop) -> None:
    reads, writes = os.pipe()
    told: list[str] = []

    def drain() -> None:
        try:
            told.append(os.read(reads, 10).decode())
        except BlockingIOError:
            return

    os.set_blocking(reads, False)
    loop.before = drain
    loop.watch(reads, drain)
    loop.at(0, lambda: told.append("due"))
    os.write(writes, b"seen")
    loop.run(loop.clock.now() + 5 * MS)
    assert told == ["seen", "due"]
    loop.at(loop.clock.now() + 2 * MS, lambda: told.append(f"wrote {os.write(writes, b'woken')}"))
    loop.run(loop.clock.now() + 1000 * MS, lambda: "woken" in told)
    assert told[-1] == "woken"
    os.close(reads)
    os.close(writes)
    loop.close()


def test_a_step_of_the_wall_clock_is_told_and_moves_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    assert clock.stepped() == 0
    before, wall = clock.now(), time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: wall() - 3_600_000_000_000)
    step = clock.stepped()
    assert -3_601_000_000_000 < step < -3_599_000_000_000
    assert before < clock.now() < before + 60_000 * MS
    assert clock.stepped() == 0
    assert clock.largest_step_ns == step
    assert abs(clock.since_wall(time.time_ns() / 1e9) - clock.now()) < STEP_NS


def test_a_history_never_goes_back_and_what_began_earlier_stands_where_it_began() -> None:
    sink = Sink()
    sink.add(5, "a", "note", text="five")
    sink.add(3, "a", "note", text="seen after five")
    sink.late(4, "a", "note", text="began at four")
    sink.late(-7, "a", "note", text="before the start")
    body = sink.body(b"x", 9)
    assert sink.body(b"x", 10) == body
    told: list[Any] = [(record.t, record.get("text", record.kind)) for record in sink.history(8, "duration")]
    assert told == [
        (0, "before the start"),
        (4, "began at four"),
        (5, "five"),
        (5, "seen after five"),
        (9, "x"),
        (9, "end"),
    ]
