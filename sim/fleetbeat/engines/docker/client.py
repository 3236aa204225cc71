"""The engine that runs containers, found and asked: Docker 20.10 or newer, or Podman by the same interface.

Only an engine of this machine is talked to, unless somebody names another (`--docker-host`): the agents' directories are
bind mounts of this machine's, and an environment variable left over from other work must not send a fleet elsewhere.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import docker
from docker.errors import DockerException

from fleetbeat.engines.real.errors import EngineError

#: Docker 20.10's. Older ones lack nothing that can be named in a sentence; nothing older is tested.
API = (1, 41)
#: For the first question, which every API answers alike.
FIRST_API = "1.41"
TIMEOUT_S = 60
#: Containers that are started or removed at a time. Source: REAL.md (4 to 7 a second).
PARALLEL = 4


@dataclass(frozen=True, slots=True)
class Facts:
    """What engine answers here. `why` is None if it can be used, else why not, in words; then the others may be ""."""

    host: str
    server: str
    version: str
    api: str
    rootless: bool
    why: str | None


def connect(host: str | None = None) -> tuple[docker.DockerClient, Facts]:
    """A client of the engine at `host`, or of the first that answers here. Raises `EngineError` in words."""
    client, facts = _find(host)
    if client is None:
        raise EngineError(facts.why or "no container engine")
    return client, facts


def doctor_facts(docker_host: str | None = None) -> Facts:
    """What `connect` would find. Raises nothing."""
    client, facts = _find(docker_host)
    if client is not None:
        client.close()
    return facts


def _find(named: str | None) -> tuple[docker.DockerClient | None, Facts]:
    left_over = os.environ.get("DOCKER_HOST", "")
    if named is None and left_over and not left_over.startswith("unix://"):
        why = (
            f"DOCKER_HOST: got {left_over!r}, expected an engine of this machine (unix://...); "
            f"one that is elsewhere must be named: --docker-host {left_over}"
        )
        return None, Facts(left_over, "", "", "", False, why)
    places = [named] if named is not None else [left_over] if left_over else list(sockets())
    problems = []
    for place in places:
        client, facts = _ask(place)
        if client is not None:
            return client, facts
        problems.append(facts)
    if problems:
        return None, problems[0]
    why = (
        "container engine: got no socket of Docker or Podman, expected an engine that runs here "
        "(start dockerd, or podman system service), or --docker-host URL"
    )
    return None, Facts("", "", "", "", False, why)


def sockets() -> Iterator[str]:
    """Where engines of this machine listen, those that are there."""
    own = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    for path in (
        "/var/run/docker.sock",
        f"{own}/docker.sock",
        f"{own}/podman/podman.sock",
        "/run/podman/podman.sock",
    ):
        if os.path.exists(path):
            yield f"unix://{path}"


def _ask(host: str) -> tuple[docker.DockerClient | None, Facts]:
    """A client and what it is one of; None and why not."""
    client = None
    try:
        _knock(host)
        client = docker.DockerClient(base_url=host, version=FIRST_API, timeout=TIMEOUT_S)
        told: dict[str, Any] = client.version(api_version=False)
        version, api = str(told.get("Version", "?")), str(told.get("ApiVersion", "none"))
        names = [part.get("Name", "") for part in told.get("Components") or []]
        server = "Podman" if any("Podman" in name for name in names) else "Docker"
        if not _is_new_enough(api):
            return None, Facts(host, server, version, api, False, too_old(f"{server} {version} (API {api})", host))
        client.close()
        client = docker.DockerClient(base_url=host, version=api, timeout=TIMEOUT_S, max_pool_size=2 * PARALLEL)
        is_rootless = any("rootless" in option for option in client.info().get("SecurityOptions") or [])
        used, client = client, None
        return used, Facts(host, server, version, api, is_rootless, None)
    except (DockerException, OSError, ValueError, AttributeError) as error:
        return None, Facts(host, "", "", "", False, _words(host, error))
    finally:
        if client is not None:
            client.close()


def _knock(host: str) -> None:
    """Connects to a socket of this machine and says no more. Raises the system's own `OSError`, which the SDK wraps."""
    scheme, _, path = host.partition("://")
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
            end.settimeout(TIMEOUT_S)
            end.connect(path)


def too_old(got: str, host: str) -> str:
    return f"container engine at {host}: got {got}, expected Docker 20.10 (API 1.41) or newer, or Podman 4"


def _is_new_enough(api: str) -> bool:
    try:
        return tuple(int(part) for part in api.split(".")) >= API
    except ValueError:
        return False


def _words(host: str, error: Exception) -> str:
    """Why there is no talking to an engine."""
    where = f"container engine at {host}: got "
    if isinstance(error, PermissionError):
        return (
            f"{where}no permission on its socket, expected to be root or in the socket's group "
            "(usermod -aG docker USER, then a new login)"
        )
    if isinstance(error, FileNotFoundError):
        return f"{where}no socket there, expected an engine that runs (start dockerd)"
    if isinstance(error, ConnectionRefusedError):
        return f"{where}nobody listening, expected an engine that runs (start dockerd)"
    return f"{where}{str(error)[:300]}, expected an answer of Docker or Podman"


def failure(what: str, error: Exception, expected: str) -> EngineError:
    """What the engine refused, as an error in words."""
    said = getattr(error, "explanation", None) or str(error)
    return EngineError(f"{what}: got {str(said).strip()[:600]}, expected {expected}")
