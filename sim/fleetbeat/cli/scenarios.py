"""`fleetbeat scenarios`: the scenarios that go by a name."""

from __future__ import annotations

import click

from fleetbeat.cli.output import emit


@click.command("scenarios")
def command() -> None:
    """List the scenarios that can be run by name."""
    from fleetbeat.scenario.library import scenarios

    known = scenarios()
    width = max(map(len, known), default=0)
    emit("".join(f"{name.ljust(width)}  {line}".rstrip() + "\n" for name, (_, line) in known.items()))
