"""Plays the conformance suite on an engine, and settles beforehand which rows that engine cannot play, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fleetbeat.conform.row import Row
from fleetbeat.conform.stage import numbered
from fleetbeat.conform.suite import Result, check
from fleetbeat.engines import ENGINES
from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.history.records import Record
from fleetbeat.scenario.manifest import Manifest, load_manifest
from fleetbeat.scenario.model import Scenario

Progress = Callable[[int], None]


def played(folder: Path, engine: str, rows: Sequence[Row], progress: Progress | None = None) -> list[Result]:
    """The answer of an engine for each row, in order.

    Raises `ScenarioError` for a folder that is no agent's, `CannotDo` if the engine refuses more than single rows,
    KeyboardInterrupt for a run that was interrupted, and what the engine raises.
    """
    manifest = load_manifest(folder)
    if engine == "des":
        refused = _without_program(folder, manifest, rows)
    else:
        refused = {row.id: why for row in rows if (why := _not_here(row, manifest)) is not None}
    owner = os.getuid()
    uid = None if engine == "des" or owner == 0 else owner
    run = ENGINES.engine(engine)

    def play(scenario: Scenario) -> Sequence[Record]:
        records = run(scenario, None, progress)
        if records[-1].get("reason") == "interrupted":
            raise KeyboardInterrupt  # half a run says nothing about a row
        return records

    wanted = [_plain(numbered(row)) if engine != "des" and manifest.is_foreign else numbered(row) for row in rows]
    while True:
        try:
            return check(folder, play, wanted, refused=refused, uid=uid)
        except CannotDo as error:
            more, left = blamed(error.lines, wanted)
            if not more.keys() - refused.keys() and left == wanted:
                raise
            wanted, refused = left, {**more, **refused}


def blamed(lines: Sequence[str], rows: Sequence[Row]) -> tuple[dict[str, str], list[Row]]:
    """What an engine refused, by the faults and agents that its words name: row -> why, and the rows without faults
    that were refused. A row whose faults are all refused, or whose agent is, cannot be played.
    """
    found: dict[str, str] = {}
    left: list[Row] = []
    named = [(line, {word.strip("\"'`,:;()") for word in line.split()}) for line in lines]
    for row in rows:
        why = {fault["id"]: line for fault in row.faults for line, words in named if fault["id"] in words}
        faults = tuple(fault for fault in row.faults if fault["id"] not in why)
        lasting = [line for line, words in named if f"{row.id}-0" in words and not why]
        if lasting or (why and not faults):
            found[row.id] = (lasting or list(why.values()))[0]
            left.append(row)
        else:
            left.append(replace(row, faults=faults))
    return found, left


def _plain(row: Row) -> Row:
    """The row for a process that is traced from outside: there a path is one file and no glob."""
    faults = [{**fault, "path": str(fault["path"]).rstrip("*")} if "path" in fault else fault for fault in row.faults]
    return replace(row, faults=tuple(fault for fault in faults if not str(fault.get("path", "")).endswith(".")))


def _without_program(folder: Path, manifest: Manifest, rows: Sequence[Row]) -> dict[str, str]:
    if (folder / manifest.program).is_file():
        return {}
    return {row.id: f"it has no program for simulation ({manifest.program})" for row in rows}


def _not_here(row: Row, manifest: Manifest) -> str | None:
    """Why real files cannot show a row; None if they can, as far as that is known before the engine is asked."""
    if row.simulated:
        return row.simulated
    if os.geteuid() != 0 and any("uid" in post for post in row.posts):
        return "it takes root to write as another user"
    if manifest.is_foreign:
        wanted = dict.fromkeys(piece.get("cause", "molt") for piece in row.rebuilds)
        for cause in ["refresh" if cause == "refresh" else "rebuild" for cause in wanted] + ["suspend"] * bool(
            row.suspend
        ):
            if cause not in manifest.asks:
                return f"its manifest has no way to ask it ({cause})"
    return None
