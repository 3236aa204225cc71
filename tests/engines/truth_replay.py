"""A history played again with its operation records: bytes, whose they are, and what each beat did with them.

It keeps the bytes at `.rules` and who wrote each of them, so it knows what no outside observer knows: what each beat
read, and whose it was. It shares no code with the checks. It knows the reference agent's order (read, unlink, compare,
make the directory, persist, section, flush, log), so an agent of another order needs another replay.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

from tests.engines.truth_told import RESTORED, Assumed, Inode, Read, Take, Told

from fleetbeat.history.records import Record, compared, digest, norm_of

SIGNAL, CANONICAL, PROMPT = ".rules", "system/rules.md", "system/system.md"
BLANK = digest(b"")
AGENTS = ("beat", "rebuild", "boot")


class Replay:
    """One agent's history played again. Handlers are named after the kinds of records that they take."""

    def __init__(self, records: Sequence[Record], agent: str, assumed: Assumed | None = None) -> None:
        self.records = [r for r in records if r.kind == "body" or r.get("agent") == agent]
        self.history, self.agent, self.assumed = records, agent, assumed or {}
        self.end = records[-1].t
        self.power = {r.t for r in records if r.kind == "life.end" and r["cause"] == "power"}
        self.bodies: dict[str, Record] = {}
        self.posts: dict[str, Told] = {}
        self.writing: dict[str, Told] = {}
        self.known = {BLANK}
        self.names: dict[str, Inode] = {}
        self.handles: dict[tuple[str, str], tuple[Inode, list[int]]] = {}
        self.readings: list[tuple[int, str | None]] = []
        self.read_damaged: str | None = None
        self.standing: str | None = None
        self.seen: str | None = None
        self.present = False
        self.stood: list[tuple[int, int, str | None]] = []
        self.takes: list[Take] = []
        self.beat: Record | None = None
        self.canonical: str | None = None
        self.holders: list[str] = []
        self.holders_of: dict[str | None, list[str]] = {}
        self.prompt: str | None = None
        self.before: dict[str, tuple[str | None, list[str]]] = {}
        self.section: tuple[str | None, list[str]] = (None, [])
        self.composed: dict[str, tuple[str | None, list[str]]] = {}
        self.prompts: list[tuple[int, str | None]] = []
        self.strange = 0
        self.restored: list[list[str | None]] = []
        self.deaths = 0
        self.refused: Record | None = None
        self.unconsumed = 0
        self.owed = False
        self.unowed = 0
        self.silent = 0
        self.left = 0
        self.saw = False
        self.mixed = 0
        self.disturbed: list[int] = []
        self.after: set[str] = set()
        failures = sorted(self.power)
        for place, record in enumerate(self.records):
            while failures and failures[0] <= record.t:
                failures.pop(0)
                self._damage()
            handler = getattr(self, "_" + record.kind.replace(".", "_"), None)
            if handler is not None:
                handler(place, record)
        self._settle()

    # --- what was posted ---

    def _body(self, _: int, r: Record) -> None:
        self.bodies[r["body"]] = r

    def _key(self, name: str) -> str:
        """A text as an agent compares it; bytes that do not decode equal nothing else."""
        return self.bodies[name]["norm"] or f"raw:{name}"

    def _bytes(self, name: str) -> bytes:
        body = self.bodies[name]
        return base64.b64decode(body["base64"]) if body["text"] is None else body["text"].encode("utf-8")

    def _agent(self, _: int, r: Record) -> None:
        if r["canonical"] is not None:
            self.canonical = self._key(r["canonical"])
            self.known.add(self.canonical)

    def _edit(self, place: int, r: Record) -> None:
        self.known.add(self._key(r["body"]))
        if r["path"] == SIGNAL:
            self.names[SIGNAL] = Inode([(byte, None) for byte in self._bytes(r["body"])])
            self.present = True
            self.stood.append((place, r.t, None))

    def _post_plan(self, _: int, r: Record) -> None:
        post = Told(r["post"], self._bytes(r["body"]), self._key(r["body"]), self.bodies[r["body"]]["blank"])
        self.posts[post.name] = self.writing[r.actor] = post
        if r["write"] == "shared-temp":
            self.known.add(post.norm)

    def _post_begin(self, place: int, r: Record) -> None:
        post = self.posts[r["post"]]
        post.begun, post.landed_t = place, r.t
        self.seen = post.name
        self.known.add(post.norm)
        self._stands(place, r.t, post)

    def _post_complete(self, place: int, r: Record) -> None:
        post = self.posts[r["post"]]
        post.complete, post.landed_t, self.seen = place, r.t, post.name
        self._stands(place, r.t, post)

    def _post_end(self, place: int, r: Record) -> None:
        self.posts[r["post"]].ended = place

    def _stands(self, place: int, t: int, post: Told) -> None:
        """This post had an effect on the name."""
        if self.standing is not None and self.standing != post.name:
            self.posts[self.standing].gone, self.posts[self.standing].by = "replaced", post.name
        if not self.stood or self.stood[-1][2] != post.name:
            self.stood.append((place, t, post.name))
        self.standing, post.gone = post.name, ""

    # --- operations ---

    def _fault(self, place: int, r: Record) -> None:
        if r["on"] == "agents":
            self.disturbed.append(place)
        actor = r["step"].split("#")[0]
        if "after" in r["effect"].split():
            self.after.add(actor)
        if self.takes and not self.takes[-1].over and actor == f"{self.agent}/beat":
            self.takes[-1].struck = True

    def _op(self, place: int, r: Record) -> None:
        done = r["result"] == "ok" or r.actor in self.after
        self.after.discard(r.actor)
        if r["role"] == "post" and r["path"].startswith(SIGNAL) and done:
            self._written(place, r)
        elif r["role"] in AGENTS:
            if r["path"] == SIGNAL and done:
                self._taking(place, r)
            elif r["path"] == SIGNAL and r["operation"] in ("open", "read", "unlink"):
                self.refused, self.saw = self.beat, False
            elif r["path"] != SIGNAL:
                self._handling(r, done)

    def _written(self, place: int, r: Record) -> None:
        post, path, kind = self.writing[r.actor], r["path"], r["operation"]
        if kind == "open":
            inode = self.names.setdefault(path, Inode())
            inode.pieces, inode.damaged = [], False
            self.handles[r.actor, path] = (inode, [0])
        elif kind == "write":
            inode, offset = self.handles[r.actor, path]
            start, stop = offset[0], offset[0] + r["size"]
            inode.pieces += [(0, None)] * (start - len(inode.pieces))
            inode.pieces[start:stop] = [(byte, post.name) for byte in post.data[start:stop]]
            offset[0] = stop
        elif kind == "close":
            self.handles.pop((r.actor, path), None)
            return
        elif kind == "rename":
            inode = self.names[SIGNAL] = self.names.pop(path)
        elif kind == "unlink":
            self.names.pop(path, None)
            inode = None
        else:
            return
        if post.begun is not None and (kind == "unlink" or inode is self.names.get(SIGNAL)):
            self._stands(place, r.t, post)

    def _taking(self, place: int, r: Record) -> None:
        kind = r["operation"]
        if kind == "stat" and r["role"] == "beat" and self._is_due():
            self.saw = True
        elif kind == "open":
            self.readings, self.read_damaged = [], None
            self.handles[r.actor, SIGNAL] = (self.names.setdefault(SIGNAL, Inode(damaged=True)), [0])
        elif kind == "read":
            inode, offset = self.handles[r.actor, SIGNAL]
            self.readings += inode.pieces[offset[0] : offset[0] + r["size"]]
            offset[0] += r["size"]
            if r["body"] is not None and digest(bytes(byte for byte, _ in self.readings)) != r["body"]:
                self.strange += not inode.damaged
                self.read_damaged = r["body"]
        elif kind == "unlink":
            self._taken(place, r)

    def _is_due(self) -> bool:
        """Whether a whole, readable body stands at the name, so that a beat which sees it has to take it."""
        post = None if self.standing is None else self.posts[self.standing]
        settled = self.present and post is not None and post.complete is not None and not post.norm.startswith("raw:")
        return settled and not self.names.get(SIGNAL, Inode()).damaged

    def _beats(self, _: int, r: Record) -> None:
        if r["runnable"] and self._is_due():
            self.left += r["last"] - r["first"] + 1

    def _taken(self, place: int, r: Record) -> None:
        self.saw = False
        self.unconsumed += self.refused is not None and self.refused is self.beat
        inode = self.names.pop(SIGNAL, Inode())
        names = [post for post, (node, _) in self._writers() if node is inode]
        others = list(self._readable(inode))
        take = Take(place, self.beat, self._read(), self.standing, self.canonical, self.prompt, others)
        take.owners = list(dict.fromkeys([self.standing, self.seen, *names]))
        if len(self.takes) in self.assumed:
            take.read, take.unlinked = self.assumed[len(self.takes)]
        for name in take.owners:
            if name is not None:
                self.posts[name].gone = "taken" if name == take.unlinked else "replaced"
        if (
            take.unlinked is not None
            and self.posts[take.unlinked].norm == take.read.norm == take.canonical != take.prompt
        ):
            self.holders.append(take.unlinked)  # an identical body joins those that canonical holds already
            self._holds(self.holders)
        self.takes.append(take)
        self.standing = self.seen = None
        self.present = False
        self.stood.append((place, r.t, None))

    def _writers(self) -> Iterator[tuple[str, tuple[Inode, list[int]]]]:
        for (actor, path), handle in self.handles.items():
            post = self.writing.get(actor)
            if post is not None and post.begun is not None and path.startswith(SIGNAL):
                yield post.name, handle

    def _read(self) -> Read:
        of = tuple(sorted({name for _, name in self.readings if name is not None}))
        if self.read_damaged is None:
            data = bytes(byte for byte, _ in self.readings)
            text = compared(data)
            return Read("raw:" + digest(data) if text is None else norm_of(text), of)
        norm = self._key(self.read_damaged)
        whose = [post.name for post in self.posts.values() if post.begun is not None and post.norm == norm]
        return Read(norm, tuple(whose[-1:]) or tuple(name for _, _, name in self.stood[-1:] if name))

    def _readable(self, inode: Inode) -> Iterator[Read]:
        """What else may have been read of the signal that is about to be unlinked; `Truth` knows."""
        return iter(())

    # --- what came of it ---

    def _handling(self, r: Record, done: bool) -> None:
        kind, path, take = r["operation"], r["path"], self.takes[-1] if self.takes else None
        ours = take if take is not None and not take.over and r["role"] == "beat" else None
        if kind == "mkdir" and r["role"] == "beat":
            self.unconsumed += self.refused is not None and self.refused is self.beat
        if kind == "mkdir" and ours is not None:
            ours.tried = True
        elif kind == "emit" and ours is not None:
            ours.spoke = True
        elif path == CANONICAL and kind == "read" and done:
            if r["nth"] == 0 or r.actor not in self.before:
                self.before[r.actor] = (self.canonical, self.holders)
        elif path == CANONICAL and kind == "open":
            self.before.pop(r.actor, None)
        elif kind == "section" and ours is not None:
            ours.whole = self.owed = True
            self.section = (ours.read.norm, self.holders if self.canonical == ours.read.norm else [])
        elif kind == "section":
            self.section = self.before.pop(r.actor, (None, []))
        elif kind == "compose":
            self.composed[r.actor] = self.section
            if ours is not None:
                ours.flushed = True
        elif kind == "close" and path == PROMPT:
            self.composed.pop(r.actor, None)

    def _beat(self, _: int, r: Record) -> None:
        self._settle()
        self.left += self.saw and self.beat is not None and self.beat["outcome"] == "done"
        self.beat, self.saw = r, False

    def _settle(self) -> None:
        """The beat that took a signal is over: a write that failed was to be told in it, by a log that may fail."""
        take = self.takes[-1] if self.takes else None
        if take is not None and not take.over:
            take.over = True
            self.silent += take.tried and not take.whole and not take.spoke and not take.cut

    def _canonical(self, place: int, r: Record) -> None:
        self.canonical = None if r["body"] is None else self._key(r["body"])
        take = self.takes[-1] if self.takes else None
        self.holders = []
        if not self._is_somebodys(place, r.t):
            self.holders = self.holders_of.get(self.canonical, [])
        elif take is not None and not take.over:
            take.states.append(self.canonical)
            owner = self._owner(take)
            if self.canonical == take.read.norm and owner is not None:
                self._holds([owner])

    def _holds(self, owners: list[str]) -> None:
        self.holders = self.holders_of[self.canonical] = owners
        post = self.posts[owners[-1]]
        post.persisted = post.persisted or len(self.records)

    def _owner(self, take: Take) -> str | None:
        """Of two posts with one text, read as one and unlinked as the other, the one that was unlinked has the credit."""
        last = None if take.unlinked is None else self.posts[take.unlinked]
        if last is not None and last.complete is not None and last.norm == take.read.norm:
            return last.name
        whole = [name for name in take.read.of if self.posts[name].norm == take.read.norm]
        return whole[-1] if whole else None

    def _prompt(self, place: int, r: Record) -> None:
        self.prompt = r["norm"] if r["state"] == "whole" else "torn"
        self.prompts.append((place, self.prompt))
        self.mixed += self.prompt not in (None, "torn") and self.prompt not in self.known
        for norm, holders in list(self.composed.values()):
            for name in holders if norm == self.prompt else ():
                self.posts[name].effective = self.posts[name].effective or place

    def _log(self, _: int, r: Record) -> None:
        if self.takes and not self.takes[-1].over and r["event"] == "rules_write_error":
            self.unowed += self.takes[-1].failed
            self.takes[-1].failed = True
        elif r["event"] == "rules_loaded":
            self.unowed += not self.owed
            self.owed = False

    def _heartbeat_end(self, _: int, r: Record) -> None:
        self.deaths += 1

    def _life_end(self, place: int, r: Record) -> None:
        self._settle()
        self.beat, self.saw = None, False
        self.disturbed.append(place)
        self.owed, self.refused = False, None
        self.composed, self.section, self.before = {}, (None, []), {}

    def _signal(self, place: int, r: Record) -> None:
        was, self.present = self.present, r["event"] in ("appeared", "replaced", "changed")
        if self._is_somebodys(place, r.t):
            return
        self._damage()
        inode = self.names.get(SIGNAL)
        before = self.standing
        among = list(
            dict.fromkeys([before, self.seen, *(post for post, (node, _) in self._writers() if node is inode)])
        )
        if len(among) > 1:  # two were writing into one file
            before = self._one_of(among)
            for name in among:
                if name is not None:
                    self.posts[name].gone = "" if name == before else "replaced"
        if before is not None and r["event"] != "changed":
            self.posts[before].gone = "power"
        self.names.pop(SIGNAL, None)
        self.standing = self.seen = None
        if self.present:
            self._restored(place, r, was, before)

    def _one_of(self, names: list[str | None]) -> str | None:
        """The first of those that may be meant, unless another one is assumed."""
        self.restored.append(names)
        key = RESTORED - len(self.restored)
        return self.assumed[key][1] if key in self.assumed else names[0]

    def _damage(self) -> None:
        """A power failure: what it left at other names than the signal's is not seen."""
        held = [inode for inode, _ in self.handles.values()]
        for inode in [*self.names.values(), *held]:
            inode.damaged = inode.damaged or inode is not self.names.get(SIGNAL)

    def _is_somebodys(self, place: int, t: int) -> bool:
        """Whether an operation made this change, and not a power failure."""
        after = self.records[place + 1 : place + 4]
        return any(r.kind in ("op", "post.begin", "post.complete") and r.t == t for r in after)

    def _restored(self, place: int, r: Record, was: bool, before: str | None) -> None:
        """A power failure brought something back to the name, or left parts of what stood there: nobody knows of what."""
        self.names[SIGNAL] = Inode(damaged=True)
        last = next((name for _, _, name in reversed(self.stood) if name is not None), None)
        begun = [post.name for post in self.posts.values() if post.begun is not None]
        who = before if r["event"] == "changed" else None if was else last
        who = self._one_of(list(dict.fromkeys([who, *begun, None])))
        if who is not None:
            self._stands(place, r.t, self.posts[who])
            self.seen = who
