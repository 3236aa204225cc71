"""Loads a core of the event framework from its folder: the file that the manifest names, and the gates built into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fleetbeat.engines.programs import ProgramError
from fleetbeat.framework.policies import Gate
from fleetbeat.framework.vocabulary import Core, Host, Options
from fleetbeat.protocol.folders import load_module
from fleetbeat.scenario.guards import Guard
from fleetbeat.scenario.library import find_core
from fleetbeat.scenario.manifest import load_core_manifest

if TYPE_CHECKING:
    from fleetbeat.scenario.workload import CoreSetup


@dataclass(frozen=True, slots=True)
class Loaded:
    """A core that can be made for each life of each agent. `name`: the manifest's; `guards`: by id."""

    name: str
    make: Callable[[Host], Core]
    guards: Mapping[str, Gate]
    options: Options


def load_core(setup: CoreSetup) -> Loaded:
    """The core that a scenario names, set up as it says.

    Raises `ScenarioError` for a folder or manifest that cannot be used, `ProgramError` for a core that cannot be loaded.
    """
    folder = find_core(setup.program)
    manifest, file = load_core_manifest(folder)
    path = folder / file
    try:
        module = load_module(path)
    except (Exception, SystemExit) as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise ProgramError(f"{path}: cannot be loaded: {what}") from error
    made: Callable[[Host, Options], Core] | None = getattr(module, "CORE", None)
    if not callable(made):
        got = "no CORE" if made is None else f"CORE, a {type(made).__name__}"
        raise ProgramError(f"{path}: got {got}, expected CORE that is called with a host and options")
    options = Options(
        silence_after=setup.silence_after,
        silence_for_ns=setup.silence_for,
        breaker_after=setup.breaker_after,
        breaker_for_ns=setup.breaker_for,
        gate_timeout_ns=setup.gate_timeout,
    )
    return Loaded(manifest.name, partial(_made, made, options), gates_of(manifest.guards), options)


def _made(made: Callable[[Host, Options], Core], options: Options, host: Host) -> Core:
    return made(host, options)


def gates_of(guards: tuple[Guard, ...]) -> dict[str, Gate]:
    """A manifest's guards as gates, by id."""
    return {
        guard.gate: Gate(
            guard.gate,
            tuple(guard.on),
            guard.answer,
            {name: tuple(values) for name, values in guard.when.items()},
            {count: tuple(sorted(bounds.items())) for count, bounds in guard.state.items()},
            guard.cooldown_s,
        )
        for guard in guards
    }
