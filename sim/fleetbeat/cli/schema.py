"""`fleetbeat schema`: the JSON Schema of scenarios."""

from __future__ import annotations

import click


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of scenarios (for editors)."""
    import json

    from fleetbeat.scenario.schema import schema

    click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))
