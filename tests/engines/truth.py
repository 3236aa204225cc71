"""What really happened to each post, from the operation-level records alone: the slow oracle for the fates.

It knows what no outside observer knows: which bytes each beat read, and which post stood at the name at that read and at
that unlink. It shares no code with the checks. For one agent that goes by the table (read, then unlink, then apply).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetbeat.history.records import Record


@dataclass
class Told:
    """One post as the records tell of it. `reads` are consumptions that had read its body while it stood there."""

    name: str
    body: str
    begun: int | None = None
    complete: int | None = None
    replaced: bool = False
    unlinked: int | None = None
    takes: list[Take] = field(default_factory=list)
    tore: list[Take] = field(default_factory=list)


@dataclass
class Take:
    """One beat's consumption: what it read, of which posts, what it did with it."""

    read: str | None = None
    read_of: list[str] = field(default_factory=list)
    unlinked: str | None = None
    at: int = 0
    wrote: bool = False
    failed: bool = False
    known: str | None = None
    prompt: str | None = None


class Truth:
    def __init__(self, records: Sequence[Record], agent: str) -> None:
        self.records = [r for r in records if r.kind == "body" or r.get("agent") == agent]
        self.norms: dict[str, str | None] = {}
        self.blank: dict[str, bool] = {}
        self.unknown: set[str] = set()
        self.posts: dict[str, Told] = {}
        self.standing: str | None = None
        self.present = False
        self.takes: list[Take] = []
        self.open: Take | None = None
        self.canonical: str | None = None
        self.prompt: tuple[str, str | None] = ("missing", None)
        self.prompts: list[tuple[int, int, str | None]] = []
        self.canonicals: list[tuple[int, int, str | None]] = []
        self.poisoned = False
        self.cut_at_end = False
        self.end = records[-1].t
        for place, record in enumerate(self.records):
            handler = getattr(self, "on_" + record.kind.replace(".", "_"), None)
            if handler is not None:
                handler(place, record)

    # --- records ---

    def on_body(self, _: int, r: Record) -> None:
        self.norms[r["body"]] = r["norm"]
        self.blank[r["body"]] = r["blank"]
        if r["origin"] == "unknown":
            self.unknown.add(r["body"])

    def on_agent(self, _: int, r: Record) -> None:
        self.canonical = r["canonical"]

    def on_post_plan(self, _: int, r: Record) -> None:
        self.posts[r["post"]] = Told(r["post"], r["body"])

    def on_signal(self, _: int, r: Record) -> None:
        self.present = r["event"] in ("appeared", "replaced", "changed")

    def on_post_begin(self, place: int, r: Record) -> None:
        if self.standing is not None:
            self.posts[self.standing].replaced = True
        self.posts[r["post"]].begun = place
        self.standing = r["post"]

    def on_post_complete(self, place: int, r: Record) -> None:
        post = self.posts[r["post"]]
        post.complete, post.replaced = place, False
        if self.standing not in (None, r["post"]):
            self.posts[str(self.standing)].replaced = True
        self.standing = r["post"]

    def on_canonical(self, place: int, r: Record) -> None:
        self.canonical = r["body"]
        self.canonicals.append((place, r.t, r["body"]))

    def on_prompt(self, place: int, r: Record) -> None:
        self.prompt = (r["state"], r["norm"])
        self.prompts.append((place, r.t, r["norm"] if r["state"] == "whole" else "torn"))

    def on_heartbeat_end(self, _: int, r: Record) -> None:
        self.poisoned = True

    def on_beat(self, _: int, r: Record) -> None:
        self.open = Take()
        self.cut_at_end = r["outcome"] == "cut" and r["end"] == self.end

    def on_op(self, place: int, r: Record) -> None:
        if r["role"] != "beat" or self.open is None:
            return
        take, kind, path, fine = self.open, r["operation"], r["path"], r["result"] == "ok"
        if path == ".rules" and kind in ("open", "read") and fine:
            if kind == "open":
                take.read_of, take.read = [], None
            if self.standing is not None and self.standing not in take.read_of:
                take.read_of.append(self.standing)
            if r["body"] is not None:
                take.read = r["body"]
        elif path == ".rules" and kind == "unlink" and fine:
            take.unlinked, take.at, take.known = self.standing, place, self.canonical
            take.prompt = self.prompt[1] if self.prompt[0] == "whole" else "torn"
            self._taken(take)
        elif take.at and path == "system/rules.md" and kind == "open" and r["nth"] > 0:
            take.wrote = True
        elif take.at and kind == "emit":
            pass

    def on_log(self, place: int, r: Record) -> None:
        if r["event"] == "rules_write_error" and self.takes:
            self.takes[-1].failed = True

    def _taken(self, take: Take) -> None:
        self.takes.append(take)
        if self.standing is not None:
            self.posts[self.standing].unlinked = take.at
        if self.standing is not None and self._same(take.read, self.posts[self.standing].body):
            take.read_of = [*take.read_of, self.standing] if self.standing not in take.read_of else take.read_of
        for name in take.read_of:
            if self._same(take.read, self.posts[name].body):
                self.posts[name].takes.append(take)
            elif take.read in self.unknown:
                self.posts[name].tore.append(take)
        self.standing = None

    # --- verdict ---

    def fate(self, name: str, bound_beats_passed: bool) -> str:
        post = self.posts[name]
        if post.begun is None:
            return "unposted"
        if any(self._applied(take, self.norms.get(take.read or "")) or self._persisted(take) for take in post.tore):
            return "torn"
        if self.blank[post.body] and post.unlinked is not None:
            return "empty"
        if any(take.unlinked == name and take.failed for take in self.takes):
            return "failed"
        if any(take.unlinked == name and self._nothing_to_do(take, post) for take in self.takes):
            return "unchanged"
        own = [take for take in post.takes if self._mine(take, post)]
        norm = self.norms[post.body]
        for take in own:
            if self._applied(take, norm):
                return "applied"
        for take in own:
            if (
                take.unlinked == name
                and not take.wrote
                and take.known is not None
                and self.norms[take.known] == norm == take.prompt
            ):
                return "unchanged"
            if self._persisted(take):
                return "persisted"
        if post.replaced and post.unlinked is None:
            return "superseded"
        if self.standing == name and self.present:
            if self.poisoned:
                return "poisoned"
            return "stuck" if bound_beats_passed else "pending"
        if any(take.unlinked == name and take is self.takes[-1] for take in self.takes) and self.cut_at_end:
            return "indeterminate"
        if any(place > post.begun and shown == norm for place, _, shown in self.prompts):
            return "superseded"
        return "lost"

    def _nothing_to_do(self, take: Take, post: Told) -> bool:
        norm = self.norms[post.body]
        return not take.wrote and take.known is not None and self.norms[take.known] == norm == take.prompt

    def _mine(self, take: Take, post: Told) -> bool:
        """Of two posts with one body, read as one and unlinked as the other, the one that was unlinked has the credit."""
        other = take.unlinked
        return other is None or other == post.name or not self._same(self.posts[other].body, post.body)

    def _same(self, one: str | None, other: str | None) -> bool:
        """Whether two bodies are one text to an agent, or the same bytes."""
        if one is None or other is None:
            return False
        return one == other or (self.norms[one] is not None and self.norms[one] == self.norms[other])

    def _until(self, take: Take) -> int:
        later = [one.at for one in self.takes if one.at > take.at]
        return min(later) if later else len(self.records)

    def _applied(self, take: Take, norm: str | None) -> bool:
        """Whether what this beat took was flushed afterwards: by itself, or by a later flush of what it persisted."""
        return (
            take.wrote
            and not take.failed
            and any(place > take.at and shown == norm for place, _, shown in self.prompts)
        )

    def _persisted(self, take: Take) -> bool:
        norm = self.norms.get(take.read or "")
        if not take.wrote and take.known is not None and self.norms[take.known] == norm:
            return take.read_of[-1:] == [str(take.unlinked)]
        return take.wrote and any(
            take.at < place < self._until(take) and body is not None and self.norms[body] == norm
            for place, _, body in self.canonicals
        )


def random_world(number: int) -> dict[str, Any]:
    """A small, wild world: one agent, a few posts that overlap, faults, crashes, rebuilds; a pure function of `number`."""
    state = number * 6364136223846793005 + 1442695040888963407

    def pick(*values: Any) -> Any:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return values[(state >> 33) % len(values)]

    bodies: tuple[dict[str, Any], ...] = (
        {"body": "one\r\ntwo", "mark": False},
        {"body": "three\nfour", "mark": False},
        {"body": "five"},
        {"body": " \n", "mark": False},
        {"base64": "/3f/"},
        {"body": "as it was", "mark": False},
    )
    rollouts = []
    for n in range(pick(1, 2, 3, 4)):
        at = 3_000 + pick(0, 300, 700, 1000, 1500, 3000) + pick(0, 13, 37, 61, 120, 260, 410)
        write = pick("atomic", "atomic", "atomic", "in-place", "cross-device")
        verify = {"verify": "canonical", "retries": pick(0, 1), "timeout": "2s"} if pick(0, 0, 1) else {}
        rollouts.append(
            {
                "version": f"v{n}",
                "operator": f"op{n}",
                "at": f"{at}ms",
                "targets": "all",
                "write": write,
                "chunk": pick(2, 5, 64),
                "latency": {"write": pick("1ms", "40ms", "90ms"), "unlink": pick("1ms", "30ms")},
                **verify,
                **pick(*bodies),
            }
        )
    faults: list[dict[str, Any]] = []
    for operation in ("read", "unlink", "write", "flush", "stat", "emit"):
        if pick(0, 0, 0, 1):
            faults.append(
                {
                    "operation": operation,
                    "probability": pick(0.3, 0.6),
                    "error": "EIO",
                    "effect": pick("before", "before", "partial") if operation in ("write", "flush") else "before",
                }
            )
    if pick(0, 0, 1):
        faults.append(
            {
                "id": "crash",
                "operation": pick("unlink", "write", "open", "read", "close"),
                "path": "*",
                "probability": pick(0.1, 0.3),
                "crash": pick("before", "after"),
                "restart": pick("100ms", "900ms", "1700ms"),
            }
        )
    rebuilds = [{"every": pick("390ms", "810ms", "1300ms"), "beside_beat": pick(True, False)}] if pick(0, 0, 1) else []
    slow = pick("1ms", "20ms", "80ms")
    return {
        "name": "wild",
        "seed": number,
        "duration": pick("6s", "9s"),
        "fleet": {
            "agents": 1,
            "heartbeat": {"interval": pick("300ms", "700ms", "1s"), "phase": pick("random", "aligned")},
            "latency": {"read": slow, "unlink": pick(slow, "150ms"), "write": slow, "close": pick("1ms", slow)},
            "start": {"rules": "as it was"} if pick(0, 1) else {},
            "lifecycle": {"rebuilds": rebuilds},
        },
        "faults": faults,
        "rollouts": rollouts,
    }
