"""Beats, rebuilds, windows and locks of an agent on the driver: what runs beside what, and what waits for what."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.real.live_crews import MS, PATIENCE_S, QUICK, agent, crew, program, until

from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.files.real import RealFiles
from fleetbeat.protocol.live_clock import Clock
from fleetbeat.protocol.live_hands import Hands
from fleetbeat.protocol.live_plan import AgentPlan, Amount, FaultPlan, HeartbeatPlan, RebuildPlan
from fleetbeat.protocol.live_report import Reports
from fleetbeat.protocol.process import merged
from fleetbeat.protocol.vocabulary import Stat

#: How long a beat hangs in tests of what happens meanwhile.
HANG = 500 * MS


@dataclass(frozen=True)
class Hung:
    """A beat that hung before it read the signal, until `over`, and went on until `end`; `rebuilds`: (begin, end) each."""

    begun: int
    over: int
    end: int
    rebuilds: list[tuple[int, int]]

    @property
    def meanwhile(self) -> list[tuple[int, int]]:
        return [(begin, end) for begin, end in self.rebuilds if self.begun < begin < self.over]


def _hang(top: Path, name: str, beside: bool) -> Hung:
    """Plays an agent that is asked to rebuild all the time, also while its first beat hangs."""
    fault = FaultPlan("hang", "read", ".rules*", occurrence=(1,), delay=Amount("constant", value=HANG))
    rebuilds = tuple(RebuildPlan(n * 100 * MS, "molt", beside) for n in range(1, 300))
    with crew(top, agent(of=program(name), faults=(fault,), rebuilds=rebuilds)) as one:
        one.file(".rules").write_text("v1")
        one.start()
        (beat,) = one.wait_for("beat", beat=0)
        count = len(one.wait_for("rebuild.begin", cause="molt"))
        one.wait_for("rebuild.end", count, cause="molt")
        ends = {told["rebuild"]: told["t"] for told in one.told("rebuild.end") if told["outcome"] == "done"}
        begun = [told for told in one.told("rebuild.begin", cause="molt") if told["rebuild"] in ends]
        over = next(begin for kind, begin, *_ in beat["ops"] if kind == "read")
        assert over - beat["t"] >= HANG
        return Hung(beat["t"], over, beat["end"], [(told["t"], ends[told["rebuild"]]) for told in begun])


def test_a_rebuild_beside_runs_while_a_beat_hangs(tmp_path: Path) -> None:
    hung = _hang(tmp_path, "reference", beside=True)
    assert any(end < hung.over for _, end in hung.meanwhile), hung


def test_a_rebuild_on_the_beats_thread_waits_for_the_beat(tmp_path: Path) -> None:
    hung = _hang(tmp_path, "reference", beside=False)
    assert hung.rebuilds, hung
    assert all(end <= hung.begun or begin >= hung.end for begin, end in hung.rebuilds), hung


@pytest.mark.parametrize(("name", "waits"), [("claim", True), ("mutants/takes-no-lock", False)])
def test_a_rebuild_beside_waits_for_the_lock_that_a_beat_holds(name: str, waits: bool, tmp_path: Path) -> None:
    hung = _hang(tmp_path, name, beside=True)
    assert hung.meanwhile, hung
    assert all(end > hung.over for _, end in hung.meanwhile) is waits, hung


def test_rebuilds_go_on_after_the_heartbeat_has_ended(tmp_path: Path) -> None:
    poisoned = agent(of=program("mutants/dies-of-poison"), rebuilds=(RebuildPlan(500 * MS, "refresh"),))
    with crew(tmp_path, poisoned) as one:
        one.file(".rules").write_bytes(b"\xff")
        one.file("system/rules.md").write_text("kept")
        one.start()
        one.wait_for("heartbeat.end")
        one.file("system/system.md").unlink()
        one.wait_for("rebuild.end", cause="refresh")
        assert "kept" in one.file("system/system.md").read_text()


def test_a_rebuild_that_falls_into_the_boot_never_happens(tmp_path: Path) -> None:
    early = (RebuildPlan(10 * MS, "molt"), RebuildPlan(20 * MS, "molt", beside=True))
    with crew(tmp_path, agent(boot=Amount("constant", value=200 * MS), rebuilds=early)) as one:
        one.start()
        one.beats_on()
        assert [told["cause"] for told in one.told("rebuild.begin")] == ["boot"]
        assert one.told("rebuild.begin")[0]["t"] >= 200 * MS


def test_a_rebuild_that_logs_an_error_failed(tmp_path: Path) -> None:
    fault = FaultPlan("unread", "read", "system/rules.md", error="EIO")
    with crew(tmp_path, agent(faults=(fault,))) as one:
        one.file("system/rules.md").write_text("v0")
        one.start()
        (boot,) = one.wait_for("rebuild.end")
        assert (boot["outcome"], boot["error"]) == ("failed", None)


# --- windows ---


def test_a_suspended_agent_beats_and_leaves_the_signal(tmp_path: Path) -> None:
    with crew(tmp_path, agent(suspend=((0, 200 * MS), (150 * MS, 400 * MS)))) as one:
        one.file(".rules").write_text("v1")
        one.start()
        one.beats_on()
        stood, beaten_at = one.file(".rules").exists(), one.now()
        assert stood or beaten_at > 400 * MS
        until(one.events, "its log")
        (beat,) = one.wait_for("beat", idle=False)
        assert beat["t"] >= 400 * MS
        assert beat["beat"] > 3  # the suspended ones were counted


def test_a_stall_holds_the_heartbeat_up(tmp_path: Path) -> None:
    with crew(tmp_path, agent(stalls=((0, 100 * MS), (50 * MS, 500 * MS)))) as one:
        one.file(".rules").write_text("v1")
        one.start()
        (beat,) = one.wait_for("beat", idle=False)
        assert (beat["beat"], beat["t"] >= 550 * MS) == (0, True)


def test_a_pause_holds_up_the_whole_agent_and_no_other(tmp_path: Path) -> None:
    fault = FaultPlan("still", "unlink", ".rules", pause=Amount("constant", value=HANG))
    rebuilds = tuple(RebuildPlan(n * 50 * MS, "molt", beside=True) for n in range(1, 300))
    with crew(tmp_path, agent(faults=(fault,), rebuilds=rebuilds), agent("a-1")) as one:
        for name in ("a-0", "a-1"):
            one.file(".rules", name).write_text("v1")
        one.start()
        (slow,) = one.wait_for("beat", agent="a-0", beat=0)
        (other,) = one.wait_for("beat", agent="a-1", beat=0)
        over = next(begin for kind, begin, *_ in slow["ops"] if kind == "unlink")
        ends = {told["rebuild"]: told["t"] for told in one.told("rebuild.end")}
        meanwhile = [b for b in one.told("rebuild.begin") if over - HANG + 50 * MS < b["t"] < over - 50 * MS]
        assert over - slow["t"] >= HANG
        assert meanwhile
        assert all(ends.get(told["rebuild"], over) > over - 50 * MS for told in meanwhile), (meanwhile, ends, over)
        assert other["end"] - other["t"] < HANG


def test_a_delay_is_no_part_of_an_operations_time(tmp_path: Path) -> None:
    fault = FaultPlan("late", "unlink", ".rules", delay=Amount("constant", value=300 * MS))
    with crew(tmp_path, agent(faults=(fault,))) as one:
        one.file(".rules").write_text("v1")
        one.start()
        (beat,) = one.wait_for("beat", beat=0)
        (took,) = [end - begin for kind, begin, end, _ in beat["ops"] if kind == "unlink"]
        assert beat["end"] - beat["t"] >= 300 * MS > took


def test_an_error_of_the_machines_own_is_reported_but_not_as_a_fault(tmp_path: Path) -> None:
    with crew(tmp_path) as one:
        one.start()
        one.beats_on()
        one.file("system/rules.md").mkdir()
        one.post(b"v1")
        told = one.wait_for("error", operation="open", path="system/rules.md")
        assert (told[0]["error"], one.told("fault")) == ("EISDIR", [])


def test_one_in_fifty_idle_beats_is_reported(tmp_path: Path) -> None:
    with crew(tmp_path, agent(heartbeat=HeartbeatPlan(interval=2 * MS))) as one:
        one.start()
        first, second = one.wait_for("beat", 2, idle=True)[:2]
        assert second["beat"] - first["beat"] == 50
        assert [(kind, result) for kind, _, _, result in first["ops"]] == [("stat", "ENOENT")]


def test_what_overlapping_episodes_learned_is_laid_over_each_other() -> None:
    before, after, now = (Overlaid(*values) for values in ((0, 0), (1, 0), (0, 2)))
    assert merged(before, after, now) == Overlaid(1, 2)


@dataclass(frozen=True)
class Overlaid:
    ours: int
    theirs: int


# --- hands ---


class _SlowFiles(RealFiles):
    """Looking takes until somebody says so."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.begun, self.go_on, self.looks = threading.Event(), threading.Event(), 0

    def stat(self, path: str, *, follow: bool = False) -> Any:
        self.looks += 1
        self.begun.set()
        assert self.go_on.wait(PATIENCE_S)
        return super().stat(path, follow=follow)


def test_at_a_stop_the_operation_under_way_ends_and_none_begins(tmp_path: Path) -> None:
    clock = Clock()
    plan = AgentPlan("a-0", "/a-0", "", QUICK)
    (tmp_path / "a-0").mkdir()
    files = _SlowFiles(str(tmp_path))
    hands = Hands(plan, 0, files, Hashed(1), clock, Reports(str(tmp_path / "report"), clock))
    done: list[int] = []

    def look_twice() -> None:
        for beat in (0, 1):
            hands.perform(Stat("/a-0"), Step("a-0/beat", 0, beat, "stat", "/a-0"), "a-0/beat")
            done.append(beat)

    threading.Thread(target=look_twice, daemon=True).start()
    assert files.begun.wait(PATIENCE_S)
    stopping = threading.Thread(target=hands.stop, args=(PATIENCE_S,), daemon=True)
    stopping.start()
    assert stopping.is_alive()
    files.go_on.set()
    # whoever is first takes the turn: a second look may slip in before the stop does, none after it
    stopping.join(PATIENCE_S)
    assert not stopping.is_alive()
    until(lambda: len(done) == files.looks, "the looks that began to have ended")
    assert done
