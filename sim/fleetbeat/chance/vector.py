"""The draws of `choices` for many names at once: the same bits, on NumPy arrays. It knows no overrides.

Lanes are worked through in slices that stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fleetbeat.chance import philox
from fleetbeat.chance.choices import actor_hash, stream_key
from fleetbeat.chance.step import Step

Words = NDArray[np.uint64]
SLICE = 1 << 14
_MASK = np.uint64(philox.MASK)
_32 = np.uint64(32)
_16 = np.uint64(16)


def actor_hashes(actors: Iterable[str]) -> Words:
    """The names' hashes, as draws take them."""
    return np.fromiter((actor_hash(actor) for actor in actors), dtype=np.uint64)


def bits_array(
    seed: int,
    stream: str,
    actors: ArrayLike,
    life: ArrayLike = 0,
    episode: ArrayLike = 0,
    operation: str = "",
    path: str = "",
    nth: ArrayLike = 0,
) -> Words:
    """64 bits for each name; `actors` are hashes. Arrays are broadcast against each other.

    Raises ValueError for a life or nth beyond 65535 or an episode beyond 2**32 - 1, as the scalar draw does.
    """
    counters = [_words("actor", actors, 64), _words("episode", episode, 32)]
    counters.append(_words("life", life, 16) << _16 | _words("nth", nth, 16))
    names, episodes, rest = np.broadcast_arrays(*counters)
    result = np.empty(names.shape, dtype=np.uint64)
    keys = [np.uint64(k) for k in philox.round_keys(*stream_key(seed, stream, operation, path))]
    flat = result.reshape(-1)
    sources = [np.ravel(a) for a in (names, episodes, rest)]
    for start in range(0, flat.size, SLICE):
        who, when, tail = (a[start : start + SLICE] for a in sources)
        w0, w1 = philox_words(who & _MASK, who >> _32, when.copy(), tail.copy(), keys)[:2]
        w1 <<= _32
        w1 |= w0
        flat[start : start + SLICE] = w1
    return result


def bits_of_steps(seed: int, stream: str, steps: Sequence[Step]) -> Words:
    """64 bits for each step: its kind of operation and path may differ from lane to lane.

    Raises ValueError for a life or nth beyond 65535 or an episode beyond 2**32 - 1, as the scalar draw does.
    """
    named = [stream_key(seed, stream, step.operation, step.path) for step in steps]
    key0, key1 = np.array(named, np.uint64).reshape(-1, 2).T.copy()
    keys: list[Words] = []
    for _ in range(philox.ROUNDS):
        keys += (key0, key1)
        key0, key1 = (key0 + np.uint64(philox.WEYL_0)) & _MASK, (key1 + np.uint64(philox.WEYL_1)) & _MASK
    who = actor_hashes(step.actor for step in steps)
    life, episode, nth = np.array([(step.life, step.episode, step.nth) for step in steps], np.int64).reshape(-1, 3).T
    tail = _words("life", life, 16) << _16 | _words("nth", nth, 16)
    w0, w1 = philox_words(who & _MASK, who >> _32, _words("episode", episode, 32), tail, keys)[:2]
    return w1 << _32 | w0


def uniform_array(
    seed: int,
    stream: str,
    actors: ArrayLike,
    life: ArrayLike = 0,
    episode: ArrayLike = 0,
    operation: str = "",
    path: str = "",
    nth: ArrayLike = 0,
) -> NDArray[np.float64]:
    """Floats in the open interval (0, 1), one for each name."""
    return unit_array(bits_array(seed, stream, actors, life, episode, operation, path, nth))


def unit_array(bits: Words) -> NDArray[np.float64]:
    """`choices.unit`, elementwise."""
    result = (bits >> np.uint64(12)).astype(np.float64)
    result += 0.5
    result *= 2.0**-52
    return result


def philox_words(
    c0: Words, c1: Words, c2: Words, c3: Words, keys: Sequence[np.uint64 | Words]
) -> tuple[Words, Words, Words, Words]:
    """Ten rounds over lanes of 32-bit words held in uint64 arrays, which are overwritten. All four output words."""
    p, q = np.empty_like(c0), np.empty_like(c0)
    m0, m1 = np.uint64(philox.MULTIPLIER_0), np.uint64(philox.MULTIPLIER_1)
    for r in range(philox.ROUNDS):
        np.multiply(c0, m0, out=p)
        np.multiply(c2, m1, out=q)
        np.right_shift(q, _32, out=c0)
        c0 ^= c1
        c0 ^= keys[2 * r]
        np.bitwise_and(q, _MASK, out=c1)
        np.right_shift(p, _32, out=c2)
        c2 ^= c3
        c2 ^= keys[2 * r + 1]
        np.bitwise_and(p, _MASK, out=c3)
    return c0, c1, c2, c3


def _words(name: str, values: ArrayLike, bits: int) -> Words:
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name}: got {array.dtype}, expected integers")
    if array.dtype == np.uint64 and bits == 64:
        return array
    if array.size:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= 1 << bits:
            raise ValueError(f"{name}: got {low if low < 0 else high}, expected 0 to {(1 << bits) - 1}")
    return array.astype(np.uint64)
