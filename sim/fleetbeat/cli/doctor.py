"""`fleetbeat doctor`: what this machine has, which faults each engine can carry out on it, and why not.

Nothing here waits for long: a container engine that does not answer is said to be silent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from fleetbeat.cli.errors import ENVIRONMENT, HELD
from fleetbeat.cli.output import emit

if TYPE_CHECKING:
    from fleetbeat.engines.real.means.model import Machine

ENGINES = ("process", "docker")
#: How long a container engine may take to answer, s.
PATIENCE_S = 1.0
MEMORY = "a limit of memory"


@click.command("doctor", short_help="Say what this machine can do, and which faults.")
@click.argument("scenario", required=False)
@click.option("--engine", type=click.Choice(ENGINES), help="Only this engine; default: both.")
@click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a field of the scenario; again for more."
)
@click.option("--docker-host", metavar="URL", help="A container engine that is named, else this machine's.")
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
def command(
    scenario: str | None, engine: str | None, sets: tuple[str, ...], docker_host: str | None, as_json: bool
) -> int:
    """Say what this machine has, and which faults each real engine can carry out here and by which means.

    With SCENARIO: its faults one by one. Exit code 0; 4 if no engine asked for can carry out the scenario here.
    """
    if sets and scenario is None:
        raise click.UsageError("--set: got no SCENARIO, expected one whose fields to override")
    from fleetbeat.engines.real.means import machine

    engines = ENGINES if engine is None else (engine,)
    facts = machine()
    container = _container(docker_host) if "docker" in engines else None
    found: dict[str, Any] = {"machine": _machine(facts), "docker": container, "engines": {}}
    if scenario is None:
        found["engines"] = {name: _kinds(name, facts, container) for name in engines}
    else:
        found.update(_scenario(scenario, sets, engines, facts, container))
    emit(json.dumps(found, indent=2) + "\n" if as_json else _text(found))
    can = scenario is None or any(answer["can"] for answer in found["engines"].values())
    return HELD if can else ENVIRONMENT


# --- facts ---


def _machine(facts: Machine) -> dict[str, Any]:
    return {
        "uid": facts.uid,
        "root": facts.is_root,
        "kernel": facts.kernel,
        "strace": {"version": facts.strace, "why_not": facts.strace_why, "why_not_attached": facts.attach_why},
        "mounts": {"why_not": facts.mount_why},
        "inotify": dict(facts.inotify),
    }


def _container(docker_host: str | None) -> dict[str, Any]:
    """What container engine answers, asked in a thread of its own: a socket that nobody serves would hold us up."""
    told: list[dict[str, Any]] = []

    def ask() -> None:
        try:
            from fleetbeat.engines.docker import doctor_facts

            told.append(asdict(doctor_facts(docker_host)))
        except Exception as error:  # a library that is missing or broken is an answer, too
            told.append({"why": f"container engine: {type(error).__name__}: {error}"})

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(PATIENCE_S)
    silent = {"why": f"container engine: got no answer within {PATIENCE_S:g} s, expected one that runs"}
    answer = told[0] if told else silent
    return {
        **{name: answer.get(name) or None for name in ("host", "server", "version", "api")},
        "why_not": answer["why"],
    }


def _kinds(engine: str, facts: Machine, container: Mapping[str, Any] | None) -> dict[str, Any]:
    from fleetbeat.engines.real.means.table import answers

    why = container["why_not"] if engine == "docker" and container is not None else None
    rows = []
    for answer in answers(engine, facts):
        ours = {"means": None if why else answer.ours, "why_not": why or answer.ours_why}
        theirs = {"means": None if why else answer.theirs, "why_not": why or answer.theirs_why}
        rows.append({"kind": answer.kind, "driver": ours, "command": theirs})
    limit = why if engine == "docker" else "a process shares the machine's memory; containers have limits"
    memory = {"means": None if limit else "memory", "why_not": limit}
    rows.append({"kind": MEMORY, "driver": memory, "command": memory})
    return {"can": why is None, "why_not": why, "faults": rows}


def _scenario(
    source: str, sets: Sequence[str], engines: Sequence[str], facts: Machine, container: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Raises `ScenarioError`."""
    from fleetbeat.engines.real.means.table import asked
    from fleetbeat.scenario.library import find, find_agent
    from fleetbeat.scenario.load import load
    from fleetbeat.scenario.manifest import load_manifest
    from fleetbeat.scenario.resolve import agents

    loaded = load(find(source), overrides=sets)
    specs = agents(loaded)
    manifests = {name: load_manifest(find_agent(name)) for name in dict.fromkeys(spec.agent for spec in specs)}
    users = dict.fromkeys([*(spec.uid for spec in specs), *(rollout.uid for rollout in loaded.rollouts)])
    found = {}
    for engine in engines:
        chosen, refused = asked(loaded, specs, manifests, engine, facts)
        lines = list(refused)
        if not facts.is_root and len(users) > 1:
            lines.append(f"engine {engine}: users {', '.join(map(str, users))}: only root can act as several users")
        if engine == "docker" and container is not None and container["why_not"]:
            lines.append(f"engine docker: {container['why_not']}")
        faults = [{**asdict(one), "agents": len(one.agents)} for one in chosen]
        found[engine] = {"can": not lines, "why_not": lines, "faults": faults}
    return {"scenario": loaded.name, "engines": found}


# --- text ---


def _text(found: Mapping[str, Any]) -> str:
    from fleetbeat.report.plain import safe_lines

    parts = [_facts(found["machine"], found["docker"])]
    if "scenario" in found:
        parts += [_one_by_one(found["scenario"], engine, answer) for engine, answer in found["engines"].items()]
    else:
        parts.append(_kinds_table(found["engines"]))
    return safe_lines("\n\n".join(parts)) + "\n"


def _facts(machine: Mapping[str, Any], container: Mapping[str, Any] | None) -> str:
    strace, mounts, inotify = machine["strace"], machine["mounts"], machine["inotify"]
    rows = [
        ("user", "root" if machine["root"] else f"{machine['uid']}, not root"),
        ("kernel", machine["kernel"]),
        ("strace", strace["why_not"] or f"{strace['version']}, works" + _but(strace["why_not_attached"])),
        ("mounts", mounts["why_not"] or "work"),
        ("inotify", ", ".join(f"{name} {limit}" for name, limit in inotify.items()) or "its limits cannot be read"),
    ]
    if container is not None:
        version = f"{container['server']} {container['version']}, API {container['api']}, {container['host']}"
        rows.append(("containers", container["why_not"] or version))
    return "\n".join(f"{name.ljust(12)}{words}" for name, words in rows)


def _but(why: str | None) -> str:
    return "" if why is None else f"; but {why}"


def _kinds_table(engines: Mapping[str, Any]) -> str:
    """One row a kind; reasons are numbered and stand below."""
    reasons: dict[str, int] = {}

    def cell(answer: Mapping[str, Any]) -> str:
        if answer["means"] is not None:
            return str(answer["means"])
        return f"no ({reasons.setdefault(answer['why_not'], len(reasons) + 1)})"

    kinds = [row["kind"] for row in next(iter(engines.values()))["faults"]]
    headers = ["fault"]
    for engine in engines:
        headers += [f"{engine}: our driver", f"{engine}: a command"]
    rows = []
    for index, kind in enumerate(kinds):
        cells = [cell(engines[engine]["faults"][index][who]) for engine in engines for who in ("driver", "command")]
        rows.append([kind, *cells])
    below = [f"({number}) {reason}" for reason, number in reasons.items()]
    return "\n".join([_table(headers, rows), "", *below]).rstrip()


def _one_by_one(scenario: str, engine: str, answer: Mapping[str, Any]) -> str:
    if not answer["can"]:
        return "\n".join(
            [f"{scenario} cannot be carried out by {engine} here:", *(f"  {line}" for line in answer["why_not"])]
        )
    if not answer["faults"]:
        return f"{scenario} can be carried out by {engine} here; it has no faults."
    headers = ["fault", "what", "agents", "means", "note"]
    rows = [[one["fault"], one["what"], str(one["agents"]), one["means"], one["note"]] for one in answer["faults"]]
    return f"{scenario} can be carried out by {engine} here:\n{_table(headers, rows)}"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    from tabulate import tabulate

    drawn = tabulate(rows, headers, tablefmt="simple", disable_numparse=True)
    return "\n".join(line.rstrip() for line in drawn.split("\n"))
