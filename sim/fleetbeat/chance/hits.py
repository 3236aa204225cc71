"""Which steps a fault of probability p hits.

Most operations: each is a draw of its own, hit if uniform < p, so a larger p hits the same steps and more.

Looking operations (`stat`, `list`) are made by every beat, so beats that are skipped must not have to draw. Their hits
lie at geometric gaps: episodes come in blocks of 1024, and within a block the number of misses before each hit is
ln(u) / ln(1 - p), rounded down. A gap that leaves the block is cut there; having no memory, the distribution allows
it. So any episode is answered by its own block alone, and a block without a hit costs one draw. Their hits are not
monotone in p.

Gaps are draws of the fault's stream, named by the step with its episode replaced by the block, its nth by the gap's
index, and its operation by `gap:OPERATION:NTH`. An override of the step itself decides over the gaps.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from fleetbeat.chance.arithmetic import ln, ln1p
from fleetbeat.chance.choices import Choices, unit
from fleetbeat.chance.step import Step

LOOKING = ("stat", "list")
BLOCK_BITS = 10
BLOCK = 1 << BLOCK_BITS


def is_hit(p: float, choices: Choices, stream: str, step: Step) -> bool:
    """Whether a fault of probability p, 0 to 1, hits this step. With p 0 never, with p 1 always."""
    _check(p)
    if step.operation not in LOOKING:
        return p > 0.0 and unit(choices.bits(stream, step)) < p
    forced = choices.forced(stream, step)
    if forced is not None:
        return unit(forced) < p
    if p <= 0.0 or p >= 1.0:
        return p >= 1.0
    return bool(_block_hits(p, choices, stream, _first(step)) >> (step.episode & BLOCK - 1) & 1)


def next_hit(p: float, choices: Choices, stream: str, step: Step, limit: int) -> int | None:
    """The first episode above the step's own and up to `limit` in which such a step is hit, or None.

    Agrees with `is_hit` on every episode. For looking operations blocks without hits are passed over in one draw.
    """
    _check(p)
    start = step.episode + 1
    if p <= 0.0 or start > limit:
        return None
    if p >= 1.0:
        return start
    if step.operation not in LOOKING:
        return next((e for e in range(start, limit + 1) if is_hit(p, choices, stream, step._replace(episode=e))), None)
    forced = choices.forced_episodes(stream, step)
    while start <= limit:
        found = _next_gap_hit(p, choices, stream, step, start, limit)
        end = limit if found is None else found
        for episode in forced[bisect_right(forced, start - 1) :]:
            if episode > end:
                break
            if is_hit(p, choices, stream, step._replace(episode=episode)):
                return episode
        if found is None or found not in forced:
            return found
        start = found + 1
    return None


def _next_gap_hit(p: float, choices: Choices, stream: str, step: Step, start: int, limit: int) -> int | None:
    """The first hit by gaps alone in [start, limit]."""
    while start <= limit:
        base = start & -BLOCK
        hits = _block_hits(p, choices, stream, _first(step._replace(episode=base))) >> (start - base)
        if hits:
            found = start + (hits & -hits).bit_length() - 1
            return found if found <= limit else None
        start = base + BLOCK
    return None


def _first(step: Step) -> Step:
    """The name of the first gap in this step's block."""
    return step._replace(episode=step.episode >> BLOCK_BITS, nth=0, operation=f"gap:{step.operation}:{step.nth}")


@lru_cache(maxsize=1 << 14)
def _block_hits(p: float, choices: Choices, stream: str, first: Step) -> int:
    """The hits of a block as a bit set: bit i stands for its i-th episode. Cached, which changes no value."""
    scale = ln1p(-p)
    hits, place, index = 0, 0, 0
    while True:
        gap = ln(unit(choices.bits(stream, first._replace(nth=index)))) / scale
        if gap >= BLOCK - place:
            return hits
        place += int(gap)
        hits |= 1 << place
        place += 1
        index += 1


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"probability: got {p}, expected 0 to 1")
