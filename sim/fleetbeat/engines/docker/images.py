"""Images of agents: built from their folders, named by their content, built once."""

from __future__ import annotations

import io
import os
from pathlib import Path

import docker
from docker.errors import APIError, DockerException, ImageNotFound

from fleetbeat.engines.docker.client import failure
from fleetbeat.engines.docker.context import Context, digest_of
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.scenario.manifest import Manifest

BASE = "python:3.12-slim"
LABEL = "fleetbeat.image"
#: Lines of a build that fails that are shown.
SHOWN = 20
HINT = "compose/base-image builds one from Debian's packages, and FLEETBEAT_BASE or --base names it"


def base_image(named: str | None) -> str:
    """What images are built on."""
    return named or os.environ.get("FLEETBEAT_BASE") or BASE


def ready_image(client: docker.DockerClient, manifest: Manifest) -> str:
    """The image that a manifest names. Raises `EngineError` if it is not there: nothing is fetched unasked."""
    name = manifest.image or ""
    try:
        client.images.get(name)
    except ImageNotFound as error:
        raise EngineError(
            f"agent {manifest.name}: image: got {name!r}, which is not on this machine, expected one that is "
            f"(docker pull {name})"
        ) from error
    except (DockerException, OSError) as error:
        raise failure(f"agent {manifest.name}: image {name!r}", error, "to be able to look at it") from error
    return name


def built_image(client: docker.DockerClient, manifest: Manifest, folder: Path, context: Context, base: str) -> str:
    """The image of a folder: the one that there is for its content, or a new one. Raises `EngineError`."""
    packed = context.tar()
    tag = f"fleetbeat/{manifest.name.lower()}:{digest_of(packed, _identity(client, base).encode())}"
    try:
        client.images.get(tag)
        return tag
    except ImageNotFound:
        pass
    except (DockerException, OSError) as error:
        raise failure(f"image {tag}", error, "to be able to look for it") from error
    _build(client, manifest, folder, packed, tag, base)
    return tag


def _build(client: docker.DockerClient, manifest: Manifest, folder: Path, packed: bytes, tag: str, base: str) -> None:
    lines: list[str] = []
    problem = None
    try:
        for told in client.api.build(
            fileobj=io.BytesIO(packed),
            custom_context=True,
            tag=tag,
            rm=True,
            forcerm=True,
            decode=True,
            buildargs={"BASE": base},
            labels={LABEL: manifest.name},
        ):
            lines += str(told.get("stream", "")).splitlines()
            problem = told.get("error", problem)
        client.images.get(tag)
    except (APIError, ImageNotFound) as error:
        problem = problem or error.explanation or str(error)
    except (DockerException, OSError) as error:
        raise failure(f"agent {manifest.name}: image of {folder}", error, "it to be built") from error
    if problem is not None:
        _forget_layers(client, lines)
        shown = [line for line in [*lines, *str(problem).splitlines()] if line.strip()][-SHOWN:]
        said = "".join(f"\n  {line}" for line in shown)
        no_step_done = not any(line.startswith(" --->") for line in lines)
        hint = f" ({HINT})" if no_step_done else ""
        raise EngineError(
            f"agent {manifest.name}: image of {folder}: got a build on {base} that fails, expected one that works{hint}; "
            f"its last lines:{said}"
        )


def _forget_layers(client: docker.DockerClient, lines: list[str]) -> None:
    """Removes what a build that failed got to, and what only that stands on; best effort."""
    layers = [line.split()[1] for line in lines if line.startswith(" ---> ") and len(line.split()) == 2]
    try:
        if layers:
            client.images.remove(layers[-1])
    except (DockerException, OSError):
        return


def _identity(client: docker.DockerClient, base: str) -> str:
    """What a base is, as far as can be known here: its id, or its name if it is yet to be fetched."""
    try:
        return str(client.images.get(base).id)
    except (DockerException, OSError):
        return base
