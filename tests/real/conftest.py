"""A container engine for tests that need one: they are skipped with the reason where there is none, and CI forbids that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import docker
import pytest
from docker.errors import ImageNotFound

from fleetbeat.engines.docker.client import connect
from fleetbeat.engines.docker.images import LABEL, base_image
from fleetbeat.engines.real.errors import EngineError

#: Set: a test that needs a container engine and has none fails.
DEMANDED = "FLEETBEAT_NEED_DOCKER"


@dataclass(frozen=True, slots=True)
class DockerEngine:
    """`base`: an image with Python that is on this machine."""

    client: docker.DockerClient
    base: str


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """The engine of this machine; leaves no container of this session behind, and says so if there was one."""
    try:
        client, _ = connect()
    except EngineError as error:
        _without(str(error))
    base = base_image(None)
    try:
        client.images.get(base)
    except ImageNotFound:
        client.close()
        _without(f"base image {base}: not on this machine (compose/base-image makes one, FLEETBEAT_BASE names it)")
    before = {image.id for image in client.images.list(filters={"label": LABEL})}
    yield DockerEngine(client, base)
    left = client.containers.list(all=True, filters={"label": f"fleetbeat.pid={os.getpid()}"})
    names = [str(container.name) for container in left]
    for container in left:
        container.remove(force=True)
    for image in client.images.list(filters={"label": f"{LABEL}=mine"}):
        if image.id not in before:
            client.images.remove(image.id, force=True)
    client.close()
    assert names == []


def _without(why: str) -> None:
    if os.environ.get(DEMANDED) == "1":
        pytest.fail(f"{DEMANDED}=1, but {why}")
    pytest.skip(f"needs a container engine: {why}")
