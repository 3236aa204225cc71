"""Philox 4x32-10 on Python integers: a block cipher used as a hash of a counter.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The NumPy twin is
`philox_array`; both are tested against the known answers published with Random123.

Written out round by round: a loop costs half as much again. Round keys are computed apart, since callers cache them.
Rejected: blake2b for every draw (no vector form), a NumPy generator per agent (state, and microseconds to make).
"""

from __future__ import annotations

MULTIPLIER_0 = 0xD2511F53
MULTIPLIER_1 = 0xCD9E8D57
WEYL_0 = 0x9E3779B9
WEYL_1 = 0xBB67AE85
ROUNDS = 10
MASK = 0xFFFFFFFF

#: Ten pairs of 32-bit round keys, flat.
RoundKeys = tuple[int, ...]


def round_keys(key0: int, key1: int) -> RoundKeys:
    """The round keys for a key of two 32-bit words, flat: (k0, k1) of round 0, of round 1, ..."""
    flat: list[int] = []
    for _ in range(ROUNDS):
        flat += (key0, key1)
        key0 = (key0 + WEYL_0) & MASK
        key1 = (key1 + WEYL_1) & MASK
    return tuple(flat)


def philox4x32(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """All four 32-bit output words for a counter of four and a key of two 32-bit words. The plain form, for reading."""
    c0, c1, c2, c3 = counter
    keys = round_keys(*key)
    for r in range(ROUNDS):
        low = MULTIPLIER_0 * c0
        high = MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (
            high >> 32 ^ c1 ^ keys[2 * r],
            high & MASK,
            low >> 32 ^ c3 ^ keys[2 * r + 1],
            low & MASK,
        )
    return c0, c1, c2, c3


def philox64(c0: int, c1: int, c2: int, c3: int, keys: RoundKeys) -> int:
    """The first two output words as 64 bits: word 0 is the low half. What the last rounds do not need is left out."""
    a0, b0, a1, b1, a2, b2, a3, b3, a4, b4, a5, b5, a6, b6, a7, b7, _, b8, a9, _ = keys
    p = 0xD2511F53 * c0
    q = 0xCD9E8D57 * c2
    c0 = q >> 32 ^ c1 ^ a0
    c2 = p >> 32 ^ c3 ^ b0
    r = 0xD2511F53 * c0
    s = 0xCD9E8D57 * c2
    c0 = s >> 32 ^ q & 0xFFFFFFFF ^ a1
    c2 = r >> 32 ^ p & 0xFFFFFFFF ^ b1
    p = 0xD2511F53 * c0
    q = 0xCD9E8D57 * c2
    c0 = q >> 32 ^ s & 0xFFFFFFFF ^ a2
    c2 = p >> 32 ^ r & 0xFFFFFFFF ^ b2
    r = 0xD2511F53 * c0
    s = 0xCD9E8D57 * c2
    c0 = s >> 32 ^ q & 0xFFFFFFFF ^ a3
    c2 = r >> 32 ^ p & 0xFFFFFFFF ^ b3
    p = 0xD2511F53 * c0
    q = 0xCD9E8D57 * c2
    c0 = q >> 32 ^ s & 0xFFFFFFFF ^ a4
    c2 = p >> 32 ^ r & 0xFFFFFFFF ^ b4
    r = 0xD2511F53 * c0
    s = 0xCD9E8D57 * c2
    c0 = s >> 32 ^ q & 0xFFFFFFFF ^ a5
    c2 = r >> 32 ^ p & 0xFFFFFFFF ^ b5
    p = 0xD2511F53 * c0
    q = 0xCD9E8D57 * c2
    c0 = q >> 32 ^ s & 0xFFFFFFFF ^ a6
    c2 = p >> 32 ^ r & 0xFFFFFFFF ^ b6
    r = 0xD2511F53 * c0
    s = 0xCD9E8D57 * c2
    c0 = s >> 32 ^ q & 0xFFFFFFFF ^ a7
    c2 = r >> 32 ^ p & 0xFFFFFFFF ^ b7
    p = 0xD2511F53 * c0
    q = 0xCD9E8D57 * c2
    c2 = p >> 32 ^ r & 0xFFFFFFFF ^ b8
    s = 0xCD9E8D57 * c2
    return s >> 32 ^ q & 0xFFFFFFFF ^ a9 | (s & 0xFFFFFFFF) << 32
