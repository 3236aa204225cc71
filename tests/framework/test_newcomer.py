"""A core is somebody's code: whatever it does, the run ends, says what it met, and hides no violation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from fleetbeat.framework.hosting import MOST_ASKED, MOST_REFUSED, Hosting
from fleetbeat.framework.vocabulary import BEFORE, Event, Host
from fleetbeat.history.records import Record

CALL = {"tool": "shell", "command": "rm -rf /srv/data-1", "path": "", "subtask": False}


class Always:
    """Equal to everything, and without a text."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def leaves(error: BaseException) -> Callable[[Host, Event], Any]:
    def handle(host: Host, event: Event) -> Any:
        raise error

    return handle


async def later() -> str:
    return "allow"


def handed(handle: Callable[[Host, Event], Any], kind: str = BEFORE) -> list[Record]:
    """What is recorded when a core that does this is handed one event."""
    told: list[Record] = []

    def make(host: Host) -> Any:
        core = SimpleNamespace(boot=lambda ledger: None, rules=lambda text: None)
        core.handle = lambda event: handle(host, event)
        return core

    hosting = Hosting("a-0", make, told.append, {})
    around: Any = SimpleNamespace(notified=lambda act: None, injected=lambda act: None, prepared=lambda act: None)
    hosting.around = around
    hosting.up(0, 0)
    told.clear()
    hosting.hand(1, kind, "agent", "s-0", None, CALL, True)
    return told


def fields(records: list[Record], kind: str) -> list[Mapping[str, Any]]:
    return [record.fields for record in records if record.kind == kind]


ODD = {
    "exits": (leaves(SystemExit(0)), "SystemExit: 0"),
    "gives up": (leaves(GeneratorExit()), "GeneratorExit:"),
    "raises what has no text": (leaves(Mute()), "Mute: (no text: RuntimeError)"),
    "answers what equals everything": (lambda host, event: Always(), "TypeError: handle: got Always, expected allow"),
    "answers another word": (lambda host, event: "Allow", "TypeError: handle: got 'Allow', expected allow"),
    "answers later": (lambda host, event: later(), "TypeError: handle: got a coroutine, expected allow"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ODD)
def test_what_a_core_cannot_mean_is_told_and_lets_no_call_run(name: str) -> None:
    handle, words = ODD[name]
    records = handed(handle)
    assert [one["verdict"] for one in fields(records, "verdict")] == [None]
    (failed,) = fields(records, "core.failed")
    assert failed["event"] == 1
    assert failed["error"].startswith(words)


def test_an_answer_that_is_right_or_none_is_no_failure() -> None:
    assert [one["verdict"] for one in fields(handed(lambda host, event: "deny"), "verdict")] == ["deny"]
    assert not fields(handed(lambda host, event: None), "core.failed")


def test_what_a_core_does_to_its_event_does_not_change_the_causes() -> None:
    def handle(host: Host, event: Event) -> str:
        event.id, event.type, event.session = 999, "prompt", "elsewhere"
        event.fields["command"] = "ls"  # type: ignore[index]
        host.prepare("p", {})
        return "allow"

    records = handed(handle)
    (action,) = fields(records, "action")
    assert (action["cause"], action["session"]) == (1, "s-0")
    assert fields(records, "verdict") == [{"call": 1, "verdict": "allow", "agent": "a-0"}]
    assert fields(records, "event")[0]["fields"]["command"] == CALL["command"] == "rm -rf /srv/data-1"


@pytest.mark.parametrize("ask", ["notify", "prepare", "log", "emit"])
def test_a_core_that_passes_over_refusals_is_cut_short(ask: str) -> None:
    calls: list[int] = []

    def handle(host: Host, event: Event) -> str:
        while True:
            calls.append(1)
            try:
                host.log("x") if ask == "log" else getattr(host, ask)("p", {} if ask in ("prepare", "emit") else "x")
            except Exception:
                continue

    records = handed(handle)
    assert len(calls) <= MOST_ASKED + MOST_REFUSED + 1
    assert len(fields(records, "limit")) == 1
    assert fields(records, "core.failed")[0]["error"].startswith("Cut: ")
    assert fields(records, "verdict") == [{"call": 1, "verdict": None, "agent": "a-0"}]


def test_a_core_that_asks_for_a_lot_is_not_cut() -> None:
    def handle(host: Host, event: Event) -> str:
        for _ in range(MOST_ASKED):
            host.log("x")
        return "allow"

    records = handed(handle)
    assert not fields(records, "limit")
    assert len(fields(records, "core.log")) == MOST_ASKED
