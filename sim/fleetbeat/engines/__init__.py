"""The engines, by name: each plays a scenario and returns the history that the checks judge. Where the scenario has a
workload, the event framework is played over that history (`framework`), whichever engine made it.

An engine is a function `(scenario, overrides=None, progress=None, extra...) -> list[Record]`; adding one is one file and
one line here. Engines are imported when they are asked for, since each brings its own library.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from fleetbeat.chance.choices import Overrides
    from fleetbeat.history.records import Record
    from fleetbeat.scenario.model import Scenario


class Engine(Protocol):
    """Plays a scenario. `progress` is told the virtual time in ns now and then.

    Raises `ScenarioError` or `ManifestError` for an agent program that cannot be loaded. On KeyboardInterrupt the
    history so far is returned, its `end` record says "interrupted".
    """

    def __call__(
        self, scenario: Scenario, overrides: Overrides | None = None, progress: Callable[[int], None] | None = None
    ) -> list[Record]: ...


#: name -> module that holds a function `run`
MODULES = {
    "des": "fleetbeat.engines.des",
    "process": "fleetbeat.engines.process",
    "docker": "fleetbeat.engines.docker",
}
#: Those that play in real time, on real directories.
REAL = ("process", "docker")


class _Registry(dict[str, str]):
    def engine(self, name: str) -> Engine:
        return _with_framework(import_module(self[name]).run)


def _with_framework(play: Callable[..., list[Record]]) -> Engine:
    @wraps(play)
    def both(
        scenario: Scenario,
        overrides: Overrides | None = None,
        progress: Callable[[int], None] | None = None,
        **extra: Any,
    ) -> list[Record]:
        if scenario.workload is None:
            return play(scenario, overrides, progress, **extra)
        from fleetbeat.engines.cores import load_core
        from fleetbeat.engines.framework import weave

        core = load_core(scenario.fleet.core)  # before anything is played: it may be refused
        return weave(scenario, play(scenario, overrides, progress, **extra), core, overrides)

    return both


ENGINES = _Registry(MODULES)
