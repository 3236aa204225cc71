"""Distributions and heartbeats: which numbers make sense together."""

from __future__ import annotations

from typing import Any

from fleetbeat.scenario.meaning.context import Context
from fleetbeat.scenario.model import Heartbeat, Latency
from fleetbeat.scenario.read import Path
from fleetbeat.scenario.units import format_duration


def length(context: Context, path: Path, spread: Any) -> None:
    """A distribution of lengths of time: none of them is below zero."""
    if spread is None:
        return
    if spread.kind == "uniform":
        if spread.low < 0:
            context.at((*path, "low"), "a duration, not below zero")
        ordered(context, path, spread)
    elif spread.kind == "normal" and spread.mean < 0:
        context.at((*path, "mean"), "a duration, not below zero (draws below zero count as zero)")
    elif spread.kind == "empirical" and min(spread.values, default=0) < 0:
        context.at((*path, "values", _least(spread.values)), "a duration, not below zero")


def ordered(context: Context, path: Path, spread: Any) -> None:
    if spread.high < spread.low:
        context.at((*path, "high"), f"at least low ({format_duration(spread.low)})")


def latency(context: Context, path: Path, model: Latency) -> None:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if not isinstance(value, int):
            length(context, (*path, name), value)


def heartbeat(context: Context, path: Path, model: Heartbeat) -> None:
    """Jitter is a deviation that is added to the interval, so the two together must stay positive.

    `fixed-delay` with normal jitter: sums of waits are split exactly and every wait must stay positive, which holds up
    to a ninth of the mean wait. `fixed-rate` cuts a deviation to less than half an interval, so there more is no
    mistake.
    """
    jitter: Any = model.jitter
    here = (*path, "jitter")
    if jitter.kind == "uniform":
        ordered(context, here, jitter)
        if model.interval + jitter.low <= 0:
            context.at((*here, "low"), _leaves_a_wait(model))
    elif jitter.kind == "normal":
        mean = model.interval + jitter.mean
        if mean <= 0:
            context.at((*here, "mean"), _leaves_a_wait(model))
        elif model.mode == "fixed-delay" and jitter.sd * 9 > mean:
            most = format_duration(mean // 9)
            why = "sums of fixed-delay waits are split exactly and each wait must stay positive"
            context.at((*here, "sd"), f"at most a ninth of the mean wait, {most} ({why})")
    elif jitter.kind == "empirical" and jitter.values and model.interval + min(jitter.values) <= 0:
        context.at((*here, "values", _least(jitter.values)), _leaves_a_wait(model))
    if model.phase == "splay" and model.splay == 0:
        context.at((*path, "splay"), "a duration above zero, for phase is splay")
    if model.phase != "splay" and model.splay != 0:
        context.at((*path, "splay"), f"no splay, for phase is {model.phase}")
    if model.stalls is not None:
        length(context, (*path, "stalls", "length"), model.stalls.length)


def window(context: Context, path: Path, start: int, end: int | None) -> None:
    """A window that begins before it ends."""
    if end is not None and end <= start:
        context.at((*path, "to"), f"a time after from ({format_duration(start)})")


def _leaves_a_wait(model: Heartbeat) -> str:
    return f"a deviation that leaves a wait (above -{format_duration(model.interval)}, the interval)"


def _least(values: tuple[int, ...]) -> int:
    return values.index(min(values))
