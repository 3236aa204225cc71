"""Warnings of resonance: each with a scenario that has it and a near one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Heartbeat
from fleetbeat.sweep.advise import Asked, cell_of
from fleetbeat.sweep.advise_measure import Ask
from fleetbeat.sweep.advise_slo import parse_slo
from fleetbeat.sweep.cadence import Wanted, Where, lay, play
from fleetbeat.sweep.cadence_warn import in_step, sd_ns, warnings
from fleetbeat.sweep.execute import Inline

SECOND = 1_000_000_000
SLO = parse_slo("p99 lag < 3s")
TEXT = """\
name: s
duration: 1m
fleet: {agents: 16, heartbeat: {mode: fixed-rate, interval: 2s}}
rollouts: [{version: v1, at: 10s, targets: all, body: be kind}]
"""


def told(tmp_path: Path, *sets: str, shift_ns: int = 0, interval: str = "2s") -> str:
    path = tmp_path / "s.yaml"
    path.write_text(TEXT)
    laid = lay(path, list(sets), Wanted((interval,)), 2)
    played = play(laid, range(len(laid.cells)), laid.seeds, Ask((SLO,), shift_ns), Where(1, Inline), lambda *_: None)
    cells = [cell_of(place, numbers, Asked((SLO,))) for place, numbers in played.items()]
    return "\n".join(warnings(laid, cells, shift_ns))


def heartbeat(text: str) -> Heartbeat:
    return load(f"name: s\nfleet: {{agents: 1, heartbeat: {text}}}\n").fleet.heartbeat


@pytest.mark.parametrize(
    ("text", "period_s", "expected"),
    [
        ("{mode: fixed-rate, interval: 2s}", 60.0, True),
        ("{mode: fixed-rate, interval: 2s}", 61.0, False),
        ("{mode: fixed-rate, interval: 2s}", 60.05, True),
        ("{mode: fixed-rate, interval: 7s}", 60.0, False),
        ("{mode: fixed-rate, interval: 10s}", 2.5, True),
        ("{mode: fixed-rate, interval: 2s, jitter: {kind: uniform, low: -1s, high: 1s}}", 60.0, False),
        ("{mode: fixed-rate, interval: 2s, jitter: {kind: normal, sd: 50ms}}", 60.0, True),
        ("{mode: fixed-delay, interval: 2s}", 60.0, True),
        ("{mode: fixed-delay, interval: 2s, jitter: {kind: normal, sd: 1ms}}", 60.0, True),
        ("{mode: fixed-delay, interval: 2s, jitter: {kind: normal, sd: 50ms}}", 60.0, False),
    ],
)
def test_periods_are_in_step_if_one_is_a_multiple_and_jitter_does_not_blur_it(
    text: str, period_s: float, expected: bool
) -> None:
    """The last two differ in what jitter adds up to over thirty beats: 5 ms, and 270 ms."""
    assert in_step(round(period_s * SECOND), heartbeat(text)) is expected


def test_the_width_of_jitter() -> None:
    assert sd_ns(heartbeat("{interval: 1s, jitter: {kind: uniform, low: -60ms, high: 60ms}}")) == pytest.approx(
        0.12 * SECOND / 12**0.5
    )
    assert sd_ns(heartbeat("{interval: 1s}")) == 0


def test_rebuilds_in_step_with_beats_are_told(tmp_path: Path) -> None:
    assert "rebuilds every 20s meet" in told(tmp_path, "fleet.lifecycle.rebuilds=[{every: 20s}]")
    assert "resonance" not in told(tmp_path, "fleet.lifecycle.rebuilds=[{every: 21s}]")


def test_rollouts_in_step_with_beats_are_told(tmp_path: Path) -> None:
    second = "rollouts.+={{version: v2, at: {at}, targets: all, body: be short}}"
    assert "rollouts 30s apart land at the same point" in told(tmp_path, second.format(at="40s"))
    assert "resonance" not in told(tmp_path, second.format(at="41s"))


def test_targets_posted_in_step_with_aligned_beats_are_told(tmp_path: Path) -> None:
    aligned = "fleet.heartbeat.phase=aligned"
    assert "targets posted 2s apart" in told(tmp_path, aligned, "rollouts.0.spacing=2s")
    assert "targets posted" not in told(tmp_path, "rollouts.0.spacing=2s")


def test_a_herd_that_never_parts_is_told_and_how_long_jitter_takes(tmp_path: Path) -> None:
    aligned = "fleet.heartbeat.phase=aligned"
    assert "100 % of a host's agents still beat within the same 100ms" in told(tmp_path, aligned)
    assert "without jitter they never part" in told(tmp_path, aligned)
    little = ("fleet.heartbeat.mode=fixed-delay", "fleet.heartbeat.jitter={kind: normal, sd: 10ms}")
    assert "only after about 5h33m" in told(tmp_path, aligned, *little)  # (2 s / 20 ms)^2 beats
    fixed = "fleet.heartbeat.jitter={kind: normal, sd: 10ms}"
    assert "does not add up" in told(tmp_path, aligned, fixed)
    assert "herd" not in told(tmp_path)


def test_aligned_beats_that_show_one_point_are_told_unless_rollouts_are_shifted(tmp_path: Path) -> None:
    aligned = "fleet.heartbeat.phase=aligned"
    assert "--shift 2s starts rollouts anywhere" in told(tmp_path, aligned)
    assert "one point" not in told(tmp_path, aligned, shift_ns=2 * SECOND)
    assert "one point" not in told(tmp_path)


def test_a_splay_drawn_anew_at_each_restart_is_told(tmp_path: Path) -> None:
    splay = ("fleet.heartbeat.phase=splay", "fleet.heartbeat.splay=8s")
    crash = "fleet.lifecycle.crashes=[{agents: all, at: 20s, restart: 1s}]"
    text = told(tmp_path, *splay, crash)
    assert "drawn anew at each restart (16 in the median run)" in text
    assert "up to 8s for its first beat, 4s in the mean" in text
    assert "anew" not in told(tmp_path, *splay)
    assert "anew" not in told(tmp_path, crash)
    assert "splay: 1s is shorter than the interval" in told(tmp_path, splay[0], "fleet.heartbeat.splay=1s")
