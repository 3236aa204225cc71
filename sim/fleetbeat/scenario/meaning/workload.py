"""The workload: which numbers make sense together."""

from __future__ import annotations

from fleetbeat.scenario.meaning import times
from fleetbeat.scenario.meaning.context import Context
from fleetbeat.scenario.read import Path
from fleetbeat.scenario.units import exact, format_share
from fleetbeat.scenario.workload import Adversary, Workload


def check(context: Context) -> None:
    """The section `workload`, if there is one."""
    workload = context.scenario.workload
    if workload is None:
        return
    here: Path = ("workload",)
    for path, spread in (
        (("prompts", "think"), workload.prompts.think),
        (("turns", "thought"), workload.turns.thought),
        (("turns", "tool_time"), workload.turns.tool_time),
        (("users", "answer"), workload.users.answer),
        (("users", "look"), workload.users.look),
        (("gate_time",), workload.gate_time),
    ):
        times.length(context, (*here, *path), spread)
    _amounts(context, here, workload)
    if workload.adversary is not None:
        _adversary(context, (*here, "adversary"), workload.adversary)


def _amounts(context: Context, here: Path, workload: Workload) -> None:
    least, most = workload.turns.calls
    if most < least:
        context.at((*here, "turns", "calls"), "least and most, in this order", got=f"{least} and {most}")
    tools = workload.tools
    if not any(getattr(tools, name) for name in type(tools).model_fields):
        context.at((*here, "tools"), "a tool with a weight above 0", got="none")
    users = workload.users
    both = exact(users.approve) + exact(users.reject)
    if both > 1:
        said = f"{format_share(users.approve)} and {format_share(users.reject)}"
        context.at((*here, "users"), "shares of approve and reject that come to 100% at most", got=said)
    if workload.files.watchers > workload.sessions:
        context.at((*here, "files", "watchers"), f"at most sessions ({workload.sessions})")


def _adversary(context: Context, here: Path, adversary: Adversary) -> None:
    context.selector((*here, "agents"), adversary.agents)
    for index, failing in enumerate(adversary.gates):
        place = (*here, "gates", index)
        times.window(context, place, failing.from_, failing.to)
        if failing.raises == (failing.slow is not None):
            got = "both" if failing.raises else "none of them"
            context.at(place, "exactly one of raises: true and slow", got=got)
