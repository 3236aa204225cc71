"""`fleetbeat watch`: look how real agents stand, and say what changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import BROKEN, HELD

if TYPE_CHECKING:
    from fleetbeat.engines.real.bystander import View


@click.command("watch", short_help="Watch real agents: beats, canonical, effective rules.")
@click.argument("fleet", metavar="FLEET")
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@click.option("--body", metavar="FILE", help="End once every agent beats and the rules in this file are effective.")
@click.option("--for", "seconds", default=60.0, show_default=True, metavar="SECONDS", help="Watch for so long at most.")
def command(fleet: str, agents: tuple[str, ...], body: str | None, seconds: float) -> int:
    """Watch the agents whose directories lie in the directory FLEET, and print a line for each change.

    Exit code 0; with --body 1 if its rules did not become effective everywhere in time.
    """
    from fleetbeat.cli.errors import Refused
    from fleetbeat.cli.output import emit
    from fleetbeat.engines.real import bystander
    from fleetbeat.report.plain import safe

    top, wanted = Path(fleet), None
    if not top.is_dir():
        raise Refused(f"FLEET: got {fleet}, expected the directory in which agents' directories lie")
    if body is not None:
        try:
            wanted = bystander.digest_of(Path(body).read_bytes())
        except OSError as error:
            raise Refused(f"--body: got {body}: {error.strerror}, expected a file") from error

    def is_enough(views: dict[str, View]) -> bool:
        return (
            wanted is not None and bool(views) and all(v.is_beating and v.effective == wanted for v in views.values())
        )

    known: dict[str, View] = {}
    for at, agent, view in bystander.changes(top, agents, seconds, is_enough):
        known[agent] = view
        emit(f"{at:6.1f} s  {safe(agent)}: {view.words()}\n")
    beating = sum(view.is_beating for view in known.values())
    told = f"{len(known)} agents, {beating} beating"
    if wanted is not None:
        told += f", {wanted} effective in {sum(view.effective == wanted for view in known.values())}"
    emit(f"{told}\n")
    return HELD if wanted is None or is_enough(known) else BROKEN
