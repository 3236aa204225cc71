"""`fleetbeat schema`: the JSON Schema of scenarios."""

from __future__ import annotations

import click

from fleetbeat.cli.output import emit


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of scenarios (for editors)."""
    import json

    from fleetbeat.scenario.schema import schema

    emit(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
