"""Files written or made where none belong: neither declared by the manifest of the home's agent, nor the harness's own.

The kernel does not say who wrote. So what lies in a home is judged by that home's manifest and charged to its agent;
what lies in none is charged to nobody.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from fleetbeat.engines.real.inotify import CLOSE_WRITE, CREATE, DELETE, IS_DIRECTORY, MODIFY, MOVED_FROM, MOVED_TO
from fleetbeat.engines.real.observe_eyes import shown
from fleetbeat.engines.real.observe_teller import Voice
from fleetbeat.engines.real.observe_watched import Watched

_AT_ONCE = CREATE | DELETE | MOVED_FROM | MOVED_TO


class Scope:
    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._ours: set[str] = set()
        self._open: set[str] = set()
        self._declared: dict[str, bool] = {}

    def ours(self, path: str) -> None:
        self._ours.add(os.path.normpath(path))

    def judge(self, agent: Watched | None, path: str, mask: int) -> None:
        """Records a write, once from the opening of a file to its closing."""
        if self._belongs(agent, path):
            return
        if mask & _AT_ONCE:
            if mask & CREATE and not mask & IS_DIRECTORY:
                self._open.add(path)
            self._write(agent, path)
        elif mask & MODIFY and path not in self._open:
            self._open.add(path)
            self._write(agent, path)
        elif mask & CLOSE_WRITE:
            if path not in self._open:
                self._write(agent, path)
            self._open.discard(path)

    def _write(self, agent: Watched | None, path: str) -> None:
        name = None if agent is None else agent.name
        self._voice.add(self._voice.stamp(), name or "unknown", "write", agent=name, path=shown(path))

    def _belongs(self, agent: Watched | None, path: str) -> bool:
        if path in self._ours:
            return True
        if agent is None:
            return False
        known = self._declared.get(path)
        if known is None:
            place = agent.relative(path)
            known = path in (agent.home, agent.beat_path, agent.log_path, os.path.dirname(agent.log_path)) or any(
                fnmatchcase(place, glob) for glob in agent.manifest.writes
            )
            if len(self._declared) < MOST:
                self._declared[path] = known
        return known


#: So many paths are kept in mind.
MOST = 100_000
