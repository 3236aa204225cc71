"""Waits with normal jitter: the sum of any number of them in O(log k) draws.

Sums of normals are normal, and given the sum S of 2n of them, the sum of the first n is normal with mean S / 2 and
standard deviation sd sqrt(n / 2), independent of S. So the deviations from the mean wait are drawn from the top:
blocks of 2**17 beats have independent totals, and a block is halved again and again on the way to the beat asked for.

Rounding happens in two places, to the nearest integer, ties to even: the block's total sd sqrt(2**17) z, and the
drawn part of a half, (sd sqrt(n / 2)) z, which is added to S / 2 rounded down. Every half's sum is then cut so that
both halves keep at least 1 ns for each wait (a valid scenario has nine sd in the mean wait, so the cut never bites
there). The right half is S minus the left one: all sums are integers and add up exactly.

Names of draws: (block, episode = block) and (split, nth = depth, episode = block * 2**depth + index).
Rejected: a running sum (walks every beat); the same with float sums (depend on the order in which they are added).
"""

from __future__ import annotations

from bisect import bisect_left
from math import sqrt

from fleetbeat.cadence.clock import BLOCK, SPLIT, STREAM
from fleetbeat.chance.arithmetic import normal_quantile
from fleetbeat.chance.choices import Choices, unit
from fleetbeat.chance.step import Step

DEPTH = 17
BEATS = 1 << DEPTH
#: For each depth, waits in a half, and what sd is multiplied by for the half's sum.
HALVES = tuple(BEATS >> depth + 1 for depth in range(DEPTH))
SPREADS = tuple(sqrt(n / 2) for n in HALVES)
BLOCK_SPREAD = sqrt(BEATS)
#: Halves kept at most; a path to one beat has 17.
KEPT = 512


class NormalWaits:
    """Waits with this mean (at least 1 ns) and standard deviation. Halves drawn are kept, a few hundred."""

    __slots__ = (
        "_choices",
        "_found",
        "_found_totals",
        "_kept",
        "_scales",
        "_starts",
        "agent",
        "life",
        "mean_ns",
        "sd_ns",
    )

    def __init__(self, mean_ns: int, sd_ns: float, choices: Choices, agent: str, life: int) -> None:
        if mean_ns < 1:
            raise ValueError(f"heartbeat of {agent}: mean wait: got {mean_ns} ns, expected at least 1")
        self.mean_ns = mean_ns
        self.sd_ns = sd_ns
        self._scales = tuple(sd_ns * s for s in SPREADS)
        self._choices = choices
        self.agent = agent
        self.life = life
        self._starts = [0]  # total deviation at the start of each block known
        self._kept: dict[int, int] = {}
        # the last beat that `find` came to and the one after it are asked for next
        self._found, self._found_totals = -2, (0, 0)

    def total(self, k: int) -> int:
        if k - self._found in (0, 1):
            return self._found_totals[k - self._found]
        node, rest = divmod(k, BEATS)
        total = self._start(node) + k * self.mean_ns
        if not rest:
            return total
        whole = self._start(node + 1) - self._start(node)
        for depth in range(DEPTH):
            half = HALVES[depth]
            left = self._left_of(depth, node, whole)
            if rest & half:
                total += left
                whole -= left
                node += node + 1
                if not rest & half - 1:
                    break
            else:
                whole = left
                node += node
        return total

    def find(self, target_ns: int, per_wait_ns: int) -> int:
        if target_ns <= 0:
            return 0
        each = self.mean_ns + per_wait_ns

        def at_start(block: int) -> int:
            return self._starts[block] + block * BEATS * each

        while at_start(len(self._starts) - 1) < target_ns:
            self._start(len(self._starts))
        node = bisect_left(range(len(self._starts)), target_ns, key=at_start) - 1
        position = node * BEATS
        deviation = self._starts[node]
        whole = self._starts[node + 1] - deviation
        for depth in range(DEPTH):
            half = HALVES[depth]
            left = self._left_of(depth, node, whole)
            if deviation + left + (position + half) * each >= target_ns:
                whole = left
                node += node
            else:
                deviation += left
                whole -= left
                position += half
                node += node + 1
        self._found = position
        total = deviation + position * self.mean_ns
        self._found_totals = (total, total + whole + self.mean_ns)
        return position + 1

    @property
    def seed(self) -> int:
        return self._choices.seed

    def keep_block(self, total: int) -> None:
        """Takes the first block's total deviation, which somebody else drew (`vector.foresee`)."""
        if len(self._starts) == 1:
            self._starts.append(total)

    def keep(self, depth: int, node: int, left: int) -> None:
        """Takes a half that somebody else drew (`vector.foresee`)."""
        if len(self._kept) >= KEPT:
            self._kept.clear()
        self._kept[node * DEPTH + depth] = left

    def _start(self, block: int) -> int:
        """Total deviation of all waits before this block."""
        starts = self._starts
        while len(starts) <= block:
            z = self._normal(Step(self.agent, self.life, len(starts) - 1, BLOCK))
            drawn = round(self.sd_ns * BLOCK_SPREAD * z)
            starts.append(starts[-1] + max(drawn, BEATS * (1 - self.mean_ns)))
        return starts[block]

    def _left_of(self, depth: int, node: int, whole: int) -> int:
        """The deviation of the left half of a node whose waits deviate by `whole` together."""
        kept = self._kept
        key = node * DEPTH + depth
        known = kept.get(key)
        if known is not None:
            return known
        z = self._normal(Step(self.agent, self.life, node, SPLIT, "", depth))
        least = HALVES[depth] * (1 - self.mean_ns)
        left = max(least, min((whole >> 1) + round(self._scales[depth] * z), whole - least))
        self.keep(depth, node, left)
        return left

    def _normal(self, step: Step) -> float:
        return normal_quantile(unit(self._choices.bits(STREAM, step)))
