"""The simulation's parameters taken from measurements, on measurements made by hand."""

from __future__ import annotations

from fleetbeat.conform.calibrate import QUANTILES, calibrated, measure, overhead
from fleetbeat.engines.des import run
from fleetbeat.history.records import Record
from fleetbeat.scenario.dump import dump
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Constant, Empirical, Scenario

US = 1_000


def _timing(*ops: tuple[str, int, int, str]) -> Record:
    fields = {"agent": "a-0", "life": 0, "beat": 1, "start": 0, "end": 10**6, "ops": [list(op) for op in ops]}
    return Record(0, "harness", "timing", fields)


def _spans(agent: str, every: int, count: int = 10) -> Record:
    fields = {"agent": agent, "life": 0, "first": 0, "last": count, "last_start": every * count, "end": every * count}
    return Record(0, f"{agent}/beat", "beats", {**fields, "runnable": True, "ops": {}})


def _scenario(*sets: str) -> Scenario:
    text = """
fleet:
  groups:
    - {name: a, count: 4, latency: {write: 9ms, read: 1ms}}
    - {name: b, count: 4, heartbeat: {interval: 2s, mode: fixed-rate}}
  heartbeat: {interval: 1s}
rollouts: [{version: v1, at: 5s, targets: all, body: x}]
duration: 30s
"""
    return load(text, overrides=sets)


def test_latencies_become_what_was_measured() -> None:
    ops = [("write", 0, n * 100 * US, "ok") for n in range(1, 10)]
    found = measure([[_timing(*ops, *[("stat", 0, n * US, "ok") for n in (7, 1, 5, 9, 2)])]])
    assert [(kind.kind, kind.count) for kind in found.kinds] == [("stat", 5), ("write", 9)]
    new = calibrated(_scenario(), found)
    slow = new.fleet.groups[0].latency
    assert slow is not None
    assert slow.write == new.fleet.latency.write  # a group's own latencies are measured as well
    for latency in (new.fleet.latency, slow):
        assert isinstance(latency.write, Empirical)
        assert latency.write.values == tuple(n * 100 * US for n in range(1, 10))
        assert latency.stat == 5 * US
    assert new.fleet.latency.read == _scenario().fleet.latency.read
    assert slow.read == Constant.model_validate({"value": "1ms"})


def test_failed_operations_and_few_ones_say_nothing() -> None:
    ops = [("unlink", 0, 10**9, "EACCES")] * 20 + [("unlink", 0, 20 * US, "ok")] * 4
    assert measure([[_timing(*ops)]]).kinds == ()
    looks = [("stat", 0, 3 * US, "ENOENT")] * 5
    assert measure([[_timing(*looks)]]).kinds[0].median == 3 * US


def test_a_look_at_nothing_counts_and_many_measurements_become_quantiles() -> None:
    (kind,) = measure([[_timing(*(("read", 0, n * US, "ok") for n in range(1, 10_001)))]]).kinds
    assert (kind.count, len(kind.values)) == (10_000, QUANTILES)
    assert abs(kind.median - 5_000 * US) < 100 * US
    assert list(kind.values) == sorted(kind.values)


def test_the_overhead_of_a_beat_is_what_its_period_has_too_much() -> None:
    simulated = [_spans(f"a-{n}", 1_000_000 * US) for n in range(3)]
    real = [_spans("a-0", 1_000_900 * US), _spans("a-1", 1_001_100 * US), _spans("a-2", 1_001_000 * US), _spans("x", 1)]
    assert overhead([real], simulated) == 1_000 * US
    assert overhead([[]], simulated) is None


def test_overhead_goes_into_intervals_of_fixed_delay_alone() -> None:
    found = measure([])
    new = calibrated(_scenario(), type(found)((), 1_500 * US, 0))
    fixed_rate = new.fleet.groups[1].heartbeat
    assert fixed_rate is not None
    assert (new.fleet.heartbeat.interval, fixed_rate.interval) == (1_001_500_000, 2_000_000_000)


def test_a_simulation_by_the_calibrated_scenario_shows_what_was_measured() -> None:
    """A real run of which each unlink took 250 ms and each beat 5 ms too long; what is written loads again."""
    slow = measure([[_timing(*[("unlink", 0, 250_000 * US, "ok")] * 5)]])
    new = calibrated(_scenario(), type(slow)(slow.kinds, 5_000 * US, 1))
    again = load(dump(new))
    assert again == new
    records = run(again)
    unlinked = [record for record in records if record.kind == "op" and record["operation"] == "unlink"]
    read = {r["agent"]: r.t for r in records if r.kind == "op" and r["operation"] == "close" and r["path"] == ".rules"}
    assert {record.t - read[record["agent"]] for record in unlinked} == {250_000 * US}
    assert overhead([records], run(_scenario())) == 5_000 * US // 2  # b beats at a fixed rate


def test_no_measurement_changes_nothing() -> None:
    assert calibrated(_scenario(), measure([run(_scenario())])) == _scenario()
