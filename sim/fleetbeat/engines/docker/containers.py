"""What a container of an agent is: what it may do, what it sees of this machine, and whose it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docker.types import LogConfig, Mount, Ulimit

from fleetbeat.engines.docker.client import Facts
from fleetbeat.engines.docker.context import PLACE
from fleetbeat.engines.real.hosting import Launch
from fleetbeat.engines.real.root import FleetRoot, Mark

FLEET, COMMON, CONTROL = "/fleet", "/control/common", "/control"
MEMORY = "256m"
PROCESSES = 256
FILES = 1024
#: Processes and threads of one user in all containers together, with Podman.
OF_USER = 16384
SUPERVISOR = "supervise"
DRIVER = ("python3", "-S", "-m", "fleetbeat.protocol.live")

#: Runs an agent with a command of its own: asks it to end when its lease is over, or when it is asked itself. Its first
#: argument is the lease's file, the second how many looks, two seconds apart, may find it unchanged; then the command.
SUPERVISE = """\
lease=$1 most=$2 seen=/tmp/.lease.seen
shift 2
"$@" &
agent=$!
trap 'kill -TERM "$agent" 2>/dev/null' TERM INT
(
  trap - TERM INT
  looks=0
  while [ "$looks" -lt "$most" ]; do
    : >"$seen"
    sleep 2
    if [ "$lease" -nt "$seen" ]; then looks=0; else looks=$((looks + 1)); fi
  done
  kill -TERM "$agent" 2>/dev/null
  sleep 3
  kill -KILL "$agent" 2>/dev/null
) &
watch=$!
wait "$agent"
code=$?
while kill -0 "$agent" 2>/dev/null; do
  wait "$agent"
  code=$?
done
kill "$watch" 2>/dev/null
exit "$code"
"""


def labels(mark: Mark, root: Path, crew: str, life: int) -> dict[str, str]:
    """Whose a container is, for people and for `clean`."""
    told: Mapping[str, Any] = {
        "run": mark.run,
        "root": root,
        "crew": crew,
        "life": life,
        "pid": mark.pid,
        "pid_start": mark.pid_start,
        "started": mark.started,
    }
    return {f"fleetbeat.{name}": str(value) for name, value in told.items()}


def command_of(launch: Launch) -> list[str]:
    """The words that the container runs."""
    if launch.crew.driver:
        return [*launch.prefix, *DRIVER, str(launch.plan)]
    return ["sh", f"{COMMON}/{SUPERVISOR}", f"{COMMON}/lease", "10", *launch.prefix, *launch.words]


def user_of(uid: int, facts: Facts) -> dict[str, str]:
    """Who a container's process is, so that on this machine it is the user `uid`, or us if we are not root: then only our
    own directories can be an agent's. Without root, Docker has our own user as the container's root, and Podman is told."""
    if os.getuid() == 0:
        return {"user": f"{uid}:{uid}"}
    if facts.rootless and facts.server == "Docker":
        return {"user": "0:0"}
    own = {"user": f"{os.getuid()}:{os.getgid()}"}
    return {**own, "userns_mode": "keep-id"} if facts.rootless else own


def limits(facts: Facts) -> list[Ulimit]:
    """Of open files; with Podman also of processes of one user, which it would otherwise set to more than it may where it
    is itself contained."""
    found = [Ulimit(name="nofile", soft=FILES, hard=FILES)]
    return [*found, Ulimit(name="nproc", soft=OF_USER, hard=OF_USER)] if facts.server == "Podman" else found


def options(launch: Launch, root: FleetRoot, image: str, code: Path | None, facts: Facts) -> dict[str, Any]:
    """Arguments of `containers.create`. `code`: our driver on this machine, for an image that has none.

    No network, no capability but what a prefix needs (a tracer), no way to get one, little memory, few processes, nothing
    of the image writable. PID 1 is the engine's small init and not the agent: the kernel keeps a PID 1 from killing itself,
    and so no crash could be played.
    """
    crew = launch.crew
    mounts = [
        _bind(root.common, COMMON, read_only=True),
        _bind(root.own(crew.id), f"{CONTROL}/{crew.id}"),
        *(_bind(root.home(agent.home), f"{FLEET}{agent.home}") for agent in crew.agents),
    ]
    if code is not None:
        mounts.append(_bind(code, PLACE, read_only=True))
    return {
        "image": image,
        "name": f"fleetbeat-{root.run}-{crew.id}-{launch.life}",
        "entrypoint": [],
        "command": command_of(launch),
        "environment": {"PYTHONPATH": f"{PLACE}/python", "PYTHONUNBUFFERED": "1", "FLEETBEAT_RUN": root.run},
        "init": True,
        **user_of(crew.uid, facts),
        "network_mode": "none",
        "hostname": "agent",
        "security_opt": ["no-new-privileges"],
        "cap_drop": ["ALL"],
        "cap_add": ["SYS_PTRACE"] if launch.prefix else None,
        "mem_limit": MEMORY,
        "memswap_limit": MEMORY,
        "pids_limit": PROCESSES,
        "ulimits": limits(facts),
        "read_only": True,
        "tmpfs": {"/tmp": "size=16m,mode=1777"},
        "log_config": LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}),
        "labels": labels(root.mark, root.path, crew.id, launch.life),
        "mounts": mounts,
        "detach": True,
    }


def _bind(source: Path, target: str, *, read_only: bool = False) -> Mount:
    return Mount(target, str(source), type="bind", read_only=read_only)


def code_of(exit_code: int) -> int:
    """An exit code of a container as a process's: 137, which its init says for SIGKILL, is -9."""
    return 128 - exit_code if exit_code > 128 else exit_code
