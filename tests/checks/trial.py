"""Histories of scenarios/core-trial with one core or another, played once for all tests that read them."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from fleetbeat.checks.framework import Streamed
from fleetbeat.checks.model import Verdict
from fleetbeat.engines import MODULES
from fleetbeat.engines.cores import load_core
from fleetbeat.engines.framework import weave
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

RIGHT = ("reference", "strict", "plugin")
#: Wrong cores that are told apart by what is erased, rewritten or left out here.
SOME_WRONG = (
    "core-origin-only", "core-forgets-across-tasks", "core-notify-as-event", "core-forgets-at-restart",
    "core-silences-gates", "core-body-removes-guard",
)  # fmt: skip


@cache
def _signal() -> tuple[Scenario, list[Record]]:
    scenario = load(find("core-trial"))
    return scenario, import_module(MODULES["des"]).run(scenario)


@cache
def played(core: str) -> tuple[Record, ...]:
    scenario, signal = _signal()
    return tuple(weave(scenario, signal, load_core(scenario.fleet.core.model_copy(update={"program": core}))))


def verdicts(records: tuple[Record, ...] | list[Record], window: int | None = None) -> tuple[Verdict, Verdict]:
    streamed = Streamed(window)
    for record in records:
        streamed.feed(record)
    return streamed.verdicts()
