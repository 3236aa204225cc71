"""What really happened to each post, told from operation records: the slow oracle that the checks are held against.

`Truth(records, agent)` is exact. Where something else, read or unlinked in the same beat, would have left the very same
outside records, nobody but an operation record can tell: `others` plays the history again with each such thing in its
place, and `admissible` gathers the fates. A post has more than one there only where

- the signal changed hands, or was being written, between the beginning of a beat and its unlink (two writers on one name,
  a body read in parts, equal bodies, a blank read), and what that beat did fits either;
- two writers were still writing into one file at the name when the run ended;
- a power failure put something at the name that no operation record has seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice, product

from tests.engines.truth_replay import BLANK, Replay
from tests.engines.truth_told import END, RESTORED, Assumed, Inode, Read, Take, Told
from tests.engines.wild_worlds import random_world as random_world

from fleetbeat.history.records import Record

#: Replays of one history at most, beyond which ambiguous beats are varied one at a time.
MOST = 64


class Truth(Replay):
    def __init__(self, records: Sequence[Record], agent: str, assumed: Assumed | None = None) -> None:
        super().__init__(records, agent, assumed)
        self._close()

    # --- fates ---

    def _close(self) -> None:
        """Who stands at the name at the end, and who else may, as both were writing there."""
        inode = self.names.get(".rules")
        names = [post for post, (node, _) in self._writers() if node is inode]
        self.last = list(dict.fromkeys(name for name in (self.standing, self.seen, *names) if name is not None))
        if END in self.assumed and self.standing is not None:
            self.posts[self.standing].gone = "replaced"
            self.standing = self.assumed[END][1]
            self.posts[str(self.standing)].gone = ""

    def fate(self, name: str) -> str:
        """The first of PROTOCOL's list that fits; those that the reference agent never comes to are left out."""
        post = self.posts[name]
        mine = [take for take in self.takes if take.unlinked == name]  # more than one where a power failure undid one
        if post.begun is None:
            return "unposted"
        if any(name in take.read.of and self._tore(take) for take in self.takes):
            return "torn"
        if post.effective is not None:
            return "applied"
        if any(one.canonical == post.norm == one.prompt and not one.states and not one.flushed for one in mine):
            return "unchanged"
        if mine and post.blank:
            return "empty"
        if any(one.failed for one in mine):
            return "failed"
        if post.persisted is not None:
            return "persisted"
        if post.gone == "replaced":
            return "superseded"
        if post.gone == "" and self.present:
            return "stuck" if self._beats_since(post.landed_t) >= 2 else "pending"
        if post.gone == "" and post.ended is None:
            return "pending"
        if any(
            other is not post and other.norm == post.norm and self._after(other, post) for other in self.posts.values()
        ):
            return "superseded"
        last = self.takes[-1] if self.takes else None
        if last is not None and last in mine and last.cut and last.beat is not None and last.beat["end"] == self.end:
            return "indeterminate"
        return "lost"

    def _after(self, other: Told, post: Told) -> bool:
        return other.effective is not None and other.effective > (post.begun or 0)

    def _tore(self, take: Take) -> bool:
        """Whether what a beat read was a text that nobody posted, and came to be persisted or effective."""
        text = take.read.norm
        if text in self.known or text == "?":
            return False
        return (take.whole and not take.cut and take.states[-1] == text) or any(
            place > take.place and shown == text for place, shown in self.prompts
        )

    # --- verdicts ---

    def broken(self) -> dict[str, bool]:
        """Invariant -> whether it was broken on this agent, for those on which operation records have a say."""
        return {
            "whole-body": self.mixed > 0 or any(self._tore(take) for take in self.takes),
            "no-silent-loss": any(self.fate(name) == "lost" for name in self.posts),
            "last-write-wins": self._is_overruled(),
            "consume-before-apply": self.unconsumed > 0,
            "one-log-each": self.unowed + self.silent > 0,
            "beats-go-on": self.deaths > 0,
            "drains": self.left >= 2,
        }

    def _is_overruled(self) -> bool:
        """Whether another text than that of the last post that counts is effective, with nothing in the way since."""
        last = (
            max((post.complete, name) for name, post in self.posts.items() if self._counts(name))
            if any(map(self._counts, self.posts))
            else None
        )
        if last is None or any(place > last[0] for place in self.disturbed):
            return False
        return (self.prompts[-1][1] if self.prompts else None) != self.posts[last[1]].norm

    def _counts(self, name: str) -> bool:
        """Whether a post was to prevail: whole, not blank, not failed; neither on its way at the end nor given way to
        such a one."""
        post, fate = self.posts[name], self.fate(name)
        if post.complete is None or post.blank or post.norm.startswith("raw:") or fate == "failed":
            return False
        return not self._is_under_way(name) and not (fate == "superseded" and post.by and self._is_yielding(post.by))

    def _is_yielding(self, name: str) -> bool:
        post = self.posts[name]
        if self._is_under_way(name):
            return True
        return bool(
            self.fate(name) == "superseded"
            and post.by
            and post.begun
            and self.posts[post.by].begun
            and self.posts[post.by].begun > post.begun
            and self._is_yielding(post.by)
        )

    def _is_under_way(self, name: str) -> bool:
        fate = self.fate(name)
        in_hand = fate == "persisted" and any(
            name in (take.unlinked, *take.read.of)
            and take.cut
            and take.beat is not None
            and take.beat["end"] == self.end
            for take in self.takes
        )
        return fate in ("pending", "indeterminate") or in_hand

    def _beats_since(self, t: int) -> int:
        beats = [r for r in self.records if r.kind == "beat" and r.t > t and r["runnable"] and r["outcome"] == "done"]
        spans = [r for r in self.records if r.kind == "beats" and r.t > t and r["runnable"]]
        return len(beats) + sum(r["last"] - r["first"] + 1 for r in spans)

    # --- what else may have been ---

    def _readable(self, inode: Inode) -> Iterator[Read]:
        """What else may have been read, for all that an outside observer knows: from the beat's beginning to the unlink."""
        since = 0 if self.beat is None else self.beat.t
        stood = [name for (_, _, name), after in zip(self.stood, [*self.stood[1:], None], strict=True)
                 if name is not None and (after is None or after[1] >= since)]  # fmt: skip
        mixed = {name for _, name in inode.pieces if name is not None}
        posts = [self.posts[name] for name in dict.fromkeys([*stood, *sorted(mixed)])]
        if inode.damaged:
            posts = [post for post in self.posts.values() if post.begun is not None]
        unsettled = []
        for post in posts:
            if post.complete is not None:
                yield Read(post.norm, (post.name,))
            late = post.complete is None or self.records[post.complete].t >= since
            if inode.damaged or (late and post.complete != (post.begun or 0) + 1):
                unsettled.append(post.name)
        if unsettled:
            yield Read(BLANK, ())
            names = [post.name for post in posts]
            for some in chain.from_iterable(combinations(names, n) for n in range(1, len(names) + 1)):
                if set(some) & set(unsettled):
                    yield Read("?", some)

    def _options(self, take: Take) -> list[tuple[Read, str | None]]:
        """What may have been read and unlinked, as far as the outside records tell; the truth first."""
        reads = [take.read]
        for read in take.others:
            final = take.states[-1] if take.states else None
            torn = final is not None and final not in self.known
            read = Read(final, read.of) if read.norm == "?" and torn else read
            if self._explains(take, read, final, torn):
                reads.append(read)
        return list(dict.fromkeys(product(reads, take.owners or [None])))

    def _explains(self, take: Take, read: Read, final: str | None, torn: bool) -> bool:
        interrupted = take.cut or take.failed or take.struck
        if not take.states:
            return interrupted or read.norm in (BLANK, take.canonical)
        if read.norm == take.canonical and not take.struck:
            return False
        if torn:
            return read.norm == final or (interrupted and read.norm != BLANK)
        return read.norm != BLANK if final == BLANK else read.norm == final

    def others(self) -> Iterator[Truth]:
        """The same history with something else read or unlinked wherever nobody outside could tell the difference."""
        options: dict[int, list[tuple[Read, str | None]]] = {
            n: self._options(take) for n, take in enumerate(self.takes)
        }
        options[END] = [(Read("?", ()), name) for name in self.last]
        for n, some in enumerate(self.restored, 1):
            options[RESTORED - n] = [(Read("?", ()), name) for name in some]
        open_ones = {n: some for n, some in options.items() if len(some) > 1}
        worlds = [dict(zip(open_ones, one, strict=True)) for one in islice(product(*open_ones.values()), MOST + 1)]
        if len(worlds) > MOST:
            worlds = [{n: one} for n, some in open_ones.items() for one in some]
        for assumed in worlds if open_ones else ():
            yield Truth(self.history, self.agent, assumed)

    def possible(self) -> dict[str, set[bool]]:
        """As `broken`, for everything that fits what was seen from outside."""
        worlds = [self.broken(), *(other.broken() for other in self.others())]
        return {name: {world[name] for world in worlds} for name in worlds[0]}

    def admissible(self) -> dict[str, set[str]]:
        """For each post the fates that fit what was seen from outside; one alone unless operation records decide."""
        found = {name: {self.fate(name)} for name in self.posts}
        for other in self.others():
            for name in found:
                found[name].add(other.fate(name))
        return found
