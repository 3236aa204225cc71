"""Faults: which combinations mean something. A fault is where, when and what; one that says half of it is a mistake."""

from __future__ import annotations

import errno

from fleetbeat.scenario.meaning import times
from fleetbeat.scenario.meaning.context import Context
from fleetbeat.scenario.mistakes import listed
from fleetbeat.scenario.model import Fault
from fleetbeat.scenario.read import Path

ERRNOS = tuple(sorted(errno.errorcode.values()))
#: Operations that can fail in their middle. Source: the fault model (half the bytes of a write; truncated, not opened).
PARTIAL = ("open", "write", "emit", "flush")


def check(context: Context) -> None:
    for index, fault in enumerate(context.scenario.faults):
        path: Path = ("faults", index)
        if fault.id is not None and fault.id in [other.id for other in context.scenario.faults[:index]]:
            context.at((*path, "id"), "an id that no other fault has")
        context.selector((*path, "agents"), fault.agents)
        times.window(context, path, fault.from_, fault.to)
        _what(context, path, fault)
        _when(context, path, fault)
        _who(context, path, fault)


def _what(context: Context, path: Path, fault: Fault) -> None:
    if fault.error is None and fault.delay is None and fault.crash is None and fault.pause is None:
        context.at(path, "error, delay, crash or pause", got="no effect")
    if fault.error is not None and fault.error not in ERRNOS:
        context.at((*path, "error"), "an errno's name such as EIO", known=ERRNOS)
    if fault.error is None and fault.effect != "before":
        context.at((*path, "effect"), "an error as well, for effect says when it strikes")
    elif fault.effect == "partial" and fault.operation is not None and fault.operation not in PARTIAL:
        context.at((*path, "effect"), f"before or after, for {fault.operation} has no middle ({listed(PARTIAL)} have)")
    if fault.crash is None:
        if fault.power:
            context.at((*path, "power"), "crash as well, for power says how it crashes")
        if fault.restart is not None:
            context.at((*path, "restart"), "crash as well, for restart says what follows it")
    if fault.unsynced != "lost" and not fault.power:
        context.at((*path, "unsynced"), "power: true as well, for only a power failure loses data")
    if fault.path is not None and fault.path.startswith("/"):
        context.at((*path, "path"), "a path relative to home")
    times.length(context, (*path, "delay"), fault.delay)
    times.length(context, (*path, "pause"), fault.pause)


def _when(context: Context, path: Path, fault: Fault) -> None:
    if fault.probability is not None and fault.occurrence:
        context.at(path, "only one of them", got="probability and occurrence")
    if fault.operation is None:
        if fault.per_hour is None:
            context.at(path, "an operation, or per_hour for a crash or pause by itself", got="none of them")
        for name, given in (("error", fault.error), ("delay", fault.delay)):
            if given is not None:
                context.at((*path, name), f"an operation as well, for {name} strikes operations")
        if fault.path is not None:
            context.at((*path, "path"), "an operation as well, for path says on which file")
        for name, value in (("probability", fault.probability), ("occurrence", fault.occurrence or None)):
            if value is not None:
                context.at((*path, name), f"an operation as well, for {name} counts operations")
    elif fault.per_hour is not None:
        context.at((*path, "per_hour"), "probability or occurrence, for per_hour is for faults without an operation")


def _who(context: Context, path: Path, fault: Fault) -> None:
    if fault.on == "agents":
        if fault.operators:
            context.at((*path, "operators"), "on: operators as well, or no operators")
        return
    if fault.operation == "flush" or fault.operation == "emit":
        context.at((*path, "operation"), f"another one, for operators make no {fault.operation}")
    if fault.operation is None and fault.per_hour is not None:
        context.at((*path, "per_hour"), "an operation, for operators are there only while they work")
    if fault.power:
        context.at((*path, "power"), "on: agents, for it is their hosts that lose power")
    known = list(dict.fromkeys(rollout.operator for rollout in context.scenario.rollouts))
    for index, operator in enumerate(fault.operators):
        if operator not in known and context.whole:
            context.at((*path, "operators", index), f"an operator of a rollout ({listed(known)})", known=known)
