"""The fewest of a list with which something still holds: delta debugging (Zeller and Hildebrandt, 2002), in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def minimal(items: Sequence[Item], holds: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    """Items of which none can be left out any more, in their order. `holds(items)` must be true.

    Tries nothing at all, then ever smaller parts to leave out: about n log n questions, n squared at worst.
    """
    kept = tuple(items)
    if not kept or holds(()):
        return ()
    parts = 2
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        smaller = None
        for start in range(0, len(kept), size):
            rest = (*kept[:start], *kept[start + size :])
            if rest and holds(rest):
                smaller = rest
                break
        if smaller is not None:
            kept, parts = smaller, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(kept), parts * 2)
    return kept
