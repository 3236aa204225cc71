"""A read-only disk as a means: system/ of an agent is a disk of its own, and turns read-only for the fault's window.

The kernel answers EROFS to whoever opens a file there for writing, makes, renames or removes a name: to all of them,
whatever the fault's path in system/. Other than in the simulation a file is not truncated first. A write that is under
way is let end: the disk turns a moment later.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from fleetbeat.engines.injector import Rule
from fleetbeat.engines.real.means.disks import disk_over
from fleetbeat.engines.real.means.inside import open_directory
from fleetbeat.engines.real.means.model import Action, Idle, Stage, Tally
from fleetbeat.engines.real.means.mounts import mounts_below, turn_read_only, unmount
from fleetbeat.engines.real.means.standing import Standing

NOTE = "all of system/ turns read-only; the kernel refuses at the open for writing, so that nothing is truncated"
#: Room enough for any rules; a tmpfs takes memory only for what is there.
SIZE = 64 * 1024 * 1024
OPERATIONS = ("write", "truncate", "flush", "mkdir", "unlink", "rename")
AGAIN_NS = 500_000


def why_not(rule: Rule) -> str | None:
    """Why a read-only disk cannot carry out this fault, on any machine."""
    fault = rule.fault
    pattern = rule.pattern or ("system/system.md" if fault.operation == "flush" else "")
    if fault.error != "EROFS":
        return "a read-only disk answers EROFS"
    if is_drawn(rule):
        return "a read-only disk refuses always, not now and then"
    if fault.effect != "before" or fault.delay is not None or fault.crash is not None or fault.pause is not None:
        return "a read-only disk refuses, and does nothing else"
    if fault.operation not in OPERATIONS or not pattern.startswith("system/"):
        return "a read-only disk refuses changes in system/, and nothing else"
    return None


def is_drawn(rule: Rule) -> bool:
    """Whether a fault strikes some of the operations only."""
    return bool(rule.fault.occurrence) or (rule.fault.probability is not None and rule.fault.probability < 1)


class Remount(Idle):
    """`struck`: rule and the agents on which it is carried out by this means; `intervals`: of heartbeats, ns."""

    def __init__(self, struck: Sequence[tuple[Rule, tuple[str, ...]]], intervals: Mapping[str, int]) -> None:
        self._struck = struck
        self._standing = Standing(intervals)
        self._agents = dict.fromkeys(name for _, names in struck for name in names)
        self._mounted: dict[str, Path] = {}
        self._held: dict[str, int] = {}
        self.tallies = {rule.id: Tally(planned=len(names)) for rule, names in struck}

    def prepare(self, stage: Stage, agents: Collection[str]) -> None:
        """Raises `OSError`."""
        for name in self._agents:
            if name in agents:
                directory = stage.home(name) / "system"
                disk_over(directory, SIZE, stage.root() / f"disk.{name}")
                self._mounted[name] = directory

    def actions(self) -> Sequence[Action]:
        found = []
        for rule, names in self._struck:
            for name in names:
                what = f"system/ of {name} read-only (fault {rule.id})"
                found.append(Action(rule.fault.from_, partial(self._turn, rule, name, True), what))
                if rule.fault.to is not None:
                    found.append(Action(rule.fault.to, partial(self._turn, rule, name, False), f"no more {what}"))
        return found

    def look(self, stage: Stage) -> None:
        self._standing.look(stage)

    def remove(self, stage: Stage) -> None:
        for name, directory in list(self._mounted.items()):
            unmount(directory)
            del self._mounted[name]
            for tally in self.tallies.values():
                tally.removed &= not mounts_below(directory)

    def _turn(self, rule: Rule, name: str, on: bool, stage: Stage) -> None:
        """Faults overlap: the disk is read-only while any of them is on."""
        if name not in self._mounted:
            return
        if not on:
            self._standing.end(stage, rule, name)
            self._held[name] = self._held.get(name, 1) - 1
            if self._held[name] == 0:
                turn_read_only(self._mounted[name], False, SIZE)
            return
        try:
            turn_read_only(self._mounted[name], True, SIZE)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            again = stage.now() + AGAIN_NS
            if rule.fault.to is None or again < rule.fault.to:
                stage.at(again, partial(self._turn, rule, name, True), f"system/ of {name} read-only (fault {rule.id})")
            return
        self._held[name] = self._held.get(name, 0) + 1
        tally = self.tallies[rule.id]
        tally.fired += 1
        tally.observed += is_read_only(stage.root(), self._mounted[name])
        self._standing.begin(stage, rule, name)


def is_read_only(root: Path, directory: Path) -> bool:
    """Found out by trying, with a file that has no name: only the kernel's own answer counts. Follows no link, for it is
    the agent's directory."""
    place = open_directory(root, directory)
    try:
        os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o600, dir_fd=place))
    except OSError as error:
        return error.errno == errno.EROFS
    finally:
        os.close(place)
    return False
