"""Scenarios of the library on real processes: fates, lags and verdicts are those of the simulation that was calibrated."""

from __future__ import annotations

import os

import pytest

from fleetbeat.conform import compare_words
from fleetbeat.conform.bench import Laid, lay
from fleetbeat.engines import ENGINES, des
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load

pytestmark = pytest.mark.slow

#: So seldom a run that is right fails here: CI must be able to rely on it.
ALPHA = 0.001
CRASH = ("duration=12s", "rollouts.0.at=3s", "rollouts.0.timeout=6s")
CANARY = (
    "duration=14s",
    "fleet.agents=60",
    "rollouts.0.at=3s",
    "rollouts.0.waves.0.bake=1s",
    "rollouts.0.waves.1.bake=1s",
    "expect.converge.1.within=11s",
)
FLAKY = (
    "duration=22s",
    "fleet.agents=60",
    "rollouts.0.at=2s",
    "rollouts.1.at=9s",
    "rollouts.0.timeout=3s",
    "rollouts.1.timeout=3s",
    *(f"faults.{number}.to=16s" for number in range(3)),
)


def _laid(name: str, sets: tuple[str, ...], rollouts: int = 1) -> Laid:
    """A real run beside ten simulated ones. Somebody who is not root owns agents and operators."""
    owner = os.getuid()
    places = ["fleet", *(f"rollouts.{number}" for number in range(rollouts))]
    owned = () if owner == 0 else tuple(f"{place}.uid={owner}" for place in places)
    scenario = load(find(name), None, [*sets, *owned])
    return lay(scenario, "process", ENGINES.engine("process"), des.run, simulations=10, alpha=ALPHA)


def _alike(laid: Laid) -> None:
    assert compare_words.differences(laid.comparison) == []
    assert laid.comparison.word == "alike"


def test_a_crash_between_unlink_and_write_loses_the_same_posts() -> None:
    """Its lags are too few to be told apart at this size."""
    laid = _laid("crash-between-unlink-and-write", CRASH)
    assert compare_words.differences(laid.comparison) == []
    (row,) = laid.comparison.fates
    assert (row.certain, row.alike) == (True, 20)
    assert {fate for fate, _, real in row.shares if real} == {"applied", "lost"}


def test_a_canary_rollout_reaches_everybody_in_the_same_time() -> None:
    laid = _laid("canary-rollout", CANARY)
    _alike(laid)
    assert [(row.certain, row.alike) for row in laid.comparison.fates] == [(True, 60)]
    assert [row.word for row in laid.comparison.lags] == ["alike"]


def test_a_flaky_disk_fails_as_many_posts_and_delays_them_as_long() -> None:
    laid = _laid("flaky-disk", FLAKY, 2)
    _alike(laid)
    first, second = laid.comparison.fates
    assert (first.certain, second.certain) == (False, False)
    assert min(first.posts, second.posts) >= 60
    assert [row.word for row in laid.comparison.lags] == ["alike", "alike"]
