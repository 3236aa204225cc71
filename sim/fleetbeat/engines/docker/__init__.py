"""The engine `docker`: agents in containers, their directories bind mounts of this machine's, seen from here.

Everything but how a process is started and ended is `fleetbeat.engines.real`'s. The SDK `docker` is imported by the modules
below, and they when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fleetbeat.chance.choices import Overrides
    from fleetbeat.engines.docker.client import Facts
    from fleetbeat.history.records import Record
    from fleetbeat.scenario.model import Scenario


def run(
    scenario: Scenario,
    overrides: Overrides | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    docker_host: str | None = None,
    base: str | None = None,
    **extra: Any,
) -> list[Record]:
    """Plays a scenario in containers. `docker_host`: an engine that is named, else this machine's; `base`: the image that
    agents' images are built on, else FLEETBEAT_BASE; `extra` as `fleetbeat.engines.real.play.play` takes it.

    Raises `CannotDo` for what cannot be played here, `EngineError` if the engine fails.
    """
    from fleetbeat.engines.docker.hosting import DockerHosting
    from fleetbeat.engines.real.play import play

    return play(scenario, DockerHosting(docker_host, base), overrides=overrides, progress=progress, **extra)


def clean(
    *, run: str | None = None, images: bool = False, dry_run: bool = False, docker_host: str | None = None
) -> list[str]:
    """Removes containers whose harness is gone; with `images`, images that we built. See `leftovers.clean`."""
    from fleetbeat.engines.docker import leftovers

    return leftovers.clean(run=run, images=images, dry_run=dry_run, docker_host=docker_host)


def doctor_facts(docker_host: str | None = None) -> Facts:
    """Which container engine answers here, or why none can be used. Raises nothing."""
    from fleetbeat.engines.docker import client

    return client.doctor_facts(docker_host)
