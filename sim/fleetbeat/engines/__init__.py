"""The engines, by name: each plays a scenario and returns the history that the checks judge.

An engine is a function `(scenario, overrides=None, progress=None, extra...) -> list[Record]`; adding one is one file and
one line here. Engines are imported when they are asked for, since each brings its own library.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

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
        engine: Engine = import_module(self[name]).run
        return engine


ENGINES = _Registry(MODULES)
