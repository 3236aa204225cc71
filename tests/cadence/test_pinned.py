"""Draws and sums that must never change: a change here changes every pinned history, and every seed in every report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cadence import pinned

SCRIPT = Path(pinned.__file__)
PINNED = {
    "a-3 bits": 18_026_478_995_429_688_540,
    "a-3 tie": 10_674_970_104_478_000_554,
    "a-3 lognormal": 20_067_429_330,
    "a-3 exponential": 3_781_757_510,
    "a-3 hit": 475,
    "a-3 arrival": 18_485_608_747_323,
    "a-3 normal 0": 995_374_387,
    "a-3 normal 1": 2_018_964_008,
    "a-3 normal 599": 596_189_398_787,
    "a-3 normal 1024": 1_018_097_791_913,
    "a-3 normal 65537": 65_544_835_024_508,
    "a-3 normal 86400": 86_409_873_516_632,
    "a-3 normal 131072": 131_061_822_006_950,
    "a-3 normal 1000003": 999_819_307_082_731,
    "a-3 uniform 0": 995_386_830,
    "a-3 uniform 1": 1_904_051_097,
    "a-3 uniform 599": 613_780_001_386,
    "a-3 uniform 1024": 1_052_676_502_784,
    "a-3 rate 0": 815_054_081,
    "a-3 rate 1": 1_913_705_761,
    "a-3 rate 599": 599_858_790_186,
    "a-3 rate 1024": 1_025_043_192_927,
    "a-3 reach": 43_148,
    "größe-7 bits": 9_395_328_355_486_086_702,
    "größe-7 tie": 13_181_206_022_244_050_968,
    "größe-7 lognormal": 1_035_674_092,
    "größe-7 exponential": 711_966_704,
    "größe-7 hit": 321,
    "größe-7 arrival": 25_822_830_173_340,
    "größe-7 normal 0": 711_168_632,
    "größe-7 normal 1": 1_919_141_822,
    "größe-7 normal 599": 603_039_863_250,
    "größe-7 normal 1024": 1_027_402_533_517,
    "größe-7 normal 65537": 65_563_380_347_031,
    "größe-7 normal 86400": 86_417_855_409_131,
    "größe-7 normal 131072": 131_024_177_206_256,
    "größe-7 normal 1000003": 999_900_038_063_975,
    "größe-7 uniform 0": 711_177_521,
    "größe-7 uniform 1": 1_814_426_009,
    "größe-7 uniform 599": 612_967_464_132,
    "größe-7 uniform 1024": 1_048_765_008_171,
    "größe-7 rate 0": 809_349_330,
    "größe-7 rate 1": 1_844_967_504,
    "größe-7 rate 599": 599_694_420_618,
    "größe-7 rate 1024": 1_024_669_138_842,
    "größe-7 reach": 43_124,
    "ln 0": -31_109_764_100_390_528,
    "exp 0": 4_508_105_479_548_468,
    "normal_quantile 0": -13_917_169_062_545_632,
    "ln 1": -5_422_211_472_926_497,
    "exp 1": 6_079_223_622_802_070,
    "normal_quantile 1": -2_361_689_953_624_829,
    "ln 2": -1_606_321_144_614_868,
    "exp 2": 9_069_135_942_980_366,
    "normal_quantile 2": 2_361_689_953_624_829,
    "ln 3": -45_036_221_454,
    "exp 3": 12_241_930_609_817_952,
    "normal_quantile 3": 19_207_360_590_291_264,
}


def fresh(*arguments: str, hash_seed: int = 0, flags: tuple[str, ...] = ()) -> str:
    env = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": source_root()}
    command = [sys.executable, *flags, *arguments]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def source_root() -> str:
    import fleetbeat

    return str(Path(fleetbeat.__path__[0]).parent)


def test_the_table_is_the_pinned_one():
    assert pinned.table() == PINNED


@pytest.mark.parametrize(("hash_seed", "order"), [(0, []), (1, ["backwards"]), (12345, ["backwards", "noise"])])
def test_the_table_is_the_same_in_fresh_processes_in_any_order_and_beside_other_agents(hash_seed, order):
    assert json.loads(fresh(str(SCRIPT), *order, hash_seed=hash_seed)) == PINNED


def test_array_forms_give_the_pinned_values_too():
    rows = pinned.arrays()
    assert len(rows) > 30
    assert rows == {name: PINNED[name] for name in rows}


LIGHT = """
import sys
import fleetbeat.cadence, fleetbeat.chance.arrivals, fleetbeat.chance.hits, fleetbeat.chance.spread
from fleetbeat.chance.choices import Hashed
from types import SimpleNamespace as N
normal = N(kind="normal", mean=0, sd=10**8)
beat = N(mode="fixed-delay", interval=10**9, jitter=normal, phase="random", splay=0)
fleetbeat.cadence.make_cadence(beat, Hashed(1), "a-3", 0).reach(10**14)
print(sorted({"numpy", "pydantic", "scipy", "random", "fleetbeat.scenario"} & set(sys.modules)))
"""


def test_single_draws_and_sums_need_the_standard_library_alone():
    assert fresh("-c", LIGHT, flags=("-S",)).strip() == "[]"
