"""`fleetbeat run` on a real engine: options, exit codes, what is kept, Ctrl-C once and twice."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.cli.calls import Desk
from tests.real.ground import ended, fleetbeat, ground, until  # noqa: F401

from fleetbeat.cli import main
from fleetbeat.cli.output import Unwritable
from fleetbeat.cli.replay import Asked
from fleetbeat.cli.replay import command as replay
from fleetbeat.engines.process.leftovers import processes
from fleetbeat.engines.real.errors import CannotDo, EngineError
from fleetbeat.engines.real.root import make_root
from fleetbeat.history.records import Record

SHORT = """
duration: 1s
fleet: {agents: 2, heartbeat: {interval: 200ms}}
rollouts: [{version: v1, at: 0s, targets: all, body: B.}]
"""


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Desk:
    return Desk(monkeypatch, capsys, tmp_path)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--root", "x"), "--root: got --engine des, expected process or docker"),
        (("--keep-root",), "--keep-root: got --engine des, expected process or docker"),
        (("--means", "real"), "--means: got --engine des, expected process or docker"),
        (("--engine", "process", "--base", "x"), "--base: got --engine process, expected docker"),
        (("--engine", "process", "--docker-host", "tcp://x"), "--docker-host: got --engine process, expected docker"),
    ],
)
def test_an_option_of_another_engine_is_refused(desk: Desk, words: tuple[str, ...], expected: str) -> None:
    assert main(["run", "s.yaml", *words]) == 2
    assert expected in desk.capsys.readouterr().err
    assert desk.played == []


def test_the_replay_command_keeps_how_it_was_really_played() -> None:
    asked = Asked("s.yaml", engine="docker", root="/r", keep_root=True, means="real", docker_host="tcp://h", base="b")
    words = "--engine docker --root /r --means real --docker-host tcp://h --base b --keep-root s.yaml"
    assert replay(asked) == f"fleetbeat run {words}"


@pytest.mark.parametrize("error", [EngineError("no daemon:\nexpected one"), CannotDo("f1: no strace", "f2: no root")])
def test_what_stops_an_engine_is_told_line_by_line_with_exit_code_4(desk: Desk, error: Exception) -> None:
    def play(*_: object, **__: object) -> list[Record]:
        raise error

    desk.monkeypatch.setattr(desk, "play", play)
    assert main(["run", "s.yaml", "-o", "out"]) == 4
    assert desk.capsys.readouterr().err == f"{error}\n"
    assert not Path("out").exists()


def test_what_was_observed_before_an_engine_failed_is_kept(desk: Desk) -> None:
    records = desk.records

    def play(*_: object, **__: object) -> list[Record]:
        raise EngineError("the disk is full", records)

    desk.monkeypatch.setattr(desk, "play", play)
    assert main(["run", "s.yaml", "-o", "out", "--no-bodies"]) == 4
    told = desk.capsys.readouterr().err
    assert told == "fleetbeat: what was observed until then is saved in out\nthe disk is full\n"
    assert sorted(path.name for path in Path("out").iterdir()) == ["history.jsonl", "scenario.yaml"]
    kinds = [json.loads(line)["kind"] for line in Path("out/history.jsonl").read_text().splitlines()]
    assert kinds == [record.kind for record in records]


@pytest.mark.parametrize("engine", ["des", "process"])
def test_a_real_run_whose_report_finds_no_room_is_told_and_its_history_kept(desk: Desk, engine: str) -> None:
    def full(*_: object) -> None:
        raise Unwritable("out/report.txt: got No space left on device, expected to be able to write there")

    records = desk.records
    desk.monkeypatch.setattr("fleetbeat.cli.run.Kept.judged", full)
    desk.monkeypatch.setattr("fleetbeat.engines.ENGINES.engine", lambda _: lambda *_, **__: records)
    assert main(["run", "s.yaml", "--engine", engine, "-o", "out"]) == 4
    told = desk.capsys.readouterr()
    is_real = engine == "process"
    assert ("Fates of posts" in told.out, Path("out/history.jsonl").exists()) == (is_real, is_real)
    assert "No space left" in told.err


def test_a_run_is_told_and_its_directory_replays(ground: Path) -> None:  # noqa: F811
    (ground / "s.yaml").write_text(SHORT)
    out = ground / "out"
    code, told, err = ended(fleetbeat("run", str(ground / "s.yaml"), "--engine", "process", "-o", str(out)))
    assert (code, err) == (0, "")
    assert "engine process" in told
    assert "Observation\n" in told
    assert f"replay: fleetbeat run --engine process {ground / 's.yaml'}" in told
    code, told, _ = ended(fleetbeat("check", str(out / "history.jsonl")))
    assert (code, "applied 2" in told) == (0, True)
    assert list((ground / f"fleetbeat-{os.getuid()}").iterdir()) == []


def test_a_root_in_use_is_refused_with_exit_code_4(ground: Path) -> None:  # noqa: F811
    (ground / "s.yaml").write_text(SHORT)
    make_root(ground / "r", "process", "first")
    words = ("--engine", "process", "--root", str(ground / "r"))
    code, out, err = ended(fleetbeat("run", str(ground / "s.yaml"), *words))
    assert (code, out) == (4, "")
    assert f"in use by another run (process {os.getpid()}, engine process, scenario first)" in err
    assert len(err.splitlines()) == 1


def _interrupted(place: Path, times: int, *words: str) -> tuple[int, str, str, float]:
    (place / "s.yaml").write_text(SHORT.replace("duration: 1s", "duration: 300s"))
    started = fleetbeat("run", str(place / "s.yaml"), "--engine", "process", *words)
    assert until(lambda: list(place.glob("fleetbeat-*/run-*/fleet/a-1/logs/events.jsonl")))
    begun = time.monotonic()
    for _ in range(times):
        started.send_signal(signal.SIGINT)
        time.sleep(0.02)
    code, out, err = ended(started)
    return code, out, err, time.monotonic() - begun


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_a_run_soon_and_leaves_nothing(ground: Path, times: int) -> None:  # noqa: F811
    out = ground / "out"
    code, _, err, lasted = _interrupted(ground, times, "-o", str(out))
    assert code == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert lasted < 10
    assert processes_of_this_test(ground) == []
    if times == 1:
        assert list((ground / f"fleetbeat-{os.getuid()}").iterdir()) == []
        last = json.loads((out / "history.jsonl").read_text().splitlines()[-1])
        assert (last["kind"], last["reason"]) == ("end", "interrupted")


def processes_of_this_test(place: Path) -> list[int]:
    """Processes whose command names something in a directory."""
    found = []
    for pid, _ in processes():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if str(place).encode() in words:
            found.append(pid)
    return found
