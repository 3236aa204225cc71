"""What a real beat costs: the slope on made-up runs, and once for real."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fleetbeat.cli import main
from fleetbeat.history.records import Record
from fleetbeat.scenario.model import Scenario
from fleetbeat.sweep.cadence_cost import AGENTS, CostError, bench, count, measured

SECOND = 1_000_000_000


def beats(number: int) -> list[Record]:
    return [Record(0, "a/beat", "beats", {"first": 0, "last": number - 2}), Record(1, "a/beat", "beat", {})]


def spending(start_s: float, beat_s: float) -> tuple[Callable[[Scenario], Sequence[Record]], Callable[[], float]]:
    """A machine on which starting and a beat take so much processor time."""
    spent = 0.0

    def play(scenario: Scenario) -> Sequence[Record]:
        nonlocal spent
        number = AGENTS * scenario.duration // scenario.fleet.heartbeat.interval
        spent += start_s + beat_s * number
        return beats(number)

    return play, lambda: spent


@pytest.mark.parametrize("start_s", [0.0, 2.0])
def test_what_starting_takes_falls_out(start_s: float) -> None:
    play, cpu_s = spending(start_s, 150e-6)
    found = measured("reference", play, cpu_s)
    assert found.cpu_s == pytest.approx(150e-6)
    assert found.beats == AGENTS * (300 - 6)
    assert [count(records) for records in found.histories] == [AGENTS * 6, AGENTS * 300]


def test_more_beats_that_cost_no_more_tell_nothing() -> None:
    play, _ = spending(1.0, 1e-6)
    with pytest.raises(CostError, match=r"got 0 s .* expected more for more"):
        measured("reference", play, lambda: 5.0)


def test_both_runs_are_the_same_but_for_the_interval() -> None:
    slow, fast = bench("claim", SECOND), bench("claim", 20_000_000)
    assert slow.fleet.agent == "claim"
    assert slow.model_copy(update={"fleet": fast.fleet}) == fast
    assert fast.fleet.heartbeat.interval == 20_000_000
    assert fast.rollouts


@pytest.mark.slow
def test_real_beats_of_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The objective asks for them. No time is asserted but that a beat takes some, and less than ten milliseconds."""
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: s\nduration: 20s\nfleet: {agents: 4}\nrollouts: [{version: v1, at: 5s, targets: all, body: be kind}]\n"
    )
    words = ["--slo", "p50 lag < 2s", "--max-cost", "cpu < 100%", "--interval", "1s", "--seeds", "8", "--jobs", "1"]
    assert main(["cadence", str(path), *words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert any(line.startswith("one beat: ") for line in document["calibration"])
    assert any(line.startswith("unlink: median ") for line in document["calibration"])
    cpu = document["cells"][0]["costs"]["cpu"]["value"]
    beats_s = document["cells"][0]["costs"]["beats/s"]["value"]
    assert 0 < cpu / beats_s < 0.01
