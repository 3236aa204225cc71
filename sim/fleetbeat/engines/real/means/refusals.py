"""What else of a scenario no real engine can do to an agent with a command of its own: said before the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import AgentSpec, select


def refusals(scenario: Scenario, specs: Sequence[AgentSpec], manifests: Mapping[str, Manifest]) -> list[str]:
    """A line for each thing: its place in the scenario, on whom, and why not. `manifests` are by `AgentSpec.agent`."""
    foreign = {spec.name: manifests[spec.agent] for spec in specs if manifests[spec.agent].is_foreign}
    if not foreign:
        return []
    found = []
    by_host: dict[str, str] = {}
    for spec in specs:
        if spec.name in foreign:
            by_host.setdefault(spec.host, spec.name)
    for host in scenario.fleet.hosts:
        if (host.clock_offset or host.clock_ppm) and host.name in by_host:
            found.append(
                f"host {host.name}: its clock differs, and {by_host[host.name]} has a command of its own, which reads the"
                " machine's"
            )
    lifecycle = scenario.fleet.lifecycle
    for number, suspend in enumerate(lifecycle.suspend):
        names = select(suspend.agents, specs, salt=f"suspend:{number}")
        found += _unasked(f"lifecycle.suspend[{number}]", names, foreign, ("suspend",))
    for number, rebuild in enumerate(lifecycle.rebuilds):
        names = select(rebuild.agents, specs, salt=f"rebuild:{number}")
        signs = ("refresh", "rebuild") if rebuild.cause == "refresh" else ("rebuild",)
        found += _unasked(f"lifecycle.rebuilds[{number}]", names, foreign, signs)
    return found


def _unasked(where: str, names: Sequence[str], foreign: Mapping[str, Manifest], signs: Sequence[str]) -> list[str]:
    """The first agent that cannot be asked for any of these."""
    for name in names:
        if name in foreign and not any(sign in foreign[name].signs for sign in signs):
            asked = " or ".join(signs)
            return [f"{where}: {name} has a command of its own, and its manifest names no sign in `asks` for {asked}"]
    return []
