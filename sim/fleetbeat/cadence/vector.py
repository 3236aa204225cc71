"""Beats of many agents at once: the integers of `make_cadence`, on arrays, without overrides.

`actors` are hashes of agents' names (`chance.vector.actor_hashes`); actors, lives, beats and drifts are broadcast
against each other; all share one heartbeat. Times are int64 ns. Fixed delay with uniform, exponential, lognormal or
empirical jitter has no form here: its sums must be walked in chunks, agent by agent.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fleetbeat.cadence.clock import BLOCK, JITTER, PHASE, SPLIT, STREAM, clock_rate
from fleetbeat.cadence.waits_normal import BEATS, DEPTH, HALVES, SPREADS, NormalWaits
from fleetbeat.chance.arithmetic_array import normal_quantile
from fleetbeat.chance.spread_array import quantile_array
from fleetbeat.chance.vector import actor_hashes, uniform_array

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def phase_array(heartbeat: Any, seed: int, actors: ArrayLike, lives: ArrayLike = 0, ppm: ArrayLike = 0.0) -> Integers:
    """Offsets of the first beats, ns."""
    rate = _rates(ppm)
    names, life, clock = np.broadcast_arrays(np.asarray(actors, dtype=np.uint64), np.asarray(lives), rate)
    if heartbeat.phase == "aligned":
        return np.zeros(names.shape, dtype=np.int64)
    width = _true(heartbeat.interval if heartbeat.phase == "random" else heartbeat.splay, clock)
    drawn = (uniform_array(seed, STREAM, names, life, 0, PHASE) * width).astype(np.int64)
    return np.where(width > 1, np.minimum(drawn, width - 1), 0)


def tick_array(
    heartbeat: Any, seed: int, actors: ArrayLike, lives: ArrayLike, beats: ArrayLike, ppm: ArrayLike = 0.0
) -> Integers:
    """Fixed rate: when each beat is due after its origin, ns."""
    k, rate = _beats(beats), _rates(ppm)
    interval = _true(heartbeat.interval, rate)
    even: Integers = phase_array(heartbeat, seed, actors, lives, ppm) + k * interval
    if heartbeat.jitter.kind == "none":
        return even
    most = interval * 2 // 5
    drawn = quantile_array(heartbeat.jitter, uniform_array(seed, STREAM, actors, lives, k, JITTER), at_least=None)
    return np.maximum(0, even + np.clip(_true(drawn, rate), -most, most))


def elapsed_array(
    heartbeat: Any, seed: int, actors: ArrayLike, lives: ArrayLike, beats: ArrayLike, ppm: ArrayLike = 0.0
) -> Integers:
    """Fixed delay: phase and all waits before each beat, ns. Raises ValueError for other jitter than none, normal."""
    k, rate = _beats(beats), _rates(ppm)
    phase = phase_array(heartbeat, seed, actors, lives, ppm)
    jitter = heartbeat.jitter
    if jitter.kind == "none":
        return phase + k * np.maximum(1, _true(heartbeat.interval, rate))
    if jitter.kind != "normal":
        raise ValueError(f"jitter of a fixed delay on arrays: got {jitter.kind}, expected none or normal")
    mean = _true(heartbeat.interval + jitter.mean, rate)
    if mean.size and int(mean.min()) < 1:
        raise ValueError(f"mean wait: got {int(mean.min())} ns, expected at least 1")
    names, life, k, mean, sd = np.broadcast_arrays(
        np.asarray(actors, dtype=np.uint64), np.asarray(lives), k, mean, jitter.sd / rate
    )
    flat = _deviation(seed, names.reshape(-1), life.reshape(-1), k.reshape(-1), mean.reshape(-1), sd.reshape(-1))
    return phase + k * mean + flat.reshape(k.shape)


def foresee(questions: Iterable[tuple[Any, int, int]]) -> None:
    """Draws in one go what `find(needed, per_wait)` would draw one by one: (waits, needed ns, ns per wait) each.

    Changes no answer. Waits other than `NormalWaits`, and questions beyond the first block, are left alone. Not for
    choices with overrides.
    """
    asked = [q for q in questions if type(q[0]) is NormalWaits]
    if not asked:
        return
    waits = [q[0] for q in asked]
    seed = waits[0].seed
    names, life = actor_hashes(w.agent for w in waits), np.array([w.life for w in waits])
    mean, sd = np.array([w.mean_ns for w in waits]), np.array([w.sd_ns for w in waits])
    needed, per_wait = np.array([q[1] for q in asked]), np.array([q[2] for q in asked])
    z = normal_quantile(uniform_array(seed, STREAM, names, life, 0, BLOCK))
    whole = np.maximum(np.rint(sd * sqrt(BEATS) * z).astype(np.int64), BEATS * (1 - mean))
    for w, drawn in zip(waits, whole.tolist(), strict=True):
        w.keep_block(drawn)
    each, node = mean + per_wait, np.zeros(len(waits), dtype=np.int64)
    deviation, position = node.copy(), node.copy()
    inside = (needed > 0) & (needed <= whole + BEATS * each)
    for depth in range(DEPTH):
        half = HALVES[depth]
        z = normal_quantile(uniform_array(seed, STREAM, names, life, node, SPLIT, "", depth))
        least = half * (1 - mean)
        drawn = np.rint((sd * SPREADS[depth]) * z).astype(np.int64)
        left = np.maximum(least, np.minimum((whole >> 1) + drawn, whole - least))
        for w, at, value, good in zip(waits, node.tolist(), left.tolist(), inside.tolist(), strict=True):
            if good:
                w.keep(depth, at, value)
        right = deviation + left + (position + half) * each < needed
        deviation += np.where(right, left, 0)
        whole = np.where(right, whole - left, left)
        position += np.where(right, half, 0)
        node += node + right


def _deviation(
    seed: int, names: NDArray[np.uint64], life: NDArray[Any], k: Integers, mean: Integers, sd: Floats
) -> Integers:
    """Deviation of the sum of the first k waits from k times the mean; one dimension. See `waits_normal`."""
    node, rest = k // BEATS, k % BEATS
    total = np.zeros(k.shape, dtype=np.int64)
    whole = np.zeros(k.shape, dtype=np.int64)
    for block in range(int(node.max(initial=-1)) + 1):
        lanes = np.nonzero((node > block) | ((node == block) & (rest > 0)))[0]
        z = normal_quantile(uniform_array(seed, STREAM, names[lanes], life[lanes], block, BLOCK))
        drawn = np.rint(sd[lanes] * sqrt(BEATS) * z).astype(np.int64)
        drawn = np.maximum(drawn, BEATS * (1 - mean[lanes]))
        before = node[lanes] > block
        total[lanes[before]] += drawn[before]
        whole[lanes[~before]] = drawn[~before]
    lanes = np.nonzero(rest)[0]
    for depth in range(DEPTH):
        half = HALVES[depth]
        at = node[lanes]
        z = normal_quantile(uniform_array(seed, STREAM, names[lanes], life[lanes], at, SPLIT, "", depth))
        least = half * (1 - mean[lanes])
        drawn = np.rint((sd[lanes] * SPREADS[depth]) * z).astype(np.int64)
        left = np.maximum(least, np.minimum((whole[lanes] >> 1) + drawn, whole[lanes] - least))
        right = (rest[lanes] & half) > 0
        total[lanes] += np.where(right, left, 0)
        whole[lanes] = np.where(right, whole[lanes] - left, left)
        node[lanes] = at + at + right
        lanes = lanes[(rest[lanes] & (2 * half - 1)) != np.where(right, half, 0)]
    return total


def _rates(ppm: ArrayLike) -> Floats:
    drift = np.asarray(ppm, dtype=np.float64)
    for extreme in (drift.min(initial=0.0), drift.max(initial=0.0)):
        clock_rate(float(extreme))
    rates: Floats = 1.0 + drift * 1e-6
    return rates


def _true(measured: ArrayLike, rate: Floats) -> Integers:
    exact = np.asarray(measured, dtype=np.int64)
    return np.where(rate == 1.0, exact, np.rint(exact / rate).astype(np.int64))


def _beats(beats: ArrayLike) -> Integers:
    k = np.asarray(beats, dtype=np.int64)
    if k.size and int(k.min()) < 0:
        raise ValueError(f"beat: got {int(k.min())}, expected at least 0")
    return k
