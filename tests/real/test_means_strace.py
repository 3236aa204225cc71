"""Faults by strace, on a foreign agent: each fires, at the call, path and occurrence that it names, and is gone after.

The traps that `strace_words` lists are tried one by one on strace itself, so that another version shows where it differs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real.means_stage import MS, SECOND, RealStage, need, of_this_machine, planned, scenario_of

from fleetbeat.engines.real.means.processes import tree_of
from fleetbeat.engines.real.means.strace_log import Log
from fleetbeat.engines.real.means.strace_words import when_of

MACHINE = of_this_machine()
Play = Callable[..., RealStage]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Starts a foreign agent under a plan for these faults."""
    need(MACHINE.strace_why)
    stages = []

    def start(*faults: dict[str, Any], **more: Any) -> RealStage:
        above = ("/bin/sh", "-c", '"$@"; exit 0', "sh") if more.pop("below_a_shell", False) else ()
        scenario = scenario_of(faults=list(faults), **more)
        stage = RealStage(tmp_path / f"run-{len(stages)}", scenario, above)
        stages.append(stage)
        stage.play(planned(scenario, on=MACHINE))
        for name in stage.specs:
            stage.start(name)
            stage.until((stage.home(name) / ".agent.heartbeat").exists, "the first beat")
        return stage

    yield start
    for stage in stages:
        stage.close()
        assert not _tracers(tmp_path)


def _tracers(place: Path) -> list[str]:
    """Processes of strace that have to do with this place."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"strace") and any(str(place).encode() in word for word in words):
            found.append(entry.name)
    return found


def _count(stage: RealStage, fault: str) -> dict[str, Any]:
    assert stage.plan is not None
    return next(count for count in stage.plan.counts() if count["fault"] == fault)


def test_an_error_strikes_the_second_unlink_of_the_signal_and_no_other(play: Play) -> None:
    stage = play({"id": "f", "operation": "unlink", "occurrence": 2, "error": "EIO"})
    stage.applied("a-0", "one")
    assert stage.faults() == []
    stage.applied("a-0", "two")  # the unlink failed once; the next beat succeeded
    [fault] = stage.faults()
    assert (fault["fault"], fault["effect"], fault["error"], fault["path"]) == ("f", "error", "EIO", ".rules")
    stage.applied("a-0", "three")
    stage.close()
    assert _count(stage, "f") == {
        "fault": "f", "means": ["strace"], "planned": None, "fired": 1, "observed": 1, "removed": True
    }  # fmt: skip


def test_errors_on_reading_hit_the_signal_alone_and_keep_it(play: Play) -> None:
    """A read of canonical, which every boot makes, is untouched: without a path it would fail as well."""
    stage = play({"id": "f", "operation": "read", "error": "EIO"}, fleet={"agents": 1, "start": {"rules": "old"}})
    (stage.home("a-0") / "system" / "rules.md").write_text("old")
    stage.post("a-0", "new")
    stage.until(lambda: len(stage.faults()) >= 3, "three failed reads")
    assert not stage.is_gone("a-0")
    assert stage.canonical("a-0") == "old"


def test_only_the_agents_that_are_named_are_traced(play: Play) -> None:
    fault = {"id": "f", "agents": "a-1", "operation": "unlink", "error": "EIO"}
    stage = play(fault, fleet={"agents": 2})
    stage.applied("a-0", "one")
    stage.post("a-1", "one")
    stage.until(lambda: len(stage.faults()) >= 2, "failed unlinks")
    assert {fault["agent"] for fault in stage.faults()} == {"a-1"}
    assert not stage.is_gone("a-1")


def test_a_crash_before_unlink_leaves_the_signal_and_the_next_life_is_spared(play: Play) -> None:
    """strace's rule is there again at every launch: occurrence 1 would strike the second life as well."""
    stage = play({"id": "f", "operation": "unlink", "occurrence": 1, "crash": "before", "restart": "50ms"})
    stage.post("a-0", "one")
    stage.until(lambda: "life.end" in stage.kinds(), "its death")
    assert not stage.is_gone("a-0")
    stage.until(lambda: stage.canonical("a-0") == "one", "the second life to apply it")
    assert [(fault["effect"], fault["operation"]) for fault in stage.faults()] == [("crash", "unlink")]
    assert stage.lives["a-0"] == 1
    assert _count(stage, "f")["observed"] == 1


def test_a_crash_after_unlink_loses_the_post(play: Play) -> None:
    stage = play({"id": "f", "operation": "unlink", "occurrence": 1, "crash": "after", "restart": "50ms"})
    stage.post("a-0", "one")
    stage.until(lambda: stage.lives["a-0"] == 1, "its second life")
    assert stage.is_gone("a-0")
    assert stage.canonical("a-0") is None
    assert [fault["effect"] for fault in stage.faults()] == ["crash"]
    assert [fields["fault"] for kind, fields in stage.told if kind == "life.end"] == ["f"]
    stage.applied("a-0", "two")


def test_a_delay_comes_before_the_effect_and_lasts_as_long_as_it_says(play: Play) -> None:
    stage = play({"id": "f", "operation": "unlink", "occurrence": 1, "delay": "300ms"})
    posted = stage.now()
    stage.applied("a-0", "one")
    assert stage.now() - posted >= 300 * MS
    [fault] = stage.faults()
    assert fault["effect"] == "delay"
    posted = stage.now()
    stage.applied("a-0", "two")
    assert stage.now() - posted < 300 * MS


def test_a_pause_stops_the_whole_process_right_before_the_call(play: Play) -> None:
    """The lost update, without timing: read, stopped, replaced, unlinked unread."""
    stage = play({"id": "f", "operation": "unlink", "occurrence": 1, "pause": "1s"})
    stage.post("a-0", "one")
    stage.until(lambda: "stopped" in stage.kinds(), "the process to stand still")
    assert not stage.is_gone("a-0")
    stage.post("a-0", "two")
    stage.until(lambda: stage.canonical("a-0"), "it to go on")
    assert stage.canonical("a-0") == "one"
    assert stage.is_gone("a-0")
    assert stage.kinds().index("resumed") > stage.kinds().index("pause")
    assert _count(stage, "f")["fired"] == 1


def test_a_window_is_opened_and_closed_on_a_process_that_runs(play: Play) -> None:
    need(MACHINE.attach_why)
    stage = play({"id": "f", "operation": "unlink", "error": "EPERM", "from": "1s", "to": "3s"})
    stage.applied("a-0", "before")
    assert stage.now() < SECOND
    stage.until(lambda: stage.now() >= SECOND and _tracers(stage.place), "the window to open")
    stage.post("a-0", "within")
    stage.until(lambda: stage.faults(), "a failed unlink")
    assert not stage.is_gone("a-0")
    stage.until(lambda: stage.canonical("a-0") == "within", "the window to close")
    assert stage.now() >= 3 * SECOND
    assert not _tracers(stage.place)
    stage.applied("a-0", "after")


def test_a_life_that_begins_within_a_window_is_struck_too(play: Play) -> None:
    need(MACHINE.attach_why)
    stage = play({"id": "f", "operation": "unlink", "error": "EPERM", "to": "9s"})
    stage.crash("a-0", "test", 0)
    stage.until(lambda: stage.lives["a-0"] == 1, "its second life")
    stage.post("a-0", "one")
    stage.until(lambda: stage.faults(), "a failed unlink")
    assert not stage.is_gone("a-0")


def test_a_death_by_an_attached_strace_is_told_as_the_fault_s(play: Play) -> None:
    need(MACHINE.attach_why)
    stage = play({"id": "f", "operation": "unlink", "crash": "before", "to": "9s"})
    stage.post("a-0", "one")
    stage.until(lambda: "life.end" in stage.kinds(), "its death")
    assert [fault["effect"] for fault in stage.faults()] == ["crash"]
    assert not stage.is_gone("a-0")


# --- what strace does, tried ---

SCRIPT = """
import os, sys, threading
def work(path):
    for _ in range(int(sys.argv[2])):
        try: os.unlink(path); print("ok")
        except FileNotFoundError: print("gone")
        except OSError as error: print(error.errno)
if sys.argv[1] == "threads":
    for _ in range(2):
        one = threading.Thread(target=work, args=(sys.argv[3],)); one.start(); one.join()
else:
    for path in sys.argv[3:]: work(path)
"""


def _said(options: list[str], *words: str) -> list[str]:
    need(MACHINE.strace_why)
    command = ["strace", "-f", "-qq", "-o", os.devnull, *options, sys.executable, "-S", "-c", SCRIPT, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.split()


def test_trap_when_counts_in_each_thread_by_itself(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    rule = ["-P", path, "-e", "inject=unlink,unlinkat:error=EIO:when=1"]
    assert _said(rule, "threads", "2", path) == ["5", "gone", "5", "gone"]


def test_trap_when_counts_only_calls_on_the_path(tmp_path: Path) -> None:
    one, other = str(tmp_path / "x"), str(tmp_path / "y")
    rule = ["-P", other, "-e", "inject=unlink,unlinkat:error=EIO:when=1"]
    assert _said(rule, "once", "2", one, other) == ["gone", "gone", "5", "gone"]


def test_trap_of_two_rules_for_one_call_the_last_silently_wins(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    rules = ["-e", "inject=unlink:error=EIO:when=1", "-e", "inject=unlink:error=EPERM:when=2"]
    assert _said(["-P", path, *rules], "once", "2", path) == ["gone", "1"]


def test_trap_a_relative_path_matches_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    rule = ["-P", "x", "-e", "inject=unlink,unlinkat:error=EIO"]
    assert _said(rule, "once", "1", path) == ["gone"]


def test_trap_seccomp_drops_injected_signals(tmp_path: Path) -> None:
    """Were it otherwise one day, crashes could be had cheaper; `options` leaves the option out with signals."""
    path = str(tmp_path / "x")
    rule = ["-P", path, "-e", "inject=unlink,unlinkat:signal=SIGKILL:when=1"]
    assert _said(rule, "once", "1", path) == []
    assert _said(["--seccomp-bpf", *rule], "once", "1", path) in (["gone"], [])


def test_trap_python_writes_again_what_failed_when_it_closes(play: Play) -> None:
    """So one failed write call leaves canonical whole, while the agent logs an error: the fault is of the call."""
    fault = {"id": "f", "operation": "write", "occurrence": 1, "error": "ENOSPC"}
    stage = play(fault)
    stage.post("a-0", "one")
    stage.until(lambda: stage.faults(), "a failed write")
    stage.until(lambda: stage.canonical("a-0") == "one", "the write on closing")
    stage.until(lambda: stage.logged("a-0", "rules_write_error"), "its error")


def test_processes_below_the_one_that_is_known_are_traced_too(play: Play) -> None:
    """As in a container, where the first process is a supervisor that has started the agent already."""
    need(MACHINE.attach_why)
    stage = play({"id": "f", "operation": "unlink", "error": "EPERM", "from": "300ms"}, below_a_shell=True)
    pid = stage.pid("a-0")
    assert pid is not None
    assert len(tree_of(pid)) >= 2
    stage.until(lambda: stage.now() > 300 * MS, "the window")
    stage.post("a-0", "one")
    stage.until(stage.faults, "a failed unlink")
    assert not stage.is_gone("a-0")


def test_who_is_held_by_strace_is_let_go_before_the_end(play: Play) -> None:
    """Killed while an attached strace delays its call, a process would not be gone before the delay is over."""
    need(MACHINE.attach_why)
    stage = play({"id": "f", "operation": "unlink", "delay": "1h", "to": "9s"})
    stage.post("a-0", "one")
    process = stage.running["a-0"]
    logs = stage.root() / "strace"
    stage.until(lambda: any(path.stat().st_size for path in logs.iterdir()), "the call to begin")
    assert not stage.is_gone("a-0")
    assert stage.plan is not None
    stage.plan.release(stage)
    assert not _tracers(stage.place)
    process.kill()
    assert process.wait(timeout=5) == -9


def test_a_crash_after_a_call_by_an_attached_strace_is_over_at_once(play: Play) -> None:
    need(MACHINE.attach_why)
    stage = play({"id": "f", "operation": "unlink", "crash": "after", "to": "9s"}, below_a_shell=True)
    stage.post("a-0", "one")
    stage.until(lambda: "life.end" in stage.kinds(), "its death")
    [end] = [fields for kind, fields in stage.told if kind == "life.end"]
    assert end["t"] - stage.faults()[0]["t"] < SECOND
    assert stage.is_gone("a-0")
    assert stage.canonical("a-0") is None


@pytest.mark.parametrize("trap", ["link", "pipe"])
def test_a_log_that_the_agent_replaced_is_not_followed_and_holds_nobody_up(tmp_path: Path, trap: str) -> None:
    path = tmp_path / "log"
    if trap == "link":
        (tmp_path / "else").write_bytes(b'7 1.5 unlink("/a") = -1 EIO (INJECTED)\n')
        path.symlink_to(tmp_path / "else")
    else:
        os.mkfifo(path)
    assert list(Log(path).read()) == []


@pytest.mark.parametrize(
    ("occurrence", "seen", "words"),
    [
        ((2,), 0, "2"),
        ((2,), 1, "1"),
        ((2,), 2, ""),
        ((1, 2, 3), 1, "1..2+1"),
        ((5, 3, 1), 0, "1..5+2"),
        ((1, 2, 5), 0, None),
    ],
)
def test_occurrences_of_earlier_lives_are_taken_off(occurrence: tuple[int, ...], seen: int, words: str | None) -> None:
    assert when_of(occurrence, seen) == words


def test_the_log_is_read_as_it_grows_and_trusted_in_nothing(tmp_path: Path) -> None:
    """A call is told once: when it begins, be it before its line is whole, cut by another thread's, or never ended."""
    path = tmp_path / "log"
    log = Log(path)
    assert list(log.read()) == []
    path.write_bytes(b'7 1.5 unlink("/a")')
    assert [(one.what, one.call) for one in log.read()] == [("begun", "unlink")]
    assert list(log.read()) == []
    with path.open("ab") as file:
        file.write(
            b' <unfinished ...>\n8 1.6 read(3, "(INJECTED)", 1) = 1\n7 1.7 <... unlink resumed>) = 0 (DELAYED)\n'
        )
        file.write(b'8 1.8 unlink("/a") = ?\n\xff\x00 nonsense\n')
    told = [(one.what, one.call) for one in log.read()]
    assert told == [("begun", "read"), ("delayed", "unlink"), ("begun", "unlink"), ("unanswered", "unlink")]
