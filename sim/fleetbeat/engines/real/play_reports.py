"""What drivers report, made into records. A report explains and times what the observer sees; a crash it foretells.

All of it is data that a process wrote which runs somebody's program: what does not look as it should is left out, and
said once for each crew in a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fleetbeat.engines.real.logs import whole
from fleetbeat.engines.real.play_world import World

Line = Mapping[str, Any]
#: Times are ns in 64 bits.
LARGEST = 2**62


class Reports:
    """`ready`: crews whose drivers wait for their go; `dying`: the fault that is about to end a crew's process, by crew;
    `seen`: occurrences that faults have counted, by agent and fault, for the plans of later lives."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ready: dict[str, None] = {}
        self.dying: dict[str, str] = {}
        self.seen: dict[str, dict[str, int]] = {}
        self._doubted: dict[str, None] = {}
        self._known: dict[str, Callable[[str, Line], None]] = {
            "ready": lambda crew, line: self.ready.update({crew: None}),
            "fault": self._fault,
            "seen": self._seen,
            "beat": self._beat,
            "rebuild.begin": self._rebuild_begin,
            "rebuild.end": self._rebuild_end,
            "heartbeat.end": self._heartbeat_end,
            "error": self._failed,
            "program.error": self._error,
            "driver.error": self._error,
        }

    def take(self, crew: str, line: Line) -> None:
        """One line of the report of a crew."""
        act = self._known.get(str(line.get("what")))
        if act is None:
            return
        try:
            act(crew, {name: _sound(value) for name, value in line.items()})
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            if crew not in self._doubted:
                self._doubted[crew] = None
                self._note(None, f"{crew}: a report that does not read as one: {type(error).__name__}: {error}")

    def _note(self, agent: str | None, text: str, told: str | None = None) -> None:
        self.world.sink.add(self.world.now, "harness", "note", agent=agent, text=text, told=told)

    def _about(self, crew: str, line: Line) -> dict[str, Any]:
        """The agent and its life. Raises KeyError for an agent of another crew."""
        agent = line["agent"]
        if self.world.crew_of[agent].id != crew:
            raise KeyError(agent)
        return {"agent": agent, "life": int(line["life"])}

    def _fault(self, crew: str, line: Line) -> None:
        agent = self._about(crew, line)["agent"]
        effect = str(line["effect"])
        if "crash" in effect.split():
            self.dying[crew] = line["fault"]
        names = ("fault", "step", "operation", "path", "error")
        fields = {name: None if line[name] is None else str(line[name]) for name in names}
        fields = {**fields, "agent": agent, "on": "agents", "effect": effect}
        self.world.means.fired(str(line["fault"]), agent)
        actor = str(line["step"]).partition("#")[0]
        self.world.sink.add(self.world.now, actor, "fault", **fields)

    def _failed(self, crew: str, line: Line) -> None:
        """An operation failed by itself. A full disk is the scenario's doing, if it gave the disk a size."""
        agent, path = self._about(crew, line)["agent"], line["path"]
        disk = self.world.means.disk_of(agent, str(path)) if line["error"] == "ENOSPC" and path else None
        if disk is not None:
            self._fault(crew, {**line, "fault": disk, "effect": "error"})

    def _seen(self, crew: str, line: Line) -> None:
        agent = str(line["agent"])
        if self.world.crew_of[agent].id != crew:
            raise KeyError(agent)
        self.seen.setdefault(agent, {})[str(line["fault"])] = int(line["n"])

    def _beat(self, crew: str, line: Line) -> None:
        about = self._about(crew, line)
        ops = [[str(kind), int(begin), int(end), str(result)] for kind, begin, end, result in line["ops"]]
        times = {"beat": int(line["beat"]), "start": int(line["t"]), "end": int(line["end"])}
        self.world.sink.add(self.world.now, "harness", "timing", **about, **times, idle=bool(line["idle"]), ops=ops)

    def _rebuild_begin(self, crew: str, line: Line) -> None:
        about = {**self._about(crew, line), "rebuild": int(line["rebuild"]), "cause": str(line["cause"])}
        self.world.sink.add(self.world.now, f"{about['agent']}/rebuild", "rebuild.begin", **about)

    def _rebuild_end(self, crew: str, line: Line) -> None:
        about = {**self._about(crew, line), "rebuild": int(line["rebuild"]), "outcome": str(line["outcome"])}
        self.world.sink.add(self.world.now, f"{about['agent']}/rebuild", "rebuild.end", **about)

    def _heartbeat_end(self, crew: str, line: Line) -> None:
        about = {**self._about(crew, line), "beat": int(line["beat"]), "error": str(line["error"])}
        self.world.sink.add(self.world.now, f"{about['agent']}/beat", "heartbeat.end", **about)

    def _error(self, crew: str, line: Line) -> None:
        about = self._about(crew, line)
        whose = (
            "its program does not keep to the vocabulary" if line["what"] == "program.error" else "its driver failed"
        )
        self._note(about["agent"], f"{whose}:", str(line["error"]))


def _sound(value: object) -> object:
    """A value that can be written down. Raises ValueError for a number that is no time or count."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, (int, float)) and not -LARGEST <= value <= LARGEST:
        raise ValueError("a number out of range")
    return [_sound(one) for one in value] if isinstance(value, list) else value
