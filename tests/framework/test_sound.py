"""What a core passes to its host is looked at before it gets into the history."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fleetbeat.engines.cores import Loaded
from fleetbeat.engines.framework import weave
from fleetbeat.framework import sound
from fleetbeat.framework.vocabulary import Event, Host, Options, Refused
from fleetbeat.history.jsonl import line
from fleetbeat.scenario.load import load

FLEET = "name: x\nduration: 20s\nfleet: {agents: 1}\nworkload: {prompts: {per_hour: 3600, think: 1s}}\n"
DEEP: list[Any] = []
for _ in range(sound.DEEPEST):
    DEEP = [DEEP]

ODD: dict[str, Callable[[Host], Any]] = {
    "a policy that is no text": lambda host: host.notify(5, "t"),  # type: ignore[arg-type]
    "a text that is none": lambda host: host.notify("p", None),  # type: ignore[arg-type]
    "an origin that is none": lambda host: host.inject("p", "line", origin=None),  # type: ignore[arg-type]
    "a mark that JSON cannot hold": lambda host: host.notify("p", "t", mark={"x": object()}),
    "a mark that is not a number": lambda host: host.notify("p", "t", mark=[float("nan")]),
    "a mark without a bottom": lambda host: host.notify("p", "t", mark=[DEEP]),
    "a key that is no text": lambda host: host.emit("notice", {1: "x"}),  # type: ignore[dict-item]
    "a cost that is not a number": lambda host: host.prepare("p", {"cost": "dear"}),
    "a cost below nought": lambda host: host.prepare("p", {"cost": -1}),
    "an endless cost": lambda host: host.prepare("p", {"cost": float("inf")}),
    "a log that JSON cannot hold": lambda host: host.log("x", y={1, 2}),
}


class Odd:
    """Calls one thing, and notes what it met."""

    def __init__(self, host: Host, call: Callable[[Host], Any], met: list[str]) -> None:
        self.host, self.call, self.met = host, call, met

    def boot(self, ledger: Any) -> None: ...

    def rules(self, text: str | None) -> None: ...

    def handle(self, event: Event) -> None:
        try:
            self.call(self.host)
        except Refused as error:
            self.met.append(str(error))


def played(call: Callable[[Host], Any]) -> tuple[list[Any], list[str]]:
    from fleetbeat.engines.des import run

    scenario, met = load(FLEET), list[str]()
    core = Loaded("odd", lambda host: Odd(host, call, met), {}, Options())
    return weave(scenario, run(scenario), core), met


@pytest.mark.parametrize("name", ODD)
def test_nonsense_is_refused_where_it_is_passed_and_leaves_no_record(name: str) -> None:
    records, met = played(ODD[name])
    assert met
    assert all(": got " in words and ", expected " in words and "\n" not in words for words in met)
    assert not [record for record in records if record.kind in ("action", "core.log")]
    for record in records:
        json.loads(line(record))


def test_what_is_sound_is_taken_as_it_is() -> None:
    mark = {"chain": 1, "by": None, "hops": [1, 2.5, True, ("x",)]}
    records, met = played(lambda host: host.notify("p", "t", mark=mark))
    assert met == []
    assert {json.dumps(record["mark"]) for record in records if record.kind == "action"} == {json.dumps(mark)}
