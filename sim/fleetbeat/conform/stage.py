"""The scenario of a conformance run: one agent for each row, all in one fleet, so that all rows take nine seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fleetbeat.conform.row import Row
from fleetbeat.scenario.dump import written
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

DURATION = "9s"


def stage(folder: Path, rows: Iterable[Row], uid: int | None = None) -> Scenario:
    """The scenario in which the agent of a folder meets these rows. Raises `ScenarioError` for a folder without one."""
    chosen = tuple(rows)
    owned = {} if uid is None else {"uid": uid}
    data: dict[str, Any] = {
        "name": "agents-check",
        "duration": DURATION,
        "fleet": {
            **owned,
            "agent": str(folder.resolve()),
            "heartbeat": {"interval": "1s", "phase": "aligned"},
            "hosts": [{"name": "plain"}, *({"name": f"host-{row.id}"} for row in chosen if row.simulated)],
            "groups": [_group(row) for row in chosen],
            "lifecycle": {
                "rebuilds": _for_agents(chosen, "rebuilds"),
                "suspend": _for_agents(chosen, "suspend"),
                "crashes": _for_agents(chosen, "crashes"),
            },
        },
        "faults": [{**fault, "agents": _agent(row)} for row in map(numbered, chosen) for fault in row.faults],
        "rollouts": [
            {**owned, **post, "version": f"{row.id}.{post['version']}", "targets": _agent(row)}
            for row in chosen
            for post in row.posts
        ],
    }
    return load(written(data), "agents check")


def numbered(row: Row) -> Row:
    """The row with an id for each fault, `ROW.1`, `ROW.2`, ...; those that have one keep it."""
    faults = tuple({"id": f"{row.id}.{number}", **fault} for number, fault in enumerate(row.faults, 1))
    return replace(row, faults=faults)


def _agent(row: Row) -> str:
    return f"{row.id}-0"


def _group(row: Row) -> dict[str, Any]:
    """A group of one. Power fails on a host, so a row that needs that has a host of its own."""
    group: dict[str, Any] = {"name": row.id, "count": 1, "hosts": [f"host-{row.id}" if row.simulated else "plain"]}
    return group if row.start is None else {**group, "start": dict(row.start)}


def _for_agents(rows: Sequence[Row], kind: str) -> list[dict[str, Any]]:
    return [{**piece, "agents": _agent(row)} for row in rows for piece in getattr(row, kind)]
