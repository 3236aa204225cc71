"""What stands at one agent's `.rules`, from `signal` and post records alone.

A `signal` record comes before the `post.begin` or `post.complete` of the same effect, so each change is first booked as
nobody's and adopted by the post that begins right after it, at that instant. A name that vanishes was taken by the
agent, unless a cross-device writer begins with it, an outside hand is recorded, or its host lost power then. Rejected:
telling writers by the record's actor, which an observer of real directories cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fleetbeat.checks.timeline import Agent, Consumption, Mark, Post, Stand


@dataclass(slots=True)
class Names:
    """The name `.rules` of one agent as the history goes by. `writers`: posts that began on the file that stands there."""

    agent: Agent
    chain: list[Stand]
    writers: list[Post] = field(default_factory=list)
    fresh: Mark | None = None
    fresh_event: str = ""
    powerless_at: int = -1
    edited_at: int = -1

    @classmethod
    def of(cls, agent: Agent) -> Names:
        return cls(agent, [])

    @property
    def current(self) -> Stand | None:
        return self.chain[-1] if self.chain else None

    # --- signal records ---

    def signal(
        self, mark: Mark, event: str, to: str | None, judged: bool, canonical: str | None, effective: str | None
    ) -> None:
        if event in ("appeared", "replaced"):
            self.writers = []
        if event == "appeared":
            self._appeared(mark, judged)
        elif event == "replaced":
            self._close(mark, "power" if self._powerless(mark) else "edited" if self._edited(mark) else "replaced")
            self._open(None, mark, judged)
        elif event == "changed":
            self._changed(mark)
        elif event == "vanished" and self._powerless(mark):
            self._close(mark, "power")
            self.chain = []
        elif event == "vanished" and self._edited(mark):
            self._close(mark, "edited")
            self.chain = []
        else:
            self._consumed(mark, to, canonical, effective)
        self.fresh, self.fresh_event = mark, event

    def edited(self, mark: Mark, gone: bool) -> None:
        """An outside hand acted on the name; its signal record may stand before or after."""
        self.edited_at = mark.t
        fresh = self.fresh
        if gone and fresh is not None and fresh.t == mark.t and self.fresh_event == "vanished":
            self._unconsume("edited")
            self.chain = []
        elif not gone and self.current is None:
            self._open(None, mark, judged=False)

    def _appeared(self, mark: Mark, judged: bool) -> None:
        current = self.current
        if current is not None and not current.present:
            current.present = True
            self.writers = [] if current.post is None else [current.post]
        elif current is not None and current.post is None and current.since.t == mark.t:
            current.judged = judged and not self._edited(mark)
        else:
            post = self.agent.stands[-1].post if self._powerless(mark) and self.agent.stands else None
            self._open(post, mark, judged).damaged = self._powerless(mark)

    def _changed(self, mark: Mark) -> None:
        current = self.current
        if current is None:
            self._open(None, mark, judged=False)
        elif self._powerless(mark):
            current.damaged = True
        elif current.post is not None and (current.post.completed is not None or current.post.ended is not None):
            other = next(
                (post for post in reversed(self.writers) if _is_writing(post) and post is not current.post), None
            )
            if other is not None:
                self._replace(other, mark)

    def _consumed(self, mark: Mark, to: str | None, canonical: str | None, effective: str | None) -> None:
        if self.current is None or not self.current.present:
            self._open(None, mark, judged=False)
        self._close(mark, "consumed")
        taken = Consumption(mark, tuple(self.chain), canonical, effective, to)
        if to is not None:
            taken.set_aside = self.agent.sets_aside(to)
            taken.claimed = not taken.set_aside and self.agent.declares(to)
        self.agent.consumptions.append(taken)
        if taken.post is not None:
            taken.post.undone = taken.post.consumptions
            taken.post.consumption = taken
        self.chain = []

    # --- post records ---

    def begin(self, post: Post, mark: Mark) -> None:
        fresh = self.fresh is not None and self.fresh.t == mark.t
        event = self.fresh_event if fresh else ""
        self.writers.append(post)
        self.fresh = None
        current = self.current
        if event == "vanished" and post.write == "cross-device" and current is None:
            self._unconsume("removed")
            self._open(post, mark, judged=True).present = False
            self.chain[-2].by = post
        elif (
            event in ("appeared", "replaced")
            and current is not None
            and current.post is None
            and current.since.t == mark.t
        ):
            current.post = post
            post.stands.append(current)
            if len(self.chain) > 1 and not self.chain[-2].by:
                self.chain[-2].by = post
        else:
            self._replace(post, mark)

    def complete(self, post: Post, mark: Mark) -> None:
        """The name shows this post's whole body: it stands there, whoever began last."""
        current = self.current
        if current is not None and current.post is not post:
            self._replace(post, mark)

    # --- inside ---

    def _powerless(self, mark: Mark) -> bool:
        return self.powerless_at == mark.t

    def _edited(self, mark: Mark) -> bool:
        return self.edited_at == mark.t

    def _open(self, post: Post | None, mark: Mark, judged: bool) -> Stand:
        stand = Stand(post, mark, judged=judged)
        self.chain.append(stand)
        self.agent.stands.append(stand)
        if post is not None:
            post.stands.append(stand)
        return stand

    def _close(self, mark: Mark, ending: str) -> None:
        current = self.current
        if current is not None and not current.ending:
            current.until, current.ending = mark, ending

    def _replace(self, post: Post, mark: Mark) -> None:
        current = self.current
        self._close(mark, "replaced")
        judged = True
        if current is not None:
            current.by = post
            judged = current.judged and (current.post is not None or not current.present)
        self._open(post, mark, judged)

    def _unconsume(self, ending: str) -> None:
        """What looked like the agent's unlink was somebody else's."""
        taken = self.agent.consumptions.pop()
        if taken.post is not None:
            taken.post.consumption = None
        self.chain = list(taken.stands)
        self.chain[-1].ending = ending


def _is_writing(post: Post) -> bool:
    return post.begun is not None and post.completed is None and post.ended is None
