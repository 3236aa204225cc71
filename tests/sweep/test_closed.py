"""The closed forms against numeric integrals, and the simulation against the closed forms.

Formulas and sources stand above `sweep/closed.py`. Draws are by name, so each of these tests comes out the same every time.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy import stats as scipy_stats

from fleetbeat.checks import judge
from fleetbeat.engines import ENGINES
from fleetbeat.scenario.load import load
from fleetbeat.sweep.advise_measure import deliveries
from fleetbeat.sweep.closed import Closed, closed_of

SECOND = 1_000_000_000
EVEN = """\
name: even
duration: 3m
fleet: {agents: 150, heartbeat: {mode: fixed-rate, interval: 5s}}
rollouts: [{version: v1, at: 12s, targets: all, body: be kind}]
"""
#: What a beat's own work adds to the wait, at most.
WORK_S = 0.001


def lags_s(text: str, seeds: int, *sets: str) -> list[float]:
    found = []
    for seed in range(seeds):
        records = ENGINES.engine("des")(load(text, overrides=[*sets, f"seed={seed}"]))
        for one in deliveries(judge(records)):
            assert one.effective is not None
            found.append((one.effective - one.landed) / SECOND)
    return found


def fits(law: Closed, lags: list[float]) -> float:
    """The p-value of Kolmogorov and Smirnov's test."""
    cdf = np.vectorize(lambda seconds: 1 - law.beyond(seconds * SECOND))
    return float(scipy_stats.kstest(lags, cdf).pvalue)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.51])
def test_quantile_mean_and_tail_are_of_one_law(p: float) -> None:
    law = Closed(2 * SECOND, p, 50)
    for share in (0.01, 0.3, 0.489, 0.5, 0.9, 0.99, 0.999):
        assert law.beyond(law.quantile(share)) == pytest.approx(1 - share, abs=1e-9)
    mean, _ = integrate.quad(law.beyond, 0, 60 * SECOND, limit=500, points=[k * 2.0 * SECOND for k in range(1, 30)])
    assert law.mean() == pytest.approx(mean, rel=1e-5)
    assert law.beyond(-1) == 1
    assert law.quantile(1.0) == (2 * SECOND if p == 0 else float("inf"))


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_the_mean_of_an_ordered_value_is_its_integral(share: float) -> None:
    """For a law that never fails it is k/(n + 1); for one that hardly ever fails it must come to nearly that."""
    count = 40
    rank = max(1, int(np.ceil(round(share * count, 9))))
    assert Closed(SECOND, 0.0, count).ordered(share) == pytest.approx(SECOND * rank / (count + 1))
    assert Closed(SECOND, 1e-9, count).ordered(share) == pytest.approx(SECOND * rank / (count + 1), rel=1e-4)
    law = Closed(SECOND, 0.3, count)
    beta = scipy_stats.beta(rank, count - rank + 1)
    u = (np.arange(400_000) + 0.5) / 400_000
    exact = float(np.mean([law.quantile(one) for one in beta.ppf(u[::40])]))
    assert law.ordered(share) == pytest.approx(exact, rel=2e-3)


def test_without_faults_a_lag_is_uniform_on_the_interval() -> None:
    law = closed_of(load(EVEN))
    assert law == Closed(5 * SECOND, 0.0, 150)
    lags = lags_s(EVEN, 4)
    assert len(lags) == 600
    assert 0 <= min(lags) <= max(lags) <= 5 + WORK_S
    assert fits(law, lags) > 0.01
    assert fits(Closed(round(5.5 * SECOND), 0.0, 150), lags) < 1e-3


def test_failed_reads_are_geometric_retries() -> None:
    """A beat reads twice (the body, and its end), each call fails with 0.3: so a beat with 1 - 0.7^2 = 0.51."""
    faulty = EVEN + "faults: [{operation: read, probability: 30%, error: EIO}]\n"
    law = closed_of(load(faulty))
    assert law is not None
    assert law.failure == pytest.approx(0.51)
    lags = lags_s(faulty, 4)
    assert fits(law, lags) > 0.01
    assert fits(Closed(5 * SECOND, 0.3, 150), lags) < 1e-6
    assert np.mean(lags) == pytest.approx(law.mean() / SECOND, rel=0.1)


def test_jitter_makes_the_mean_lag_longer_by_its_variance() -> None:
    """A post falls into long waits more often than into short ones: E[W^2] / (2 E[W]) of what is left of a wait W in the
    long run (Feller 1971, XI.4). Waits uniform on 1 s ± 0.9 s: (1 + 0.81/3) / 2 = 0.635 s, and not half a second."""
    jitter = "fleet.heartbeat={mode: fixed-delay, interval: 1s, jitter: {kind: uniform, low: -900ms, high: 900ms}}"
    lags = lags_s(EVEN, 4, jitter, "rollouts.0.at=60s", "duration=80s")
    mean, error = float(np.mean(lags)), float(np.std(lags)) / len(lags) ** 0.5
    assert abs(mean - 0.635) < 3 * error
    assert abs(mean - 0.5) > 5 * error


@pytest.mark.parametrize(
    "change",
    [
        "fleet.heartbeat.jitter={kind: normal, sd: 50ms}",
        "fleet.heartbeat.phase=aligned",
        "fleet.heartbeat.stalls={per_hour: 1, length: 1s}",
        "rollouts.0.at=2s",
        "rollouts.0.body=' '",
        "rollouts.0.write=in-place",
        "rollouts.+={version: v2, at: 1m, targets: all, body: more}",
        "faults.+={operation: write, probability: 1%, error: EIO}",
        "faults.+={operation: read, probability: 1%, error: EIO, to: 30s}",
        "fleet.lifecycle.rebuilds=[{every: 1m}]",
        "fleet.hosts=[{name: h, clock_ppm: 100}]",
    ],
)
def test_no_law_is_claimed_where_it_does_not_hold(change: str) -> None:
    assert closed_of(load(EVEN)) is not None
    assert closed_of(load(EVEN, overrides=[change])) is None
