"""Ownership and modes as a means: the kernel answers EACCES or EPERM to an agent that is not root, in the fault's window.

Three ways, each without a race against what others write meanwhile:

- reading the signal: a default ACL without any right on the home gives it to each file that is made there, so that a
  post is unreadable from its first instant; the signal that lies there already loses its mode;
- unlinking the signal: the home is root's and not writable for the agent (EACCES), or sticky (EPERM). Only root still
  writes there, so all writers must be root;
- opening canonical: the file is root's and has no mode. It must be there, for making it is another right.
"""

from __future__ import annotations

import os
import stat as modes
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from fleetbeat.engines.injector import Rule
from fleetbeat.engines.real.means.inside import Held, open_directory, open_file
from fleetbeat.engines.real.means.model import Action, Idle, Stage, Tally
from fleetbeat.engines.real.means.remount import is_drawn
from fleetbeat.engines.real.means.standing import Standing
from fleetbeat.scenario.resolve import AgentSpec

SIGNAL, CANONICAL = ".rules", "system/rules.md"
DEFAULT = "system.posix_acl_default"
#: Tags of entries of an ACL. Source: <linux/posix_acl.h>, <linux/posix_acl_xattr.h>.
USER_OBJ, GROUP_OBJ, OTHER, NOBODY = 1, 4, 32, 0xFFFFFFFF
NOTES = {
    "read": "other files that are made in the home meanwhile cannot be opened by the agent either",
    "unlink": "EACCES: the agent cannot make or rename names in its home either",
    "open": "",
}


def way_of(rule: Rule) -> str | None:
    """Which of the three ways: read, unlink or open; None if none is this fault."""
    fault = rule.fault
    if rule.kind in ("read", "open") and rule.pattern == SIGNAL and fault.error == "EACCES":
        return "read"
    if rule.kind == "unlink" and rule.pattern == SIGNAL and fault.error in ("EACCES", "EPERM"):
        return "unlink"
    return "open" if rule.kind == "open" and rule.pattern == CANONICAL and fault.error == "EACCES" else None


def why_not(rule: Rule, spec: AgentSpec, writers: Collection[int]) -> str | None:
    """Why rights cannot carry out this fault on an agent to which `writers` (uids) write."""
    fault, way, uid = rule.fault, way_of(rule), spec.uid
    if way is None:
        return "rights refuse to read or unlink the signal, or to open canonical, with EACCES or EPERM"
    if is_drawn(rule):
        return "rights refuse always, not now and then"
    if fault.effect != "before" or fault.delay is not None or fault.crash is not None or fault.pause is not None:
        return "rights refuse, and do nothing else"
    if uid == 0:
        return "the agent runs as root, whom no right stops"
    if way == "unlink" and any(writer != 0 for writer in writers):
        return "what is taken from the agent, its writers would lose as well: they must be root (uid: 0)"
    if way == "unlink" and (not writers or (fault.error == "EPERM" and spec.start.signal != "none")):
        return "the signal would be the agent's own file, which it may unlink"
    if way == "open" and spec.start.rules is None:
        return "there is no canonical from the start that could be closed to it"
    return None


class Permissions(Idle):
    """`struck`: rule and the agents on which it is carried out; `intervals`: of heartbeats, ns; `perms`: what files get
    back that were made unreadable."""

    def __init__(
        self, struck: Sequence[tuple[Rule, tuple[str, ...]]], intervals: Mapping[str, int], perms: int = 0o600
    ) -> None:
        self._struck = struck
        self._standing = Standing(intervals)
        self._perms = perms
        self._undo: dict[tuple[str, str], list[Callable[[], None]]] = {}
        self.tallies = {rule.id: Tally(planned=len(names)) for rule, names in struck}

    def actions(self) -> Sequence[Action]:
        found = []
        for rule, names in self._struck:
            for name in names:
                what = f"rights of {name} (fault {rule.id})"
                found.append(Action(rule.fault.from_, partial(self._take, rule, name), what))
                if rule.fault.to is not None:
                    found.append(Action(rule.fault.to, partial(self._give, rule, name), f"{what} given back"))
        return found

    def remove(self, stage: Stage) -> None:
        for rule, names in self._struck:
            for name in names:
                self._give(rule, name, stage)

    def _take(self, rule: Rule, name: str, stage: Stage) -> None:
        undo = self._undo.setdefault((rule.id, name), [])
        home, way = open_directory(stage.root(), stage.home(name)), way_of(rule)
        if way == "read":
            undo.append(partial(os.close, home))
            _hide_new(home, self._perms, undo)
        elif way == "unlink":
            held = Held.of(home)
            undo.append(held.give_back)
            held.take(0o1777 if rule.fault.error == "EPERM" else 0o755)
        else:
            os.close(home)
            _shut(stage, name, undo)
        tally = self.tallies[rule.id]
        tally.fired += 1
        tally.observed += bool(undo)
        self._standing.begin(stage, rule, name)

    def look(self, stage: Stage) -> None:
        self._standing.look(stage)

    def _give(self, rule: Rule, name: str, stage: Stage) -> None:
        self._standing.end(stage, rule, name)
        undo = self._undo.pop((rule.id, name), [])
        while undo:
            undo.pop()()


def acl(entries: Sequence[tuple[int, int, int]]) -> bytes:
    """An access list as the kernel takes it: (tag, rights, uid) each, in this order."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def _hide_new(home: int, perms: int, undo: list[Callable[[], None]]) -> None:
    os.setxattr(home, DEFAULT, acl([(USER_OBJ, 0, NOBODY), (GROUP_OBJ, 0, NOBODY), (OTHER, 0, NOBODY)]))
    undo.append(partial(_show, home, perms))
    undo.append(partial(os.removexattr, home, DEFAULT))
    signal = open_file(home, SIGNAL)
    if signal is not None:
        os.fchmod(signal, 0)
        os.close(signal)


def _show(home: int, perms: int) -> None:
    """Gives the files that were made unreadable in the home a mode again."""
    for name in sorted(os.listdir(home)):
        found = open_file(home, name)
        if found is not None:
            if modes.S_IMODE(os.fstat(found).st_mode) == 0:
                os.fchmod(found, perms)
            os.close(found)


def _shut(stage: Stage, name: str, undo: list[Callable[[], None]]) -> None:
    directory, _, file = CANONICAL.rpartition("/")
    system = open_directory(stage.root(), stage.home(name) / directory)
    try:
        canonical = open_file(system, file)
    finally:
        os.close(system)
    if canonical is not None:
        held = Held.of(canonical)
        undo.append(held.give_back)
        held.take(0)
