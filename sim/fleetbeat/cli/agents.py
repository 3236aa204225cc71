"""`fleetbeat agents`: the agents that go by a name, and whether an agent does what is specified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import BROKEN, HELD, INCONCLUSIVE

if TYPE_CHECKING:
    from fleetbeat.conform.row import Row
    from fleetbeat.conform.suite import Result
    from fleetbeat.scenario.manifest import Manifest


@click.group("agents", invoke_without_command=True, short_help="List agents; hold one against the specification.")
@click.pass_context
def command(context: click.Context) -> int:
    """List the agents and cores that a scenario can name; `agents check` holds one against the specification."""
    if context.invoked_subcommand is None:
        _list()
    return HELD


def _list() -> None:
    from fleetbeat.cli.output import emit
    from fleetbeat.report.plain import item, safe
    from fleetbeat.scenario.library import agents, cores
    from fleetbeat.scenario.manifest import load_manifest

    right = {name: folder for name, folder in cores().items() if folder.parent.name != "mutants"}
    for name, folder in {**agents(), **right}.items():
        manifest = load_manifest(folder)
        lines = [safe(manifest.about)]
        if not manifest.is_core_alone:
            lines.append(f"known gaps: {', '.join(manifest.known_gaps) or 'none'}")
            lines.append(f"engines: {_engines(manifest, folder)}")
        if manifest.core is not None:
            guards = ", ".join(safe(guard.gate) for guard in manifest.guards) or "none"
            lines.append(f"core of the event framework; gates built in: {guards}")
        emit(f"{name}\n" + "".join(f"{item(line)}\n" for line in lines))


def _engines(manifest: Manifest, folder: Path) -> str:
    """The engines that can play an agent, by what its folder holds."""
    found = ["des"] if (folder / manifest.program).is_file() else []
    found += ["process"]
    if manifest.image is not None or (folder / "Dockerfile").is_file():
        found.append("docker")
    return ", ".join(found)


@command.command("check", short_help="Play the conformance suite against an agent.")
@click.argument("agent", metavar="FOLDER|NAME")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="NAME",
    help="What plays it: des, process or docker; again for more. [default: des and process]",
)
@click.option("--row", "names", multiple=True, metavar="ROW", help="These rows alone; again for more.")
@click.option("--json", "as_json", is_flag=True, help="The answers as JSON on standard output.")
def check(agent: str, engines: tuple[str, ...], names: tuple[str, ...], as_json: bool) -> int:
    """Play each row of the specification's table against an agent, in simulation and on real files.

    Exit code 0: nothing differs; 1: something does; 3: no row could be observed.
    """
    from fleetbeat.cli.errors import Refused
    from fleetbeat.cli.output import emit
    from fleetbeat.conform import suite_words
    from fleetbeat.conform.played import played
    from fleetbeat.scenario.library import find_agent
    from fleetbeat.scenario.manifest import load_manifest

    folder = find_agent(agent if not Path(agent, "agent.yaml").is_file() else str(Path(agent).resolve()))
    manifest = load_manifest(folder)
    if manifest.is_core_alone:
        expected = "an agent; a core is put on trial by: fleetbeat run core-trial --set fleet.core="
        raise Refused(f"{folder}: got nothing but a core, expected {expected}{agent}")
    rows = _chosen(names)
    answers: dict[str, Sequence[Result]] = {name: played(folder, name, rows) for name in _known(engines)}
    if as_json:
        emit(suite_words.document(manifest.name, rows, answers))
    else:
        emit(suite_words.render(manifest.name, manifest.about, rows, answers))
    found = [one.answer for results in answers.values() for one in results]
    if "differs" in found:
        return BROKEN
    return HELD if "as specified" in found else INCONCLUSIVE


def _chosen(names: Sequence[str]) -> tuple[Row, ...]:
    from fleetbeat.cli.errors import Refused
    from fleetbeat.conform.rows import ROWS

    known = [row.id for row in ROWS]
    for name in names:
        if name not in known:
            raise Refused(f"--row: got {name!r}, expected one of {', '.join(known)}")
    return tuple(row for row in ROWS if row.id in names) if names else ROWS


def _known(engines: Sequence[str]) -> Sequence[str]:
    from fleetbeat.cli.errors import Refused
    from fleetbeat.engines import ENGINES

    for name in engines:
        if name not in ENGINES:
            raise Refused(f"--engine: got {name!r}, expected one of {', '.join(ENGINES)}")
    return tuple(dict.fromkeys(engines)) or ("des", "process")
