"""`fleetbeat clean`: remove what killed runs left behind, and nothing else.

Processes, containers, mounts and directories of runs whose harness is gone; a run that goes on is left alone. Images are
removed on request.
"""

from __future__ import annotations

from pathlib import Path

import click

from fleetbeat.cli.errors import ENVIRONMENT, HELD


@click.command("clean", short_help="Remove what killed runs left behind.")
@click.option("--root", metavar="DIR", help="Only the run whose root this is; else all in the usual place.")
@click.option("--images", is_flag=True, help="The images that were built for agents as well.")
@click.option("--docker-host", metavar="URL", help="The engine whose containers are meant; else this machine's.")
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
def command(root: str | None, images: bool, docker_host: str | None, dry_run: bool) -> int:
    """Remove what runs left behind that were killed: processes, containers, mounts and directories.

    What belongs to a run that still goes on is left alone. Exit code 0; 4 if something could not be removed.
    """
    from fleetbeat.cli.errors import Refused
    from fleetbeat.cli.output import emit, narrate
    from fleetbeat.engines.process.leftovers import leftovers
    from fleetbeat.engines.real.errors import EngineError
    from fleetbeat.engines.real.root import is_home, is_ours, read_mark
    from fleetbeat.report.plain import safe, safe_lines

    place = None if root is None else Path(root).absolute()
    mark = None if place is None else read_mark(place)
    if place is not None and (not root or mark is None):
        raise Refused(f"--root: got {safe(str(root)) or 'nothing'}, expected a directory that a run marked as its own")
    if place is not None and (not is_ours(place) or is_home(place) or place.resolve() == Path("/")):
        raise Refused(
            f"--root: got {safe(str(root))}, which is marked and yet a link, a home or another user's, expected our own"
        )
    if mark is not None and mark.is_alive:
        raise Refused(f"--root: got the root of a run that goes on (process {mark.pid}), expected one that is gone")
    word = "would remove" if dry_run else "removed"
    count, failed = 0, False
    for line in _containers(None if mark is None else mark.run, images, dry_run, docker_host):
        emit(f"{word} {safe(line)}\n")
        count += 1
    for left in leftovers(place):
        try:
            if not dry_run:
                left.remove()
            emit(f"{word} {safe(left.what)}\n")
            count += 1
        except (EngineError, OSError) as error:
            narrate(f"fleetbeat clean: {safe_lines(error)}")
            failed = True
    if not count and not failed:
        emit("nothing was left behind\n")
    return ENVIRONMENT if failed else HELD


def _containers(run: str | None, images: bool, dry_run: bool, docker_host: str | None) -> list[str]:
    """What was removed of containers and images. An engine that is not there holds nothing of ours, unless it is named."""
    from fleetbeat.cli.output import narrate
    from fleetbeat.engines import docker
    from fleetbeat.engines.real.errors import EngineError

    try:
        return docker.clean(run=run, images=images, dry_run=dry_run, docker_host=docker_host)
    except (EngineError, ModuleNotFoundError) as error:
        if docker_host is not None or images:
            raise
        narrate(f"fleetbeat clean: containers were not looked for: {str(error).splitlines()[0]}")
        return []
