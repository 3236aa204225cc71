"""How often something happened in some runs and in others: an exact test of counts, item by item.

Each item (a post) came up `ones` times in one set of runs, and the thing (a fate) happened so often in both sets
together. If the sets are alike, which of an item's runs it happened in is a matter of chance: the count within the first
set is hypergeometric, and the sum over items, which are taken as independent of each other, is their convolution.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import comb

import numpy as np


def p_value(items: Iterable[tuple[int, int, int, int]]) -> float:
    """`items`: (times in the first set, its runs, times in the second set, its runs). Two-sided; 1.0 of no items."""
    chance = np.ones(1)
    seen = 0
    for first, first_runs, second, second_runs in items:
        seen += first
        happened, runs = first + second, first_runs + second_runs
        ways = [comb(happened, k) * comb(runs - happened, first_runs - k) for k in range(min(happened, first_runs) + 1)]
        total = sum(ways)
        chance = np.convolve(chance, [way / total for way in ways])
    below, above = float(chance[: seen + 1].sum()), float(chance[seen:].sum())
    return min(1.0, 2 * min(below, above))
