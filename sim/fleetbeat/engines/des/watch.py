"""What an observer outside would see: changes at the three names of each agent that matter, and writes where none belong.

`after` is told every operation that took effect. It compares the name's inode with the one that stood there before, so
that replaced, rewritten in place and gone are told apart as a directory watch would. It never opens `.rules`, except to
see whether a post that is being written is complete: the writer knows its own body.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from fleetbeat.engines.des.world import World
from fleetbeat.engines.recorder import When
from fleetbeat.history.records import compared, norm_of
from fleetbeat.protocol.process import section_of
from fleetbeat.protocol.vocabulary import Close, Emit, MakeDir, Op, Open, Rename, Truncate, Unlink, WriteChunk

if TYPE_CHECKING:
    from fleetbeat.engines.des.body import Body

SIGNAL, CANONICAL, PROMPT = "signal", "canonical", "prompt"


@dataclass(slots=True)
class Name:
    """A watched name: whose it is, what it is, and the inode that stands there."""

    agent: str
    role: str
    path: str
    inode: int | None = None


@dataclass(slots=True)
class Writing:
    """A post under way: its id, its body, and how far it came."""

    post: str
    agent: str
    body: bytes
    begun: bool = False
    complete: bool = False


class Watch:
    def __init__(self, world: World) -> None:
        self.world = world
        self._names: dict[str, Name] = {}
        self._inodes: dict[int, Name] = {}
        self._writable: dict[int, Name | None] = {}
        self._declared: dict[tuple[str, str], bool] = {}
        self._eyes = world.files.process(0)

    def add(self, agent: str) -> None:
        """Watches a new agent's names as they stand."""
        home = self.world.specs[agent].home
        prompt = self.world.manifest(agent).prompt.path
        for role, relative in ((SIGNAL, ".rules"), (CANONICAL, "system/rules.md"), (PROMPT, prompt)):
            path = f"{home}/{relative}"
            name = self._names[path] = Name(agent, role, path, self.world.files.inode(path))
            if name.inode is not None:
                self._inodes[name.inode] = name

    def names_of(self, handle: int) -> tuple[str, ...]:
        """Names under which what a handle writes can be seen."""
        inode = self.world.files.handle_inode(handle)
        name = None if inode is None else self._inodes.get(inode)
        opened = self.world.files.path_of(handle) or ""
        return (opened,) if name is None or name.path == opened else (name.path, opened)

    def after(self, when: When, body: Body, op: Op, path: str, answer: Any) -> None:
        """Records what the effect of `op` shows outside."""
        kind = type(op)
        if kind is Open:
            if op.mode in ("w", "x", "a"):  # type: ignore[union-attr]
                self._declare(when, body, path)
                self._opened(when, body, path, op.mode, answer)  # type: ignore[union-attr]
        elif kind is WriteChunk or kind is Truncate:
            inode = self.world.files.handle_inode(op.handle)  # type: ignore[union-attr]
            name = None if inode is None else self._inodes.get(inode)
            if name is not None:
                self._changed(when, body, name, "truncated" if kind is Truncate else "written")
        elif kind is Rename:
            self._declare(when, body, op.source)  # type: ignore[union-attr]
            self._declare(when, body, op.target)  # type: ignore[union-attr]
            self._renamed(when, body, op)  # type: ignore[arg-type]
        elif kind is Unlink:
            self._declare(when, body, path)
            self._settle(when, body, path, "vanished")
        elif kind is MakeDir:
            self._declare(when, body, path)
        elif kind is Close:
            self.closed(when, op.handle)  # type: ignore[union-attr]
        elif kind is Emit:
            self._logged(when, body, op)  # type: ignore[arg-type]

    def closed(self, when: When, handle: int) -> None:
        """A handle that could write was closed: an observer reads the prompt now, as a flush is over."""
        name = self._writable.pop(handle, None)
        if name is not None and name.role == PROMPT and name.inode is not None:
            self._prompt(when, name)

    def resettle(self, when: When, paths: list[str]) -> None:
        """After a power failure: names whose file or content is another one now.

        `paths` are those that look different; a name may hold another file that looks the same.
        """
        seen = set(paths)
        for alike in [name for name in self._names.values() if name.path not in seen]:
            self._move_in(alike, self.world.files.inode(alike.path))
        for path in paths:
            name = self._names.get(path)
            if name is not None:
                inode = self.world.files.inode(path)
                if inode == name.inode and inode is not None:
                    self._changed(when, None, name, "written")
                else:
                    self._settle(when, None, path, "vanished")
            if name is not None and name.role == PROMPT:
                self._prompt(when, name)

    # --- names ---

    def _opened(self, when: When, body: Body, path: str, mode: str, handle: int) -> None:
        name = self._names.get(path)
        if name is None:
            inode = self.world.files.handle_inode(handle)
            self._writable[handle] = None if inode is None else self._inodes.get(inode)
            return
        self._writable[handle] = name
        inode = self.world.files.inode(path)
        if inode != name.inode:
            self._move_in(name, inode)
            self._show(when, body, name, "appeared" if name.role == SIGNAL else "truncated")
        elif mode != "a":
            self._changed(when, body, name, "truncated")

    def _renamed(self, when: When, body: Body, op: Rename) -> None:
        target = self._names.get(op.target)
        source = self._names.get(op.source)
        if source is not None:
            self._move_in(source, self.world.files.inode(op.source))
            if source.inode is None:
                self._show(when, body, source, "moved" if source.role == SIGNAL else "removed", op.target)
        if target is not None:
            was = target.inode
            self._move_in(target, self.world.files.inode(op.target))
            if target.inode != was:
                self._show(when, body, target, "appeared" if was is None and target.role == SIGNAL else "replaced")

    def _settle(self, when: When, body: Body | None, path: str, gone: str) -> None:
        """A name may hold another file now, or none."""
        name = self._names.get(path)
        if name is None:
            return
        was = name.inode
        self._move_in(name, self.world.files.inode(path))
        if name.inode == was:
            return
        if name.inode is None:
            self._show(when, body, name, gone if name.role == SIGNAL else "removed")
        else:
            self._show(when, body, name, "appeared" if was is None and name.role == SIGNAL else "replaced")

    def _move_in(self, name: Name, inode: int | None) -> None:
        if name.inode is not None and self._inodes.get(name.inode) is name:
            del self._inodes[name.inode]
        name.inode = inode
        if inode is not None:
            self._inodes[inode] = name

    def _changed(self, when: When, body: Body | None, name: Name, event: str) -> None:
        self._show(when, body, name, "changed" if name.role == SIGNAL else event)

    def _show(self, when: When, body: Body | None, name: Name, event: str, to: str | None = None) -> None:
        """Records one change at a watched name, and what it means for a post."""
        add = self.world.recorder.add
        if name.role == SIGNAL:
            home = self.world.specs[name.agent].home + "/"
            place = None if to is None else to.removeprefix(home)
            entry, readable = self._entry(name)
            add(
                when,
                "harness",
                "signal",
                agent=name.agent,
                event=event,
                to=place,
                entry=entry,
                readable=readable,
            )
            self.world.agents[name.agent].generation += 1
            writing = getattr(body, "writing", None)
            if writing is not None and writing.agent == name.agent:
                self._posted(when, body, writing, name)
        elif name.role == CANONICAL:
            data = self.world.files.peek(name.path)
            digest = None if data is None else self.world.body(data, when)
            add(when, "harness", "canonical", agent=name.agent, event=event, body=digest)
        elif event in ("removed", "replaced"):
            self._prompt(when, name)

    def _entry(self, name: Name) -> tuple[str | None, bool | None]:
        """What stands at a name, as `ls -l` shows it: its kind, and whether the agent's user may read it."""
        if name.inode is None:
            return None, None
        stat = self._eyes.stat(name.path)
        uid = self.world.specs[name.agent].uid
        bit = 0o400 if stat.uid == uid else 0o004
        return stat.kind, uid == 0 or bool(stat.mode & bit)

    def _posted(self, when: When, body: Any, writing: Writing, name: Name) -> None:
        add = self.world.recorder.add
        if not writing.begun:
            writing.begun = True
            add(when, body.actor, "post.begin", post=writing.post, agent=name.agent)
        if not writing.complete and self.world.files.peek(name.path) == writing.body:
            writing.complete = True
            add(when, body.actor, "post.complete", post=writing.post, agent=name.agent)

    def _prompt(self, when: When, name: Name) -> None:
        """Reads the flushed prompt as an observer does, by the markers that the manifest declares."""
        manifest = self.world.manifest(name.agent)
        data = self.world.files.peek(name.path)
        state, norm, blank = "missing", None, False
        if data is not None:
            text = compared(data)
            state, section = (
                ("torn", None) if text is None else section_of(text + "\n", manifest.prompt.begin, manifest.prompt.end)
            )
            if not data:
                state = "torn"
            if section is not None:
                norm, blank = norm_of(section), not section.strip()
        self.world.recorder.add(when, "harness", "prompt", agent=name.agent, state=state, norm=norm, blank=blank)

    # --- logs and scope ---

    def _logged(self, when: When, body: Body, op: Emit) -> None:
        self.world.recorder.add(
            when, body.actor, "log", agent=body.agent, life=body.life, event=op.event, fields=dict(op.fields)
        )

    def _declare(self, when: When, body: Body, path: str) -> None:
        """Records a write outside what an agent's manifest declares."""
        if body.on != "agents":
            return
        program = self.world.specs[body.agent].agent
        shown = body.relative(path)
        key = (program, shown)
        known = self._declared.get(key)
        if known is None:
            globs = self.world.manifests[program].writes
            known = self._declared[key] = not shown.startswith("/") and any(fnmatchcase(shown, glob) for glob in globs)
        if not known:
            self.world.recorder.add(when, body.actor, "write", agent=self._home_of(path), path=path)

    def _home_of(self, path: str) -> str | None:
        """The agent in whose home a path lies, the innermost one."""
        inside = [spec for spec in self.world.specs.values() if path.startswith(spec.home + "/")]
        return max(inside, key=lambda spec: len(spec.home)).name if inside else None
