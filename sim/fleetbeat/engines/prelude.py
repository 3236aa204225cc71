"""The head of a history: what was planned, before anything happens. The same for every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetbeat import __version__
from fleetbeat.engines.bodies import Bodies
from fleetbeat.engines.injector import Injector, plan_fields
from fleetbeat.history.records import SCHEMA, Record
from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.model import Rollout, Scenario
from fleetbeat.scenario.resolve import AgentSpec, body_of

#: Runnable beats within which a signal must be resolved once faults are off. Source: PROTOCOL, invariant `drains`.
BOUND_BEATS = 2


def _record(kind: str, fields: Mapping[str, Any]) -> Record:
    return Record(0, "harness", kind, fields)


def head(
    scenario: Scenario,
    engine: str,
    specs: Sequence[AgentSpec],
    manifests: Mapping[str, Manifest],
    injector: Injector,
    bodies: Bodies,
    waves: Mapping[str, Sequence[Sequence[str]]],
    observed: Sequence[str] = ("ops",),
) -> list[Record]:
    """Run, hosts, rollouts, planned faults, known bodies, agents there from the start; all at time 0.

    `observed` says what this engine observes beyond the common part.
    """
    records = [
        _record(
            "run",
            {
                "schema": SCHEMA,
                "fleetbeat": __version__,
                "scenario": scenario.name,
                "seed": scenario.seed,
                "engine": engine,
                "duration": scenario.duration,
                "observed": list(observed),
                "expect": scenario.expect.model_dump(mode="json"),
                "bound": BOUND_BEATS,
            },
        )
    ]
    for host in scenario.fleet.hosts:
        records.append(
            _record(
                "host",
                {
                    "host": host.name,
                    "disk": host.disk,
                    "system_disk": host.system_disk,
                    "clock_offset": host.clock_offset,
                    "clock_ppm": host.clock_ppm,
                },
            )
        )
    known: list[Record] = []

    def report(fields: dict[str, Any]) -> None:
        known.append(_record("body", fields))

    bodies.see(b"", "start", report)
    for rollout in scenario.rollouts:
        body = bodies.see(body_of(rollout), "rollout", report, rollout.version)
        records.append(_record("rollout", rollout_fields(rollout, body, waves[rollout_id(rollout)])))
    records += [_record("fault.plan", plan_fields(rule)) for rule in injector.rules]
    agents = []
    for spec in specs:
        if spec.spawn_at is None:
            agents.append(_record("agent", agent_fields(spec, manifests[spec.agent], bodies, report)))
            agents += [_record("edit", edit) for edit in start_edits(spec, bodies, report)]
    return records + known + agents


def start_edits(spec: AgentSpec, bodies: Bodies, report: Any) -> list[dict[str, Any]]:
    """The `edit` record of a signal that lies there from the start."""
    if spec.start.signal != "file":
        return []
    body = bodies.see(spec.start.signal_text.encode("utf-8"), "start", report)
    return [{"agent": spec.name, "path": ".rules", "body": body, "by": "start state"}]


def rollout_id(rollout: Rollout) -> str:
    """A rollout is named by its version; two operators rolling out one version are told apart by their names."""
    return rollout.version if rollout.operator == "op" else f"{rollout.operator}:{rollout.version}"


def rollout_fields(rollout: Rollout, body: str, waves: Sequence[Sequence[str]]) -> dict[str, Any]:
    return {
        "rollout": rollout_id(rollout),
        "version": rollout.version,
        "operator": rollout.operator,
        "body": body,
        "targets": [agent for wave in waves for agent in wave],
        "write": rollout.write,
        "verify": rollout.verify,
        "waves": [list(wave) for wave in waves],
    }


def agent_fields(spec: AgentSpec, manifest: Manifest, bodies: Bodies, report: Any) -> dict[str, Any]:
    rules = spec.start.rules
    return {
        "agent": spec.name,
        "home": spec.home,
        "host": spec.host,
        "program": manifest.name,
        "parent": spec.parent,
        "spawned": spec.spawn_at is not None,
        "declares": list(manifest.writes),
        "set_aside": list(manifest.set_aside),
        "known_gaps": list(manifest.known_gaps),
        "canonical": None if rules is None else bodies.see(rules.encode("utf-8"), "start", report),
        "interval": spec.heartbeat.interval,
    }
