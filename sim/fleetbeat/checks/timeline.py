"""One agent's share of a history, indexed for the checks: what stood at `.rules`, canonical, prompt, log, beats, lives.

Everything is ordered by `Mark` (place in the history, then time): several records may share an instant, and their order
is causal. What stands at `.rules` is derived from `signal` and post records alone, since an observer never opens that
file. Classes here are filled in one pass by `world` and by `credit`, and only read by checks (rejected: frozen copies
at each step, which cost more than the whole judgement).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import ceil, floor
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeVar

from fleetbeat.history.records import digest

#: The key of a blank text.
BLANK = digest(b"")
SIGNAL_PATH, CANONICAL_PATH = ".rules", "system/rules.md"
#: Ways of writing that the specification does not describe: the name may show a body that is not whole.
NONCONFORMING = frozenset({"in-place", "cross-device", "shared-temp", "hand-down"})


class Mark(NamedTuple):
    """A place in the history: number of the record, and its time in ns."""

    seq: int
    t: int


@dataclass(frozen=True, slots=True)
class Body:
    """`key` tells bodies apart as an agent does: the digest of the compared text, or of the bytes if they do not
    decode.
    """

    digest: str
    key: str
    blank: bool
    valid: bool
    version: str | None


@dataclass(slots=True)
class Post:
    """One attempt to put a version into one agent's directory. `credit` fills `persisted`, `effective` and `torn`."""

    id: str
    version: str
    agent: str
    operator: str
    write: str
    attempt: int
    body: Body
    planned: Mark
    begun: Mark | None = None
    completed: Mark | None = None
    ended: Mark | None = None
    outcome: str = ""
    stands: list[Stand] = field(default_factory=list)
    consumption: Consumption | None = None
    #: consumptions before that one, undone by power failures that brought the signal back
    undone: list[Consumption] = field(default_factory=list)
    persisted: Mark | None = None
    effective: Mark | None = None
    torn: Mark | None = None

    @property
    def key(self) -> str:
        return self.body.key

    @property
    def consumptions(self) -> list[Consumption]:
        """All of them, in order: more than one only where a power failure undid one."""
        return self.undone if self.consumption is None else [*self.undone, self.consumption]

    @property
    def conforming(self) -> bool:
        return self.write not in NONCONFORMING

    def is_complete_at(self, mark: Mark) -> bool:
        return self.completed is not None and self.completed <= mark


@dataclass(slots=True)
class Stand:
    """What stood at `.rules` for a while. `post` None: not put there by a post (start state, outside hand).

    `ending`: "" (still there), consumed, replaced (by a later post or hand), removed (by a cross-device writer, before
    it creates the name again), edited (taken by an outside hand), power. `present` False: its writer took the name away
    and has not created it again. `judged`: regular and readable as far as known, so that it must drain.
    """

    post: Post | None
    since: Mark
    until: Mark | None = None
    ending: str = ""
    by: Post | None = None
    present: bool = True
    judged: bool = True
    damaged: bool = False


@dataclass(slots=True)
class Consumption:
    """The agent took the signal away: unlinked it, or moved it to `moved_to`.

    `stands`: what stood at the name since it was last free, in order; the last one was taken. `canonical`, `effective`:
    keys at that instant. `after`: the next consumption. `beat` covers the instant, where one is recorded. `torn`: where
    its body was applied as a text that nobody posted.
    """

    at: Mark
    stands: tuple[Stand, ...]
    canonical: str | None
    effective: str | None
    moved_to: str | None = None
    claimed: bool = False
    set_aside: bool = False
    beat: Beat | None = None
    after: Mark | None = None
    torn: Mark | None = None

    @property
    def post(self) -> Post | None:
        return self.stands[-1].post

    def others(self, since: int) -> list[Stand]:
        """Earlier stands at `since` or later, which the agent may have read instead; a claim is read where it lies."""
        earlier = () if self.claimed else self.stands[:-1]
        return [stand for stand in earlier if stand.until is not None and stand.until.t >= since]


@dataclass(frozen=True, slots=True)
class Canonical:
    """What canonical holds from `at` on. `by`: agent, edit or power."""

    at: Mark
    event: str
    body: str | None
    key: str | None
    blank: bool
    by: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the flushed prompt holds from `at` on: `key` None where there is no whole section."""

    at: Mark
    state: str
    key: str | None


@dataclass(frozen=True, slots=True)
class Log:
    at: Mark
    event: str
    to: str | None = None  # where the agent says that it put something


@dataclass(frozen=True, slots=True)
class Beat:
    """A beat that was not idle; `t` and `end` in ns."""

    t: int
    end: int
    life: int
    number: int
    runnable: bool
    outcome: str


@dataclass(frozen=True, slots=True)
class Span:
    """A run of idle beats, alike to an observer; `last_start` and `end` are the last one's."""

    t: int
    end: int
    life: int
    count: int
    last_start: int
    runnable: bool


@dataclass(slots=True)
class Rebuild:
    life: int
    number: int
    cause: str
    begin: Mark
    end: Mark | None = None
    outcome: str = ""


@dataclass(slots=True)
class Life:
    number: int
    begin: Mark
    end: Mark | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Fired:
    """A fault that fired on an agent. `actor`: who was struck, as in `a-3/beat`."""

    at: Mark
    fault: str
    actor: str
    operation: str
    path: str
    effect: str


@dataclass(frozen=True, slots=True)
class Edit:
    at: Mark
    path: str
    body: Body | None


@dataclass(frozen=True, slots=True)
class Unseen:
    start: int
    end: int
    missing: str


Dated = TypeVar("Dated", Canonical, Prompt, Log, Fired, Edit, Consumption)
_SEQ = attrgetter("at.seq")
_T = attrgetter("at.t")
_START = attrgetter("t")


@dataclass(slots=True)
class Agent:
    """Everything about one agent, each list in order."""

    name: str
    fields: Mapping[str, Any]
    born: Mark
    disk_limited: bool = False
    posts: list[Post] = field(default_factory=list)
    stands: list[Stand] = field(default_factory=list)
    consumptions: list[Consumption] = field(default_factory=list)
    canonicals: list[Canonical] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    logs: list[Log] = field(default_factory=list)
    beats: list[Beat] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    rebuilds: list[Rebuild] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    faults: list[Fired] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    heartbeat_ends: list[tuple[Mark, int, int, str]] = field(default_factory=list)
    runnables: list[tuple[Mark, bool]] = field(default_factory=list)
    pauses: list[tuple[int, int]] = field(default_factory=list)
    unseen: list[Unseen] = field(default_factory=list)
    #: key -> the first record from which on an agent may hold that text.
    known: dict[str, int] = field(default_factory=dict)
    #: key -> posts that made that text effective; filled by `credit`
    carriers: dict[str, list[Post]] = field(default_factory=dict)
    #: explanation only: (t, operation, key of what was read)
    ops: list[tuple[int, str, str | None]] = field(default_factory=list)

    # --- states ---

    @property
    def set_aside(self) -> Sequence[str]:
        return self.fields.get("set_aside") or ()

    def canonical_at(self, seq: int) -> Canonical:
        """What canonical held just before record `seq`."""
        return self.canonicals[bisect_left(self.canonicals, seq, key=_SEQ) - 1]

    def canonical_after(self, t: int) -> Canonical:
        """What canonical held when all records of instant `t` had happened."""
        return self.canonicals[bisect_right(self.canonicals, t, key=_T) - 1]

    def prompt_at(self, seq: int) -> Prompt:
        return self.prompts[bisect_left(self.prompts, seq, key=_SEQ) - 1]

    def prompt_after(self, t: int) -> Prompt:
        return self.prompts[bisect_right(self.prompts, t, key=_T) - 1]

    def standing(self) -> Stand | None:
        """What stands at the name when the history ends."""
        return self.stands[-1] if self.stands and not self.stands[-1].ending else None

    def name_of(self, key: str | None) -> str:
        """A text in words: the version that carries it, where else it came from, or nothing."""
        if key is None or key == BLANK:
            return "nothing"
        for post in self.posts:
            if post.key == key:
                return post.version
        if key == self.canonicals[0].key:
            return "the text from the start"
        return "an outside edit" if key in self.known else "a text that nobody posted"

    def knows(self, key: str | None, mark: Mark) -> bool:
        """Whether a text was posted here, there at the start, or put there by an edit, before `mark`."""
        return key is not None and self.known.get(key, mark.seq) < mark.seq

    # --- stretches ---

    @staticmethod
    def within(items: list[Dated], after: Mark, until: int, before: Mark | None = None) -> list[Dated]:
        """Items after a mark, not later than `until` ns, and before another mark."""
        found: list[Dated] = []
        for index in range(bisect_right(items, after.seq, key=_SEQ), len(items)):
            item = items[index]
            if item.at.t > until or (before is not None and item.at >= before):
                break
            found.append(item)
        return found

    def beat_at(self, t: int) -> Beat | None:
        """The beat that was at work at `t`; of two that touch there, the earlier."""
        found: Beat | None = None
        for index in range(bisect_right(self.beats, t, key=_START) - 1, -1, -1):
            if self.beats[index].end < t:
                break
            found = self.beats[index]
        return found

    def life_at(self, t: int) -> Life | None:
        return next((life for life in reversed(self.lives) if life.begin.t <= t), None)

    def rebuilds_within(self, start: int, end: int) -> list[Rebuild]:
        """Rebuilds at work at some instant of the stretch, boots among them."""
        return [one for one in self.rebuilds if one.begin.t <= end and (one.end is None or one.end.t >= start)]

    def deaths_within(self, start: int, end: int) -> list[Life]:
        """Lives that ended by a crash or a power failure within the stretch."""
        return [one for one in self.lives if one.end and one.cause in ("crash", "power") and start <= one.end.t <= end]

    def lost_power_at(self, t: int) -> bool:
        return any(life.cause == "power" for life in self.deaths_within(t, t))

    def unseen_within(self, start: int, end: int) -> Unseen | None:
        return next((one for one in self.unseen if one.start <= end and one.end >= start), None)

    def finished_beats(self, after: int, before: int) -> int:
        """Runnable beats that began after one instant and were over by another, exactly where spans are cut at both."""
        count = 0
        for beat in self.beats[bisect_right(self.beats, after, key=_START) :]:
            count += beat.runnable and beat.outcome == "done" and beat.end <= before
        for span in self.spans:
            if span.runnable:
                count += _part(span, after, before)
        return count

    def sets_aside(self, place: str) -> bool:
        return any(fnmatchcase(place, glob) for glob in self.set_aside)

    def writes_within(self, start: int, end: int) -> bool:
        """Whether the agent itself changed canonical in a stretch."""
        for index in range(bisect_left(self.canonicals, start, key=_T), len(self.canonicals)):
            state = self.canonicals[index]
            if state.at.t > end:
                return False
            if state.by == "agent":
                return True
        return False

    def ops_within(self, start: int, end: int) -> Iterator[tuple[int, str, str | None]]:
        """Operations on the signal in a stretch, in order."""
        for index in range(bisect_left(self.ops, start, key=itemgetter(0)), len(self.ops)):
            if self.ops[index][0] > end:
                return
            yield self.ops[index]

    def declares(self, place: str) -> bool:
        return any(fnmatchcase(place, glob) for glob in self.fields.get("declares") or ())


def _part(span: Span, after: int, before: int) -> int:
    """Beats of a span within a stretch: all, none, or as many as an even cadence makes certain (never too many by
    much).
    """
    if span.t > after and span.end <= before:
        return span.count
    if span.last_start <= after or span.end - (span.last_start - span.t) > before:
        return 0
    every = (span.last_start - span.t) / max(1, span.count - 1)
    late = 0 if span.t > after else floor((after - span.t) / every) + 1
    early = 0 if span.end <= before else ceil((span.end - before) / every)
    within = span.count - late - early
    return max(int(span.end <= before), within - (late > 0) - (early > 0))
