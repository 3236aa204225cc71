"""The command as a user runs it: real scenarios, the real engine and checks, fresh processes, shells and signals."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.history.hand import SECRET

from fleetbeat.history import jsonl
from fleetbeat.metrics import measure

FLAKY = f"""\
name: whole
fleet: {{agents: 12, start: {{rules: old}}}}
duration: 40s
faults:
  - {{id: flaky, operation: read, probability: 0.3, error: EIO}}
rollouts:
  - {{version: v2, at: 10s, targets: all, body: '{SECRET}', verify: effective}}
  - {{version: v3, at: 20s, targets: a-0..a-5, body: three, verify: disappearance}}
"""
ENDLESS = "fleet: {agents: 500}\nduration: 30d\nfaults: [{operation: stat, probability: 0.5, error: EIO}]\n"
COMMAND = [sys.executable, "-c", "import sys; from fleetbeat.cli import main; sys.exit(main())"]


def fleetbeat(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("flaky.yaml").write_text(FLAKY)
    Path("endless.yaml").write_text(ENDLESS)
    return tmp_path


def test_check_gives_the_verdicts_of_the_run_from_the_file_alone(here: Path) -> None:
    ran = fleetbeat("run", "flaky.yaml", "-o", "out", "--json")
    checked = fleetbeat("check", "out/history.jsonl", "--json")
    assert ran.returncode == checked.returncode
    assert {**json.loads(ran.stdout), "replay": ""} == {**json.loads(checked.stdout), "replay": ""}
    assert json.loads(ran.stdout)["fates"]["applied"] > 10


@pytest.mark.parametrize("options", [[], ["--no-ops"], ["--no-bodies"], ["--seed", "5", "--set", "fleet.agents=8"]])
def test_the_replay_command_gives_the_same_bytes_in_another_process(here: Path, options: list[str]) -> None:
    first = fleetbeat("run", "flaky.yaml", "-o", "one", *options)
    replay = shlex.split(first.stdout.rstrip("\n").rpartition("replay: ")[2])
    assert replay[0] == "fleetbeat"
    again = fleetbeat(*replay[1:], "-o", "two", env={**os.environ, "PYTHONHASHSEED": "4711"})
    assert again.returncode == first.returncode
    for name in ("history.jsonl", "report.json", "report.txt", "junit.xml", "missing.yaml", "scenario.yaml"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes(), name
    assert fleetbeat("diff", "one", "two").returncode == 0


def test_the_directory_of_a_run_replays_to_the_same_history(here: Path) -> None:
    fleetbeat("run", "flaky.yaml", "-o", "one", "--seed", "3")
    fleetbeat("run", "one", "-o", "two")
    assert Path("one/history.jsonl").read_bytes() == Path("two/history.jsonl").read_bytes()


def test_without_operations_every_verdict_is_the_same_or_unknown(here: Path) -> None:
    whole = json.loads(fleetbeat("run", "flaky.yaml", "--json").stdout)
    bare = json.loads(fleetbeat("run", "flaky.yaml", "--json", "--no-ops").stdout)
    for one, other in zip(whole["verdicts"], bare["verdicts"], strict=True):
        assert other["outcome"] in (one["outcome"], "unknown")
    assert whole["fates"] == bare["fates"]
    assert not bare["metrics"]["cost"]["observed"]
    assert [row["observed"] for row in bare["metrics"]["lag"]["rows"]][1:3] == [0, 0]


def test_without_bodies_the_text_is_in_no_file_and_verdicts_are_the_same(here: Path) -> None:
    whole = json.loads(fleetbeat("run", "flaky.yaml", "--json").stdout)
    ran = fleetbeat("run", "flaky.yaml", "-o", "out", "--no-bodies", "--json")
    assert json.loads(ran.stdout)["verdicts"] == whole["verdicts"]
    for path in Path("out").iterdir():
        assert b"launch" not in path.read_bytes(), path
    assert b"launch" in Path("flaky.yaml").read_bytes()


def test_two_seeds_part_and_diff_says_where(here: Path) -> None:
    fleetbeat("run", "flaky.yaml", "-o", "one")
    fleetbeat("run", "flaky.yaml", "-o", "two", "--seed", "2")
    said = fleetbeat("diff", "one", "two")
    assert said.returncode == 1
    assert "part at record 1 " in said.stdout
    assert "seed" in said.stdout


def test_convergence_in_the_tables_is_that_of_the_fates(here: Path) -> None:
    from fleetbeat.checks import judge
    from fleetbeat.checks.lag import reached

    fleetbeat("run", "flaky.yaml", "-o", "out")
    records = jsonl.read("out/history.jsonl")
    judgement = judge(records)
    for row in measure(records, judgement).convergence:
        assert row.began is not None
        times = sorted(reached(judgement.fates, row.version, row.began).values())
        assert row.reached == len(times)
        assert row.p50 == times[-(-row.targets // 2) - 1]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_goes_away_is_no_error_and_changes_no_exit_code(here: Path, options: list[str]) -> None:
    verdict = fleetbeat("run", "flaky.yaml").returncode
    line = f"{shlex.join(COMMAND)} run flaky.yaml -o out {' '.join(options)} | true; echo ${{PIPESTATUS[0]}}"
    got = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert got.stdout == f"{verdict}\n"
    assert "Traceback" not in got.stderr
    assert "Broken" not in got.stderr
    assert Path("out/report.json").exists()


def test_head_gets_its_line(here: Path) -> None:
    line = f"{shlex.join(COMMAND)} run flaky.yaml | head -1"
    got = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert got.stdout.startswith("fleetbeat ")
    assert got.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_behind_standard_output_exits_4_with_one_line(here: Path) -> None:
    with open("/dev/full", "w") as full:
        got = subprocess.run(
            [*COMMAND, "run", "flaky.yaml"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert got.returncode == 4
    assert got.stderr == (
        "fleetbeat: standard output: got No space left on device, expected to be able to write there\n"
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_the_middle_leaves_nothing_half_written(here: Path, number: signal.Signals, code: int) -> None:
    process = subprocess.Popen([*COMMAND, "run", "endless.yaml", "-o", "out"], stderr=subprocess.PIPE, text=True)
    while not list(here.glob(".out.partial-*")):
        assert process.poll() is None
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in said
    assert list(here.glob(".*")) == []
    if Path("out").exists():
        assert jsonl.read("out/history.jsonl")[-1]["reason"] == "interrupted"
        assert Path("out/report.json").exists()


def test_without_a_terminal_nothing_is_coloured_and_no_progress_is_shown(here: Path) -> None:
    got = fleetbeat("run", "flaky.yaml")
    assert got.stderr == ""
    assert "\x1b" not in got.stdout


def test_a_disk_that_really_fills_up_exits_4_and_leaves_nothing(here: Path) -> None:
    line = f"ulimit -f 8; {shlex.join(COMMAND)} run flaky.yaml -o out"
    got = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert got.returncode == 4
    assert got.stderr == "fleetbeat: out/history.jsonl: got File too large, expected to be able to write there\n"
    assert sorted(path.name for path in here.iterdir()) == ["endless.yaml", "flaky.yaml"]


CHECK = """
from fleetbeat.checks import Finding, Invariant
INVARIANT = Invariant("my-own", "nothing ever happens")
def check(world):
    world.examined()
    yield Finding("my-own", "violation", "agent", 5, "it happened: \\x1b[2J")
"""


def test_a_check_of_ones_own_is_judged_like_the_built_in_ones(here: Path) -> None:
    Path("mine").mkdir()
    Path("mine/own.py").write_text(CHECK)
    ran = fleetbeat("run", "flaky.yaml", "-o", "out", "--checks", "mine")
    assert ran.returncode == 1
    assert "it happened: \\x1b[2J" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert fleetbeat("check", "out", "--checks", "mine").returncode == 1
    assert "my-own" not in fleetbeat("check", "out").stdout
    Path("mine/own.py").write_text("1/0")
    broken = fleetbeat("check", "out", "--checks", "mine")
    assert broken.returncode == 2
    assert len(broken.stderr.splitlines()) == 1
