"""Which post's body became canonical, became effective, or was applied torn: attribution over one agent's timeline.

An observer sees bodies, not where they came from. The rules, in this order: a body that canonical or the prompt takes
on is the one that was just consumed, if it is equal; else one that stood at the name in the same stretch and was
replaced before the unlink (it was read, and the one that replaced it was unlinked unread); else one that still stands
there (an agent that applies before it unlinks); else one consumed earlier that has come to nothing so far. What a
rebuild flushes belongs to whoever owns canonical's content. A text that nobody posted is charged to the post whose
bytes were not whole while they could be read, else to the one that was unlinked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from fleetbeat.checks.timeline import (
    BLANK,
    CANONICAL_PATH,
    Agent,
    Canonical,
    Consumption,
    Fired,
    Mark,
    Post,
    Prompt,
    Stand,
)

_FAILING = frozenset({"error", "partial", "after"})
_WRITING = frozenset({"open", "write", "truncate", "close", "rename", "sync"})
_FOREVER = 1 << 63


def credit(agent: Agent) -> None:
    """Fills `persisted`, `effective` and `torn` of the agent's posts. Needs beats to be linked to consumptions."""
    ledger = _Ledger(agent)
    events: list[tuple[int, int, Stand | Consumption | Canonical | Prompt]] = [
        *((stand.since.seq, 0, stand) for stand in agent.stands),
        *((taken.at.seq, 1, taken) for taken in agent.consumptions),
        *((state.at.seq, 2, state) for state in agent.canonicals),
        *((state.at.seq, 3, state) for state in agent.prompts),
    ]
    events.sort(key=lambda event: event[:2])
    for _, _, event in events:
        ledger.follow(event)
    for taken in agent.consumptions:
        mark = taken.torn = torn_mark(agent, taken)
        if mark is not None:
            for post in culprits(agent, taken):
                post.torn = post.torn or mark


@dataclass(slots=True)
class _Ledger:
    agent: Agent
    chain: list[Post] = field(default_factory=list)
    taken: list[Consumption] = field(default_factory=list)
    owners: list[Post] = field(default_factory=list)
    by_key: dict[str, list[Post]] = field(default_factory=dict)
    canonical: str | None = None

    def follow(self, event: Stand | Consumption | Canonical | Prompt) -> None:
        if isinstance(event, Stand):
            if event.post is not None:
                self.chain.append(event.post)
        elif isinstance(event, Consumption):
            self._consumed(event)
        elif isinstance(event, Canonical):
            self._persisted(event)
        elif event.key is not None and event.key != BLANK and not is_left_by_power(self.agent, event.at):
            self._flushed(event, event.key)

    def _consumed(self, taken: Consumption) -> None:
        self.taken.append(taken)
        self.chain = []
        post = taken.post
        if post is None or not post.is_complete_at(taken.at):
            return
        if post.key == taken.canonical and post.key != taken.effective and self._was_read(taken, post):
            self._own(post.key, [*self.owners, post], taken.at)

    def _was_read(self, taken: Consumption, post: Post) -> bool:
        """Whether an identical body was read for sure: nothing else that stood there explains that nothing was written."""
        since, idle = began(taken), not is_interrupted(self.agent, taken)
        idle = idle and not self.agent.within(self.agent.canonicals, taken.at, over(taken), taken.after)
        for stand in taken.others(since):
            other = stand.post
            if other is None or stand.damaged or is_unsettled(other, since, taken.at):
                return False
            if other.body.valid and other.key != post.key and (other.body.blank or not idle):
                return False
        return True

    def _persisted(self, state: Canonical) -> None:
        self.canonical = state.key
        self.owners = []
        if state.key is None or state.blank:
            return
        source = self._source(state.key, kept=True) if state.by == "agent" else None
        if source is not None:
            self._own(state.key, [source], state.at)
        elif state.by != "edit":
            self.owners = self.by_key.get(state.key, [])

    def _own(self, key: str, owners: list[Post], mark: Mark) -> None:
        self.owners = self.by_key[key] = owners
        owners[-1].persisted = owners[-1].persisted or mark

    def _flushed(self, state: Prompt, key: str) -> None:
        holders = self.owners
        if key != self.canonical and self._is_remembered(state, key):
            holders = self.by_key.get(key, [])
        elif key != self.canonical:  # flushed before canonical is written, or owed since an earlier flush failed
            source = self._source(key)
            holders = self.by_key.get(key, []) if source is None else [source]
        elif (again := self._flushed_again(state, key)) is not None:
            holders = [*holders, again]
        for post in holders:
            if post.effective is None and post.begun is not None and post.begun < state.at:
                post.effective = state.at
                self.agent.carriers.setdefault(key, []).append(post)

    def _is_remembered(self, state: Prompt, key: str) -> bool:
        """Whether canonical held that text before, and the agent still knew it: a rebuild at work then may have read it
        before a beat began to rewrite canonical; or the flush was owed, as the last handling was over.
        """
        begins = [one.begin for one in self.agent.rebuilds_within(state.at.t, state.at.t) if one.begin < state.at]
        owed = bool(self.taken) and state.at.t > over(self.taken[-1])
        return any(
            held.key == key and held.at < state.at and (owed or any(after.at > begin for begin in begins))
            for held, after in pairwise(self.agent.canonicals)
        )

    def _flushed_again(self, state: Prompt, key: str) -> Post | None:
        """A post whose body was canonical already and that made its agent flush nevertheless."""
        taken = self.taken[-1] if self.taken else None
        post = None if taken is None else taken.post
        if taken is None or post is None or post.key != key or not post.is_complete_at(taken.at):
            return None
        if state.at.t > over(taken) or taken.others(began(taken)) or self.agent.rebuilds_within(taken.at.t, state.at.t):
            return None
        return post

    def _source(self, key: str, kept: bool = False) -> Post | None:
        """`kept`: a text may also come from a post that was never whole at the name, through a handle that the agent
        kept while its writer went on."""
        if self.taken:
            last = self.taken[-1]
            stood = [stand.post for stand in last.stands if stand.post is not None]
            if last.stands[-1].damaged:  # a power failure may have brought back any of them
                stood = [post for post in self.agent.posts if post.begun is not None and post not in stood] + stood
            whole = [post for post in stood if post.key == key and post.is_complete_at(last.at)]
            whole = whole or [post for post in stood if post.key == key and kept]
            if whole:
                return whole[-1]
        if key not in self.by_key:
            for post in reversed(self.chain):
                if post.key == key:
                    return post
        for taken in reversed(self.taken[:-1]):
            earlier = taken.post
            if earlier is not None and earlier.key == key and earlier.effective is None and earlier.persisted is None:
                return earlier
        return None


def began(taken: Consumption) -> int:
    """When the handling that took the signal began: its beat, or the unlink where no beat is recorded; in ns."""
    return taken.at.t if taken.beat is None else taken.beat.t


def over(taken: Consumption) -> int:
    """When that handling was over, in ns: with its beat, or with the next consumption, or never."""
    if taken.beat is not None:
        return taken.beat.end
    return _FOREVER if taken.after is None else taken.after.t


def is_left_by_power(agent: Agent, mark: Mark) -> bool:
    """Whether a record tells what a power failure left, as those right after the end of a life do."""
    lost = [life.end for life in agent.deaths_within(mark.t, mark.t) if life.cause == "power"]
    return any(end is not None and end < mark for end in lost)


def fails_canonical(fired: Fired) -> bool:
    """Whether a fault failed an operation on canonical or on a temporary of it."""
    at_canonical = fired.path == CANONICAL_PATH or (fired.path.startswith("system/") and "rules" in fired.path)
    return at_canonical and fired.operation in _WRITING and fired.effect in _FAILING


def is_interrupted(agent: Agent, taken: Consumption) -> bool:
    """Whether the write of canonical after this consumption may have stopped half-way."""
    until = over(taken)
    if taken.beat is None or taken.beat.outcome == "cut":
        return True
    if any(log.event == "rules_write_error" for log in agent.within(agent.logs, taken.at, until, taken.after)):
        return True
    if any(fails_canonical(fired) for fired in agent.within(agent.faults, taken.at, until, taken.after)):
        return True
    return agent.disk_limited and not agent.within(agent.prompts, taken.at, until, taken.after)


def torn_mark(agent: Agent, taken: Consumption) -> Mark | None:
    """Where the body of this consumption was applied as a text that nobody posted, or None.

    A canonical cut short by the agent's own interrupted write is none, and neither is what a rebuild reads then, unless
    no whole body could have been read.
    """
    until = over(taken)
    states = [state for state in agent.within(agent.canonicals, taken.at, until, taken.after) if state.by == "agent"]
    last = states[-1].key if states else None
    interrupted = is_interrupted(agent, taken)
    for prompt in agent.within(agent.prompts, taken.at, until, taken.after):
        ours = (prompt.key == last and not interrupted) or not agent.rebuilds_within(taken.at.t, prompt.at.t)
        if ours and is_unknown(agent, prompt.key, prompt.at):
            return prompt.at
    if not states or not is_unknown(agent, last, states[-1].at):
        return None
    if not interrupted:
        return states[-1].at
    if any(stand.post is None or stand.post.is_complete_at(taken.at) for stand in readable(taken)):
        return None
    shown = agent.within(agent.prompts, states[-1].at, _FOREVER)
    return next((prompt.at for prompt in shown if prompt.key == last), None)


def is_unknown(agent: Agent, key: str | None, mark: Mark) -> bool:
    """Whether a text is there that nobody posted here, recorded or started with."""
    return key is not None and key != BLANK and not agent.knows(key, mark)


def is_unsettled(post: Post, since: int, mark: Mark) -> bool:
    """Whether the name could show parts of this post at some time from `since` ns to `mark`: its writer's fault.

    One that began and completed at one instant never showed parts, whatever its way of writing is called.
    """
    if post.conforming or post.begun is None or post.begun > mark:
        return False
    if post.completed is None or post.completed > mark:
        return True
    return post.completed.t >= since and post.completed.t > post.begun.t


def readable(taken: Consumption) -> list[Stand]:
    """What the handling that took a signal may have read, in order; the last one was taken."""
    return [*taken.others(began(taken)), taken.stands[-1]]


def culprits(agent: Agent, taken: Consumption) -> list[Post]:
    """The posts that a torn application is charged to."""
    since = began(taken)
    unsettled = [
        stand.post for stand in readable(taken) if stand.post is not None and is_unsettled(stand.post, since, taken.at)
    ]
    if unsettled:
        return unsettled
    return [] if taken.post is None else [taken.post]
