"""`fleetbeat validate`: every mistake in scenarios, without running them."""

from __future__ import annotations

import click

from fleetbeat.cli.output import emit, narrate


@click.command("validate")
@click.argument("sources", nargs=-1, required=True, metavar="SCENARIO...")
@click.option(
    "--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Lay a value over a field, such as fleet.agents=10."
)
def command(sources: tuple[str, ...], overrides: tuple[str, ...]) -> None:
    """Check scenarios, by file or name, and the manifests of the agents in them, and print every mistake.

    Exit code 0 if there is none, 2 if there are some.
    """
    from fleetbeat.report.plain import safe_lines
    from fleetbeat.scenario.library import find, find_agent, find_core
    from fleetbeat.scenario.load import load
    from fleetbeat.scenario.manifest import load_core_manifest, load_manifest
    from fleetbeat.scenario.mistakes import ScenarioError
    from fleetbeat.scenario.resolve import groups

    wrong = False
    for source in sources:
        try:
            scenario = load(find(source), overrides=overrides)
            for name in dict.fromkeys(group.agent or scenario.fleet.agent for group in groups(scenario)):
                load_manifest(find_agent(name, None))
            if scenario.workload is not None:
                load_core_manifest(find_core(scenario.fleet.core.program))
        except ScenarioError as error:
            wrong = True
            narrate(safe_lines(error))
            continue
        agents = sum(group.count for group in groups(scenario)) + sum(
            spawn.count for spawn in scenario.fleet.lifecycle.spawns
        )
        counts = (
            _many(agents, "agent"),
            _many(len(scenario.rollouts), "rollout"),
            _many(len(scenario.faults), "fault"),
        )
        emit(f"ok: {scenario.name} ({', '.join(counts)})\n")
    if wrong:
        raise click.exceptions.Exit(2)


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
