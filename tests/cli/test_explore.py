"""`fleetbeat explore` from outside: what it prints where, what it keeps, how it exits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.calls import Said

from fleetbeat.cli import main

Call = Callable[..., Said]
QUICK = ("--rebuilds", "0", "--crashes", "0")


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line in this process, in a directory of its own."""
    monkeypatch.chdir(tmp_path)

    def made(*arguments: str) -> Said:
        capsys.readouterr()
        code = main(list(arguments))
        return Said(code, *capsys.readouterr())

    return made


def test_a_broken_promise_exits_1_with_sentence_diagram_and_case(call: Call) -> None:
    done = call("explore", "lost-update", *QUICK, "-o", "out")
    assert done.code == 1
    assert (
        "a-0 read rules v1; v2 was renamed over it; the agent unlinked v2 unread and applied v1; v2 is lost" in done.out
    )
    assert "rename to .rules" in done.out
    assert done.out.splitlines()[-1].startswith("2 ways to break a promise; complete within these bounds: ")
    (case,) = Path(".fleetbeat/cases").glob("no-silent-loss-*.yaml")
    assert f"replay: fleetbeat replay {case}" in done.out
    assert "no-silent-loss breaks (gap, protocol)" in done.err
    results = json.loads(Path("out/results.json").read_text())
    assert results["complete"]
    assert {one["invariant"] for one in results["broken"]} == {"no-silent-loss", "last-write-wins"}
    assert Path("out/no-silent-loss-gap-protocol.yaml").read_text() == case.read_text()
    assert Path("out/no-silent-loss-gap-protocol.svg").read_text().startswith("<svg")
    assert case.read_text().count("step:") <= 3

    again = call("explore", "lost-update", *QUICK)
    assert again.code == 1
    assert again.err.splitlines()[0].startswith("kept case .fleetbeat/cases/")
    assert "still failing" in again.err.splitlines()[0]
    assert len(list(Path(".fleetbeat/cases").iterdir())) == 2

    replayed = call("replay", str(case))
    assert replayed.code == 1


def test_nothing_broken_exits_0_when_complete_and_3_when_the_budget_ran_out(call: Call) -> None:
    for more, code, said in (
        ((), 0, "nothing broke; complete within these bounds: "),
        (("--max-states", "20"), 3, "nothing broke; budget ran out at 20 states"),
        (("--budget", "1ns"), 3, "nothing broke; budget ran out at "),
        (
            ("--strategy", "pct", "--runs", "3", "--depth", "1"),
            3,
            "nothing broke; budget ran out at 3 of 3 runs of pct",
        ),
    ):
        done = call("explore", "lost-update", *QUICK, "--posts", "1", *more)
        assert (done.code, done.out.splitlines()[-1][: len(said)]) == (code, said)
        assert (
            call("explore", "lost-update", *QUICK, "--posts", "1", *more, "-q").out == done.out.splitlines()[-1] + "\n"
        )
    assert not Path(".fleetbeat").exists()


def test_json_holds_the_bounds_and_the_schedule(call: Call) -> None:
    done = call("explore", "lost-update", *QUICK, "--json", "--invariant", "no-silent-loss")
    data = json.loads(done.out)
    assert data["bounds"] == {
        "agents": 1,
        "posts": 2,
        "beats": 1,
        "rebuilds": 0,
        "faults": 0,
        "crashes": 0,
        "preemptions": None,
        "power": False,
    }
    (broken,) = data["broken"]
    assert {"step": "a-0/beat#0.0:unlink .rules", "outcome": "ok"} in broken["schedule"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--beats", "0"), "beats: got 0, expected at least 1"),
        (("--agents", "1000000"), "agents: got 1,000,000, expected at most"),
        (("--set", "fleet.agents=1000000"), "fleet: got 1,000,000 agents"),
        (("--jobs", "0"), "jobs: got 0"),
        (("--max-states", "0"), "max-states: got 0"),
        (("--strategy", "luck"), "strategy: got 'luck', expected one of exhaustive, pct, random"),
        (("--budget", "soon"), "--budget: got 'soon', expected a time such as 60s"),
        (("--budget", "0s"), "--budget: got '0s'"),
        (("--invariant", "no-such"), "--invariant: got 'no-such', expected one of"),
        (("--agent", "nobody"), "nobody"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_2(arguments: tuple[str, ...], said: str, call: Call) -> None:
    done = call("explore", "lost-update", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
