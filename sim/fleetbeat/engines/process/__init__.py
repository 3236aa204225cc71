"""The engine on real processes: agents as subprocesses on this machine, up to a hundred in one, in real time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fleetbeat.chance.choices import Overrides
from fleetbeat.engines.process.hosting import Processes
from fleetbeat.engines.real.hosting import Tell, quiet
from fleetbeat.engines.real.play import play
from fleetbeat.history.records import Record
from fleetbeat.scenario.model import Scenario


def run(
    scenario: Scenario,
    overrides: Overrides | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    root: Path | None = None,
    keep_root: bool = False,
    prefer: str = "cheap",
    tell: Tell = quiet,
) -> list[Record]:
    """Plays `scenario` in real time on processes of this machine; see `engines.real.play.play`."""
    return play(scenario, Processes(), overrides, progress, root=root, keep_root=keep_root, prefer=prefer, tell=tell)
