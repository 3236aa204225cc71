"""The results of a search, of whichever halves of a scenario were searched: its signal, its event framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fleetbeat.cli.errors import BROKEN, HELD, INCONCLUSIVE

if TYPE_CHECKING:
    from fleetbeat.cli import explored, explored_framework


@dataclass(frozen=True, slots=True)
class Both:
    """`name`: the scenario as it was asked for; a half that was not searched is None."""

    name: str
    signal: explored.Told | None
    framework: explored_framework.Told | None

    @property
    def interrupted(self) -> bool:
        return any(half.outcome.interrupted for half in (self.signal, self.framework) if half is not None)

    def code(self) -> int:
        """The exit code of searches that came to their end."""
        halves = [half for half in (self.signal, self.framework) if half is not None]
        if any(half.broken for half in halves):
            return BROKEN
        vacuous = self.framework is not None and bool(self.framework.outcome.vacuous)
        return HELD if all(half.outcome.complete for half in halves) and not vacuous else INCONCLUSIVE

    def text(self) -> str:
        return "\n".join(half.text() for half in (self.signal, self.framework) if half is not None)

    def last_line(self) -> str:
        return "; ".join(half.last_line() for half in (self.signal, self.framework) if half is not None)

    def json(self) -> str:
        """Of the signal's half as it is without a framework; the framework's stands beside it."""
        import json

        data: dict[str, Any] = {"scenario": self.name}
        data |= {} if self.signal is None else self.signal.data()
        data |= {} if self.framework is None else {"framework": self.framework.data()}
        return json.dumps(data, indent=2) + "\n"

    def files(self) -> list[tuple[str, str]]:
        """For `-o`: name and text of every case and diagram."""
        return [file for half in (self.signal, self.framework) if half is not None for file in half.files()]
