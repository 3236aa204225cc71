"""`fleetbeat validate`: every mistake in scenarios, without running them."""

from __future__ import annotations

import click


@click.command("validate")
@click.argument("sources", nargs=-1, required=True, metavar="SCENARIO...")
@click.option(
    "--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Lay a value over a field, such as fleet.agents=10."
)
def command(sources: tuple[str, ...], overrides: tuple[str, ...]) -> None:
    """Check scenarios, by file or name, and print every mistake in them.

    Exit code 0 if there is none, 2 if there are some.
    """
    from fleetbeat.scenario.library import find
    from fleetbeat.scenario.load import load
    from fleetbeat.scenario.mistakes import ScenarioError
    from fleetbeat.scenario.resolve import groups

    wrong = False
    for source in sources:
        try:
            scenario = load(find(source), overrides=overrides)
        except ScenarioError as error:
            wrong = True
            click.echo(str(error), err=True)
            continue
        agents = sum(group.count for group in groups(scenario)) + sum(
            spawn.count for spawn in scenario.fleet.lifecycle.spawns
        )
        counts = (
            _many(agents, "agent"),
            _many(len(scenario.rollouts), "rollout"),
            _many(len(scenario.faults), "fault"),
        )
        click.echo(f"ok: {scenario.name} ({', '.join(counts)})")
    if wrong:
        raise click.exceptions.Exit(2)


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
