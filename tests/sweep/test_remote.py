"""Workers elsewhere: the same bytes, a killed worker loses nothing, and words for all that can be amiss."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.sweep.cluster import PATIENCE_S, need_dask, scheduler, workers
from tests.sweep.test_one import TEXT
from tests.sweep.test_run import tables

from fleetbeat.cli import main
from fleetbeat.sweep import remote
from fleetbeat.sweep.execute import Batch, ExecuteError, work

TOP = Path(__file__).resolve().parents[2]
VARY = ["--vary", "fleet.heartbeat.interval=1s,4s"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)


def _called(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fleetbeat", "sweep", "s.yaml", *VARY, *arguments]


def _swept(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: Dask's threads and warnings stay out of this one."""
    return subprocess.run(_called(*arguments), capture_output=True, text=True, timeout=5 * PATIENCE_S, check=False)


def _in_the_middle(process: subprocess.Popen[bytes], folder: str, size: int = 60_000) -> None:
    """Waits until the ledger has so many bytes, several batches; fails if the sweep was over first."""
    ledger, until = Path(folder, "ledger.sqlite"), time.monotonic() + PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        if ledger.exists() and ledger.stat().st_size > size:
            return
        time.sleep(0.005)
    pytest.fail(f"the sweep ended with {process.poll()} before anything could be killed")


@pytest.mark.slow
def test_a_killed_worker_loses_nothing_and_every_executor_gives_the_same_bytes(tmp_path: Path) -> None:
    need_dask()
    wanted = ["--seeds", "150", "--keep", "posts", "--rate-of", "lost", "--rate-runs", "200"]
    assert main(["sweep", "s.yaml", *VARY, *wanted, "--jobs", "1", "-o", "inline"]) == 0
    assert _swept(*wanted, "--jobs", "2", "-o", "processes").returncode == 0
    with scheduler(tmp_path) as (_, address), workers(tmp_path, address, 2) as two:
        call = _called(*wanted, "--executor", address, "-o", "dask")
        with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            _in_the_middle(process, "dask")
            two[0].send_signal(signal.SIGKILL)
            assert process.poll() is None
            _, err = process.communicate(timeout=5 * PATIENCE_S)
        assert (process.returncode, err) == (0, b"")
        assert two[1].poll() is None
    log = Path("scheduler.log").read_text()
    assert "Remove worker" in log, log
    assert tables("dask") == tables("inline") == tables("processes")
    assert Path("dask/posts.parquet").read_bytes() == Path("inline/posts.parquet").read_bytes()


@pytest.mark.slow
def test_what_ctrl_c_or_a_scheduler_that_goes_away_stops_goes_on_here_with_none_lost(tmp_path: Path) -> None:
    need_dask()
    wanted = ["--seeds", "150"]
    with scheduler(tmp_path) as (its, address), workers(tmp_path, address, 1):
        call = _called(*wanted, "--executor", address)
        with subprocess.Popen([*call, "-o", "d"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            _in_the_middle(process, "d", 40_000)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=5 * PATIENCE_S)
        assert (process.returncode, err.count(b"\n")) == (130, 1), err
        assert err.endswith(b"what was finished is saved, --resume d goes on\n")
        with subprocess.Popen([*call, "--resume", "d"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            _in_the_middle(process, "d", 80_000)
            its.kill()
            _, err = process.communicate(timeout=5 * PATIENCE_S)
    assert process.returncode == 4
    assert err.decode() == f"--executor: {address}: got no answer in 3 tries, expected a scheduler there\n"
    assert main(["sweep", "s.yaml", *VARY, *wanted, "--jobs", "1", "--resume", "d"]) == 0
    assert main(["sweep", "s.yaml", *VARY, *wanted, "--jobs", "1", "-o", "whole"]) == 0
    assert tables("d") == tables("whole")


@pytest.mark.slow
def test_a_scheduler_without_workers_and_one_with_a_worker_of_another_make_are_told_in_words(tmp_path: Path) -> None:
    need_dask()
    other = tmp_path / "other"
    for part in ("sim/fleetbeat", "agents"):
        shutil.copytree(TOP / part, other / part, ignore=shutil.ignore_patterns("__pycache__"))
    (other / "pyproject.toml").touch()
    with (other / "sim/fleetbeat/sweep/one.py").open("a") as module:
        module.write("# one line more\n")
    with scheduler(tmp_path) as (_, address):
        bare = _swept("--executor", address, "-o", "d")
        assert (bare.returncode, bare.stderr.count("\n")) == (4, 1), bare.stderr
        assert "got a scheduler without workers, expected one at least" in bare.stderr
        with workers(tmp_path, address, 1, other / "sim"):
            told = _swept("--executor", address, "-o", "d")
    assert (told.returncode, told.stderr.count("\n")) == (4, 1), told.stderr
    assert "got fleetbeat 0." in told.stderr
    assert f"expected {remote.made_by(('reference',))} as where the sweep was started" in told.stderr
    assert not Path("d").exists()


def test_an_unreachable_scheduler_is_one_line_and_exit_4() -> None:
    need_dask()
    done = subprocess.run(
        [sys.executable, "-c", _IMPATIENT, "sweep", "s.yaml", "--executor", "dask://127.0.0.1:9", "-o", "d"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    words = "--executor: dask://127.0.0.1:9: got no answer in 2 tries, expected a scheduler there\n"
    assert (done.returncode, done.stdout, done.stderr) == (4, "", words)
    assert not Path("d").exists()


_IMPATIENT = """
import sys
from fleetbeat.cli import main
from fleetbeat.sweep import remote
remote.TRIES_S = (0.3, 0.3)
sys.exit(main())
"""


@pytest.mark.parametrize(
    "address", ["dask://", "dask://host", "dask://host:0", "dask://host:99999", "tcp://host:1", "x"]
)
def test_what_is_no_address_is_told_with_an_example(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "s.yaml", "--executor", address]) == 2
    assert capsys.readouterr().err.endswith("expected dask://HOST:PORT, the address of a scheduler\n")


def test_without_the_extra_it_is_said_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["sweep", "s.yaml", "--executor", "dask://127.0.0.1:8786"]) == 4
    assert capsys.readouterr().err.endswith("expected the extra dask: pip install 'fleetbeat[dask]'\n")


def test_a_worker_that_joins_later_with_another_make_refuses() -> None:
    batch = Batch(0, TEXT, (1,))
    assert remote._checked(remote.made_by(), (), work, batch) == work(batch)
    with pytest.raises(ExecuteError, match=r"a worker: got fleetbeat .*, expected 0\.0 \(0\) as where"):
        remote._checked("0.0 (0)", (), work, batch)


def test_the_make_changes_with_an_agents_program_and_says_which_one_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "agent.yaml").write_text("about: mine\n")
    (folder / "program.py").write_text("PROGRAM = 1\n")
    before = remote.made_by((str(folder),))
    (folder / "program.py").write_text("PROGRAM = 2\n")
    remote.made_by.cache_clear()
    assert remote.made_by((str(folder),)) != before
    with pytest.raises(ExecuteError, match=r"no agent '\./nowhere'"):
        remote.made_by(("./nowhere",))
