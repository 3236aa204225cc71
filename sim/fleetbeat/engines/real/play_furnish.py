"""Agents' directories as the scenario has them at their start, made by the harness before anybody lives there."""

from __future__ import annotations

import os

from fleetbeat.engines.real.play_files import make_directories, put
from fleetbeat.engines.real.play_world import World
from fleetbeat.scenario.resolve import AgentSpec


def make_home(world: World, spec: AgentSpec) -> None:
    """The home and its directories, empty. Raises `CannotDo`, `OSError`."""
    world.observer.ours(spec.home)
    for directory in ("", "/system", "/logs"):
        make_directories(world.root.fleet, spec.home + directory, spec.uid, world.users)


def furnish(world: World, spec: AgentSpec) -> None:
    """What lies in the home at the start. Raises `OSError`."""
    start, root, users = spec.start, world.root.fleet, world.users
    if start.rules is not None:
        put(root, f"{spec.home}/system/rules.md", start.rules.encode("utf-8"), spec.uid, users)
    signal = f"{spec.home}/.rules"
    if start.signal == "file":
        put(root, signal, start.signal_text.encode("utf-8"), spec.uid, users)
    elif start.signal == "directory":
        make_directories(root, signal, spec.uid, users)
    elif start.signal == "symlink":
        with users.acting(spec.uid):
            os.symlink(start.signal_text or "nowhere", world.root.home(signal))
