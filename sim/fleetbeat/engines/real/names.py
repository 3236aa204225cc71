"""The three names of each agent that matter: its signal, canonical, and the flushed prompt. Twin of `engines.des.watch`.

What happened there is what the kernel says; what stands there is looked up when the event is handled. A prompt that
looks torn then may be half-way through its next flush: that is told only if it still is so a moment later. One that was
written to again before it was looked at showed something that nobody saw: until its next flush ends it is unseen.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fleetbeat.engines.real.inotify import (
    CLOSE_WRITE,
    CREATE,
    DELETE,
    IS_DIRECTORY,
    MODIFY,
    MOVED_FROM,
    MOVED_TO,
    Event,
)
from fleetbeat.engines.real.observe_eyes import KINDS, Eyes, TooLong, shown
from fleetbeat.engines.real.observe_queue import Queue
from fleetbeat.engines.real.observe_teller import Voice
from fleetbeat.engines.real.observe_watched import CANONICAL, PROMPT, SIGNAL, Name
from fleetbeat.history.records import compared, norm_of
from fleetbeat.protocol.process import section_of

#: How long a prompt that looks torn is given to become whole, ns.
PATIENCE_NS = 20_000_000


@dataclass(frozen=True, slots=True)
class Expected:
    """The harness's own next act on a signal, and what to do once it was seen."""

    events: tuple[str, ...]
    hook: Callable[[int], None]


class Names:
    def __init__(self, voice: Voice, eyes: Eyes, queue: Queue) -> None:
        self._voice = voice
        self._eyes = eyes
        self._queue = queue
        self._expected: dict[str, Expected] = {}
        self._doubtful: dict[str, tuple[int, Name]] = {}
        self._overtaken: dict[str, tuple[int, Name]] = {}
        self._handlers = {SIGNAL: self._signal, CANONICAL: self._canonical, PROMPT: self._prompt}

    def expect(self, agent: str, expected: Expected | None) -> None:
        if expected is None:
            self._expected.pop(agent, None)
        else:
            self._expected[agent] = expected

    def start(self, name: Name) -> None:
        """Takes a name as it stands, without a word."""
        found = self._eyes.look(name.path)
        name.standing = found is not None
        name.look = _look(found)
        if name.role != SIGNAL:
            data = self._read(name)
            name.last = data if name.role == CANONICAL else self._section(name, data)

    def handle(self, name: Name, event: Event, to: str | None = None) -> bool:
        """Records what an event at a name shows; whether it was the harness's own act. `to`: where a rename led."""
        return self._handlers[name.role](name, event, to)

    # --- the signal ---

    def _signal(self, name: Name, event: Event, to: str | None) -> bool:
        what = _signal_event(name, event.mask)
        return what is not None and self._show_signal(name, what, to, bool(event.mask & IS_DIRECTORY))

    def _show_signal(self, name: Name, what: str, to: str | None = None, is_directory: bool = False) -> bool:
        agent = name.agent
        name.standing = what not in ("vanished", "moved")
        found = self._eyes.look(name.path) if name.standing else None
        name.look = _look(found)
        entry = None
        if name.standing:  # gone already when looked at: what is taken so soon was a file
            kind = "directory" if is_directory else "file"
            entry = kind if found is None else KINDS.get(stat.S_IFMT(found.st_mode), "other")
        readable = None if found is None else _may_read(found, agent.uid)
        place = None if to is None else shown(agent.relative(to))
        t = self._voice.stamp()
        self._voice.add(t, "harness", "signal", agent=agent.name, event=what, to=place, entry=entry, readable=readable)
        self._voice.signalled(agent)
        expected = self._expected.get(agent.name)
        if expected is not None and what in expected.events:
            del self._expected[agent.name]
            expected.hook(t)
            return True
        if not name.standing:
            self._voice.seen(agent, t)
        return False

    # --- canonical ---

    def _canonical(self, name: Name, event: Event, to: str | None) -> bool:
        """An open that truncates and the write after it may be one event: what was not seen empty is not called so."""
        mask, was = event.mask, name.standing
        if mask & (MODIFY | CREATE) and not mask & IS_DIRECTORY:
            name.standing = True
            if not self._queue.has_writes(event):
                self._show_canonical(name, None, self._read(name))
        elif mask & MOVED_TO and not mask & IS_DIRECTORY:
            name.standing = True
            self._show_canonical(name, "replaced", self._read(name))
        elif was and mask & (DELETE | MOVED_FROM):
            name.standing = False
            self._show_canonical(name, "removed", None)
        return False

    def _show_canonical(self, name: Name, what: str | None, data: bytes | None) -> None:
        if what is None:
            what = "truncated" if data == b"" else "written"
        name.last = data
        t = self._voice.stamp()
        digest = None if data is None else self._voice.body(data, t)
        self._voice.add(t, "harness", "canonical", agent=name.agent.name, event=what, body=digest)
        self._voice.seen(name.agent, t)

    # --- the prompt ---

    def _prompt(self, name: Name, event: Event, to: str | None) -> bool:
        mask, was = event.mask, name.standing
        if mask & (CREATE | MODIFY):
            name.standing = True
        elif mask & (CLOSE_WRITE | MOVED_TO):
            name.standing = True
            self._show_prompt(name, event)
        elif was and mask & (DELETE | MOVED_FROM):
            name.standing = False
            self._show_prompt(name)
        return False

    def _show_prompt(self, name: Name, event: Event | None = None) -> None:
        t = self._voice.stamp()
        self._doubtful.pop(name.path, None)
        self._voice.seen(name.agent, t)
        section = self._section(name, self._read(name) if name.standing else None)
        if event is not None and self._queue.writes_left(event):
            self._overtaken.setdefault(name.path, (t, name))
            return
        self._sight(name.path, t)
        if section[0] == "torn":
            self._doubtful[name.path] = (t, name)
        else:
            self._tell_prompt(name, t, section)

    def _sight(self, path: str, t: int) -> None:
        """A prompt that had been overtaken is seen again."""
        if path in self._overtaken:
            since, name = self._overtaken.pop(path)
            missing = f"{name.agent.relative(path)}: flushed again before it was looked at"
            self._voice.unseen(name.agent.name, since, t, missing)

    def _tell_prompt(self, name: Name, t: int, section: tuple[str, str | None, bool]) -> None:
        name.last = section
        state, norm, blank = section
        self._voice.late(t, "harness", "prompt", agent=name.agent.name, state=state, norm=norm, blank=blank)

    def _section(self, name: Name, data: bytes | None) -> tuple[str, str | None, bool]:
        """State, digest of the section's text, and whether it is blank: by the markers that the manifest declares."""
        if data is None:
            return "missing", None, False
        text = compared(data)
        if text is None or not data:
            return "torn", None, False
        prompt = name.agent.manifest.prompt
        state, section = section_of(text + "\n", prompt.begin, prompt.end)
        return (state, None, False) if section is None else (state, norm_of(section), not section.strip())

    def look_again(self, now_ns: int | None) -> None:
        """Tells of prompts that have looked torn for long enough; None: of all."""
        for path, (t, name) in list(self._doubtful.items()):
            if now_ns is None or now_ns - t >= PATIENCE_NS:
                del self._doubtful[path]
                self._tell_prompt(name, t, self._section(name, self._read(name)))
        if now_ns is None:
            for path in list(self._overtaken):
                self._sight(path, self._voice.stamp())

    # --- what no event told ---

    def settle(self, name: Name) -> None:
        """A name may hold another file now, or none: its directory is another one, or events were lost."""
        found = self._eyes.look(name.path)
        was = name.standing
        if name.role == SIGNAL:
            if found is None and was:
                self._show_signal(name, "vanished")
            elif found is not None and not was:
                self._show_signal(name, "appeared")
            elif found is not None and _look(found) != name.look:
                same = name.look is not None and name.look[0] == found.st_ino
                self._show_signal(name, "changed" if same else "replaced")
            return
        name.standing = found is not None
        data = self._read(name)
        if name.role == CANONICAL:
            if not name.standing and was:
                self._show_canonical(name, "removed", None)
            elif name.standing and (data != name.last or not was):
                self._show_canonical(name, None if data == b"" or not was else "replaced", data)
        elif self._section(name, data) != name.last:
            self._show_prompt(name)

    def _read(self, name: Name) -> bytes | None:
        what = name.agent.relative(name.path)
        try:
            data = self._eyes.read(name.path)
        except TooLong as error:
            self._voice.blind(name.agent, what, str(error))
            return None
        except OSError as error:
            self._voice.blind(name.agent, what, error.strerror or str(error))
            return None
        self._voice.sighted(name.agent, what)
        return data


def _signal_event(name: Name, mask: int) -> str | None:
    if mask & (CREATE | MOVED_TO):
        return "replaced" if name.standing else "appeared"
    if mask & MODIFY:
        return "changed" if name.standing else "appeared"
    if name.standing and mask & MOVED_FROM:
        return "moved"
    return "vanished" if name.standing and mask & DELETE else None


def _look(found: Any) -> tuple[int, int, int] | None:
    return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)


def _may_read(found: Any, uid: int) -> bool:
    """As `ls -l` shows it. An agent's group has its user's number."""
    bit = 0o400 if found.st_uid == uid else 0o040 if found.st_gid == uid else 0o004
    return uid == 0 or bool(found.st_mode & bit)
