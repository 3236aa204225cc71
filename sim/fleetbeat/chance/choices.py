"""Choices: a value for every name, the same in every engine, in any order, with or without the others.

A draw is 64 bits of Philox 4x32-10. Its key is a hash of (seed, stream, operation, path), its counter is (hash of the
actor's name, episode, life, nth). Two of a million actors share a hash with a chance of about 3e-8.

A case file overrides choices by name (`Overrides`). Whoever draws many values at once (chunks of jitter) or from
gaps (faults on looking operations) asks `forced` and `forced_episodes`, so that an override decides there too.
Rejected: a stateful generator, and "pick the i-th of n", which both tie a choice to what else exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol

from fleetbeat.chance import philox
from fleetbeat.chance.step import Step

TIE = "tie"


class Choices(Protocol):
    """Where every choice of a run comes from. Caches are keyed by the object itself."""

    def __hash__(self) -> int: ...

    @property
    def seed(self) -> int: ...

    def bits(self, stream: str, step: Step) -> int:
        """64 bits for this choice: a pure function of (seed, stream, step), unless a case overrides it."""
        ...

    def tie(self, step: Step) -> int:
        """Orders what happens at one instant: smaller first."""
        ...

    def hold(self, step: Step) -> Step | None:
        """The step before which this one must not take effect, if a case says so."""
        ...

    def forced(self, stream: str, step: Step) -> int | None:
        """The bits to which a case sets this choice, if it does."""
        ...

    def forced_episodes(self, stream: str, step: Step) -> tuple[int, ...]:
        """Episodes, ascending, at which a case sets this choice (`step` with its episode left out)."""
        ...


def unit(bits: int) -> float:
    """A float in the open interval (0, 1) from the upper 52 of 64 bits: the middle of one of 2**52 equal cells.

    Not 53 bits: (2**53 - 1) + 0.5 rounds to 2**53, which makes the top cell 1.0. With 52 every value is exact, and so
    is 1 - u.
    """
    return ((bits >> 12) + 0.5) * 2.0**-52


def _hash64(person: bytes, *parts: str) -> int:
    """64 bits over the parts, each behind its length, so that ("ab", "c") and ("a", "bc") differ."""
    digest = blake2b(digest_size=8, person=person)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return int.from_bytes(digest.digest(), "little")


@lru_cache(maxsize=1 << 16)
def stream_key(seed: int, stream: str, operation: str, path: str) -> tuple[int, int]:
    """Philox key for a kind of choice: two 32-bit words, low word first."""
    key = _hash64(b"fleetbeat key", str(seed), stream, operation, path)
    return key & philox.MASK, key >> 32


@lru_cache(maxsize=1 << 16)
def _round_keys(seed: int, stream: str, operation: str, path: str) -> philox.RoundKeys:
    return philox.round_keys(*stream_key(seed, stream, operation, path))


@lru_cache(maxsize=1 << 17)
def actor_hash(actor: str) -> int:
    """64 bits that stand for an actor's name in a draw's counter; the same for every seed."""
    return _hash64(b"fleetbeat actor", actor)


@lru_cache(maxsize=1 << 17)
def _actor_words(actor: str) -> tuple[int, int]:
    whole = actor_hash(actor)
    return whole & philox.MASK, whole >> 32


@dataclass(frozen=True, slots=True)
class Overrides:
    """Choices that a case file sets, by name."""

    bits: Mapping[tuple[str, Step], int] = field(default_factory=dict)
    ties: Mapping[Step, int] = field(default_factory=dict)
    holds: Mapping[Step, Step] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, values in (("bits", self.bits), ("ties", self.ties)):
            for name, value in values.items():
                if not 0 <= value < 1 << 64:
                    raise ValueError(f"override of {what} for {name}: got {value}, expected 0 to 2**64 - 1")

    def steps(self) -> tuple[Step, ...]:
        """Every step that is named, sorted, once. An actor that skips idle episodes must not skip these."""
        return tuple(
            sorted({step for _, step in self.bits} | set(self.ties) | set(self.holds) | set(self.holds.values()))
        )


class Beyond(ValueError):
    """A step that no draw can be named by: too many lives, beats, or operations of one kind in one episode."""


class Hashed:
    """The choices of a run with this seed. Only the record of which overrides were asked for is mutable.

    Raises `Beyond` for a step beyond what a counter holds: life and nth 0 to 65535, episode 0 to 2**32 - 1.
    """

    __slots__ = ("_asked", "_bits", "_episodes", "_holds", "_ties", "overrides", "seed")

    def __init__(self, seed: int, overrides: Overrides | None = None) -> None:
        self.seed = seed
        self.overrides = overrides or Overrides()
        self._bits = dict(self.overrides.bits)
        self._ties = dict(self.overrides.ties)
        self._holds = dict(self.overrides.holds)
        self._asked: set[tuple[str, str, Step]] = set()
        self._episodes: dict[tuple[str, Step], tuple[int, ...]] = {}
        for stream, step in sorted(self._bits):
            name = (stream, step._replace(episode=0))
            self._episodes[name] = (*self._episodes.get(name, ()), step.episode)

    def bits(self, stream: str, step: Step) -> int:
        if self._bits and (value := self.forced(stream, step)) is not None:
            return value
        actor, life, episode, operation, path, nth = step
        if (life | nth) >> 16 or episode >> 32:
            raise Beyond(_beyond(step))
        low, high = _actor_words(actor)
        return philox.philox64(low, high, episode, life << 16 | nth, _round_keys(self.seed, stream, operation, path))

    def uniform(self, stream: str, step: Step) -> float:
        """A float in the open interval (0, 1); see `unit`."""
        return unit(self.bits(stream, step))

    def tie(self, step: Step) -> int:
        if self._ties and (value := self._ties.get(step)) is not None:
            self._asked.add(("tie", TIE, step))
            return value
        return self.bits(TIE, step)

    def hold(self, step: Step) -> Step | None:
        if self._holds and (other := self._holds.get(step)) is not None:
            self._asked.add(("hold", "", step))
            return other
        return None

    def forced(self, stream: str, step: Step) -> int | None:
        value = self._bits.get((stream, step))
        if value is not None:
            self._asked.add(("bits", stream, step))
        return value

    def forced_episodes(self, stream: str, step: Step) -> tuple[int, ...]:
        return self._episodes.get((stream, step._replace(episode=0)), ()) if self._episodes else ()

    @property
    def used(self) -> Overrides:
        """The overrides that were asked for so far."""
        return self._part(asked=True)

    @property
    def unused(self) -> Overrides:
        """The overrides that nobody asked for so far: a replay names these as without effect."""
        return self._part(asked=False)

    def _part(self, *, asked: bool) -> Overrides:
        return Overrides(
            {k: v for k, v in self._bits.items() if (("bits", *k) in self._asked) is asked},
            {k: v for k, v in self._ties.items() if (("tie", TIE, k) in self._asked) is asked},
            {k: v for k, v in self._holds.items() if (("hold", "", k) in self._asked) is asked},
        )


def _beyond(step: Step) -> str:
    for name, value, bits in (("life", step.life, 16), ("episode", step.episode, 32), ("nth", step.nth, 16)):
        if not 0 <= value < 1 << bits:
            return f"step {step}: {name}: got {value}, expected 0 to {(1 << bits) - 1}"
    raise AssertionError(step)
