"""The driver as a process: it says that it is ready, waits for the go, dies by its faults, ends when it is asked to."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.real.live_crews import MS, PATIENCE_S, S, agent, crew, program, until

from fleetbeat.protocol.live import Lease
from fleetbeat.protocol.live_plan import Amount, FaultPlan, HeartbeatPlan

SLOW = Amount("constant", value=3600 * S)


def test_nothing_happens_before_the_go(tmp_path: Path) -> None:
    with crew(tmp_path) as one:
        one.start(go=False)
        one.wait_for("ready")
        assert one.told("rebuild.begin") == []
        assert list(one.file("").glob(".agent*")) == []
        one.go()
        (boot,) = one.wait_for("rebuild.begin")
        assert (boot["cause"], boot["t"] >= 0) == ("boot", True)
        one.beats_on()


@pytest.mark.parametrize("jitter", ["none", "uniform", "normal", "exponential", "lognormal", "empirical"])
def test_every_jitter_beats_without_any_library(jitter: str, tmp_path: Path) -> None:
    spread = Amount(jitter, low=0, high=2 * MS, mean=MS, sd=MS, median=MS, sigma=0.5, values=(1, 2 * MS))
    with crew(tmp_path, agent(heartbeat=HeartbeatPlan(interval=10 * MS, jitter=spread))) as one:
        one.start()
        one.beats_on()
        assert (one.output(), one.stop()) == ("", 0)


def test_a_posted_body_becomes_effective_and_is_logged_in_the_agents_own_time(tmp_path: Path) -> None:
    late = 5000.0
    with crew(tmp_path, agent(clock_offset=int(late * S))) as one:
        one.start()
        one.post(b"be kind\n")
        (entry,) = until(one.events, "its log")
        posted = one.file(".rules.tmp").parent.stat().st_mtime
        assert (entry["type"], one.file("system/rules.md").read_text()) == ("rules_loaded", "be kind\n")
        assert "<rules>\nbe kind\n</rules>" in one.file("system/system.md").read_text()
        assert abs(entry["ts"] - late - posted) < PATIENCE_S
        shown = until(lambda: one.file(".agent.heartbeat").read_text(), "a whole beat file")
        assert abs(float(shown) - late - posted) < PATIENCE_S


@pytest.mark.parametrize(("when", "stays"), [("before", True), ("after", False)])
def test_a_crash_at_an_operation_is_a_death_by_sigkill(when: str, stays: bool, tmp_path: Path) -> None:
    fault = FaultPlan("end", "unlink", ".rules", crash=when)
    with crew(tmp_path, agent(faults=(fault,))) as one:
        one.file(".rules").write_text("v1")
        one.start()
        assert one.ended() == -signal.SIGKILL
        (told,) = one.told("fault")
        assert (told["fault"], told["effect"], told["error"], told["step"]) == (
            "end", "crash", None, "a-0/beat#0.0:unlink .rules",
        )  # fmt: skip
        assert (one.file(".rules").exists(), one.file("system/rules.md").exists()) == (stays, False)
        assert one.told("end") == []


def test_a_crash_after_a_failing_operation_still_happens(tmp_path: Path) -> None:
    faults = (FaultPlan("bad", "read", ".rules", error="EIO"), FaultPlan("end", "read", ".rules", crash="after"))
    with crew(tmp_path, agent(faults=faults)) as one:
        one.file(".rules").write_text("v1")
        one.start()
        assert one.ended() == -signal.SIGKILL
        assert [(told["fault"], told["effect"], told["error"]) for told in one.told("fault")] == [
            ("bad", "error", "EIO"),
            ("end", "crash", None),
        ]
        assert one.told("error") == []  # that is for errors of the machine's own


def test_what_escapes_a_program_ends_that_heartbeat_alone(tmp_path: Path) -> None:
    poisoned = agent("a-0", program("mutants/dies-of-poison"))
    with crew(tmp_path, poisoned, agent("a-1")) as one:
        one.start()
        one.beats_on("a-0")
        one.post(b"\xff\xfe", "a-0")
        (end,) = one.wait_for("heartbeat.end")
        assert (end["agent"], end["error"].split(":")[0]) == ("a-0", "UnicodeDecodeError")
        (beat,) = one.told("beat", agent="a-0", beat=end["beat"])
        assert beat["outcome"] == "ended"
        last = one.file(".agent.heartbeat", "a-0").read_text()
        one.beats_on("a-1")
        assert one.file(".agent.heartbeat", "a-0").read_text() == last
        one.post(b"fine", "a-1")
        until(lambda: one.events("a-1"), "the other agent's log")
        assert one.stop() == 0


def test_a_boot_that_an_exception_ends_leaves_no_heartbeat(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "class Bad:\n    start = None\n    def boot(self, c, m):\n        raise ValueError('no\\nway')\n"
        "    beat = rebuild = boot\nPROGRAM = Bad()\n"
    )
    with crew(tmp_path, agent(of=str(tmp_path / "bad.py")), agent("a-1")) as one:
        one.start()
        (end,) = one.wait_for("heartbeat.end")
        assert (end["agent"], end["beat"], end["error"]) == ("a-0", 0, "ValueError: no way")
        one.beats_on("a-1")
        assert not one.file(".agent.heartbeat").exists()


def test_a_program_that_yields_no_operations_is_told_as_its_own_mistake(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "class Bad:\n    start = None\n    def boot(self, c, m):\n        yield 'stat'\n"
        "    beat = rebuild = boot\nPROGRAM = Bad()\n"
    )
    with crew(tmp_path, agent(of=str(tmp_path / "bad.py"))) as one:
        one.start()
        (told,) = one.wait_for("program.error")
        assert told["error"] == "a-0/rebuild 0: got 'stat', expected an operation"


def test_a_program_that_does_not_load_ends_the_process_before_it_is_ready(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("raise RuntimeError('not today')\n")
    with crew(tmp_path, agent(of=str(tmp_path / "bad.py"))) as one:
        one.start(go=False)
        assert one.ended() == 1
        assert (one.told("ready"), one.output().splitlines()[-1]) == ([], "RuntimeError: not today")


# --- the end ---


def test_it_ends_when_asked_even_if_agents_are_in_long_delays(tmp_path: Path) -> None:
    slow = agent("a-1", faults=(FaultPlan("slow", "stat", ".rules", delay=SLOW),))
    with crew(tmp_path, agent(), slow) as one:
        one.start()
        one.beats_on()
        assert one.stop() == 0
        assert [told["reason"] for told in one.told("end")] == ["asked"]


def test_it_ends_when_asked_before_the_go(tmp_path: Path) -> None:
    with crew(tmp_path) as one:
        one.start(go=False)
        one.wait_for("ready")
        assert (one.stop(), one.told("rebuild.begin")) == (0, [])


def test_it_ends_by_itself_when_nobody_renews_its_lease(tmp_path: Path) -> None:
    with crew(tmp_path, lease_s=1.0) as one:
        one.start()
        assert one.ended() == 0
        assert [told["reason"] for told in one.told("end")] == ["lease"]


def test_a_lease_counts_looks_without_change_and_no_clock(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    path.write_text("1")
    lease = Lease(str(path), 3.0)
    assert [lease.is_over() for _ in range(3)] == [False, False, False]
    os.utime(path, (1, 1))  # the harness's clock may step back
    assert [lease.is_over() for _ in range(4)] == [False, False, False, True]
    path.unlink()
    assert [lease.is_over() for _ in range(4)] == [False, False, False, True]


def test_a_process_that_stood_still_longer_than_its_lease_goes_on(tmp_path: Path) -> None:
    with crew(tmp_path, lease_s=2.0) as one:
        one.start()
        one.beats_on()
        assert one.process is not None
        one.process.send_signal(signal.SIGSTOP)
        stopped = one.now()
        until(lambda: one.now() > stopped + 2200 * MS, "more than two seconds")
        one.process.send_signal(signal.SIGCONT)
        one.beats_on()
        one.lease.write_text("renewed")
        assert one.stop() == 0
