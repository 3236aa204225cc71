"""What a harness that was killed left in the engine: containers, which end by themselves, and images, which stay."""

from __future__ import annotations

import docker
from docker.errors import DockerException
from docker.models.containers import Container

from fleetbeat.engines.docker.client import connect, failure
from fleetbeat.engines.docker.images import LABEL
from fleetbeat.engines.real.root import start_of


def clean(
    *, run: str | None = None, images: bool = False, dry_run: bool = False, docker_host: str | None = None
) -> list[str]:
    """Removes containers whose harness is gone, of one run or of all; with `images`, the images that we built and that
    no container uses. Returns what was (or would be) removed, in words, in order. Raises `EngineError`."""
    client, _ = connect(docker_host)
    try:
        told = [_container(container, dry_run) for container in _orphans(client, run)]
        if images:
            told += _images(client, dry_run)
        return told
    except (DockerException, OSError) as error:
        raise failure("clean", error, "to be able to remove what is ours in the container engine") from error
    finally:
        client.close()


def _orphans(client: docker.DockerClient, run: str | None) -> list[Container]:
    label = "fleetbeat.run" if run is None else f"fleetbeat.run={run}"
    found = client.containers.list(all=True, filters={"label": label}, ignore_removed=True)
    return sorted((one for one in found if not _is_owned(one.labels)), key=lambda one: str(one.name))


def _is_owned(labels: dict[str, str]) -> bool:
    """Whether the harness that started a container still runs."""
    try:
        return start_of(int(labels["fleetbeat.pid"])) == int(labels["fleetbeat.pid_start"])
    except (KeyError, ValueError):
        return False


def _container(container: Container, dry_run: bool) -> str:
    labels = container.labels
    words = f"container {labels.get('fleetbeat.crew', container.name)} of run {labels.get('fleetbeat.run', '?')}"
    if not dry_run:
        container.remove(force=True, v=True)
    return words


def _images(client: docker.DockerClient, dry_run: bool) -> list[str]:
    used = [container.attrs["ImageID"] for container in client.containers.list(all=True, sparse=True)]
    told = []
    for image in client.images.list(filters={"label": LABEL}):
        if image.id in used:
            continue
        names = sorted(image.tags) or [str(image.short_id)]
        told += [f"image {name}" for name in names]
        for name in names if not dry_run else ():
            client.images.remove(name)
    return sorted(told)
