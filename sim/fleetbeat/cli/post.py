"""`fleetbeat post`: put rules into the directories of real agents, by the documented way."""

from __future__ import annotations

from pathlib import Path

import click

from fleetbeat.cli.errors import BROKEN, HELD


@click.command("post", short_help="Post rules to real agents: a temporary file, and one rename.")
@click.argument("fleet", metavar="FLEET")
@click.argument("agents", metavar="AGENT...", nargs=-1, required=True)
@click.option("--body", required=True, metavar="FILE", help="The file that holds the rules.")
@click.option("--wait", default=0.0, metavar="SECONDS", help="Wait until they are effective everywhere, so long.")
def command(fleet: str, agents: tuple[str, ...], body: str, wait: float) -> int:
    """Post the rules in a file to each AGENT, which is a directory below the directory FLEET.

    Every target is named: nothing is sent to agents that are not, nor to those that come later. Each is written and
    reported on its own. Exit code 0; 1 if a post failed, or was not effective in time.
    """
    from fleetbeat.cli.errors import Refused
    from fleetbeat.cli.output import emit
    from fleetbeat.engines.real import bystander
    from fleetbeat.report.plain import safe

    top, failed, posted = Path(fleet), 0, []
    try:
        text = Path(body).read_bytes()
        text.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"--body: got {body}: {error}, expected a file of UTF-8 text") from error
    for agent in agents:
        if agent in ("", ".", "..") or agent.startswith("/") or ".." in agent.split("/"):
            raise Refused(f"AGENT: got {agent!r}, expected the name of a directory below {fleet}")
    for agent in agents:
        try:
            bystander.post(top, agent, text)
            posted.append(agent)
            emit(f"{safe(agent)}: posted {bystander.digest_of(text)}\n")
        except OSError as error:
            failed += 1
            emit(f"{safe(agent)}: not posted: {safe(error.strerror or error)}\n")
    if wait and posted:
        failed += _await(top, posted, bystander.digest_of(text), wait)
    return BROKEN if failed else HELD


def _await(fleet: Path, agents: list[str], wanted: str, seconds: float) -> int:
    """Tells of each agent when the rules are effective there; how many they were not in time."""
    from fleetbeat.cli.output import emit
    from fleetbeat.engines.real import bystander
    from fleetbeat.report.plain import safe

    missing = list(agents)
    for at, agent, view in bystander.changes(fleet, agents, seconds, lambda views: not missing):
        if view.effective == wanted and agent in missing:
            missing.remove(agent)
            emit(f"{safe(agent)}: effective after {at:.1f} s\n")
    for agent in missing:
        emit(f"{safe(agent)}: not effective after {seconds:g} s: {bystander.look(fleet, agent).words()}\n")
    return len(missing)
