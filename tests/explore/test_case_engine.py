"""What cases ask of the engine: that a step at which its process dies can be held, and waited for; that a piece of what
was not synced can be kept by name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engines.worlds import MS, S, fates, of, play, post

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step

UNLINK = Step("a-0/beat", 0, 3, "unlink", ".rules")
DIES = {"id": "dies", "operation": "unlink", "probability": 1e-9, "restart": "1s"}
STRIKES = {("fault:dies", UNLINK): 0}


def _rename(version: str, **parts: Any) -> Step:
    history = play(post("v1", "2500ms"), post("v2", "2600ms"), **parts)
    (op,) = [r for r in of(history, "op", operation="rename") if r.actor == f"op:{version}/a-0"]
    return Step(op.actor, 0, 1, "rename", op["path"])


@pytest.mark.parametrize("crash", ["before", "after"])
def test_a_step_at_which_its_process_dies_can_be_held(crash: str) -> None:
    history = play(
        post("v1", "2500ms"),
        post("v2", "5s"),
        faults=[{**DIES, "crash": crash}],
        overrides=Overrides(STRIKES, {}, {UNLINK: _rename("v2")}),
    )
    assert of(history, "hold.unmet") == of(history, "choice.unmet") == []
    (end,) = of(history, "life.end")
    assert end.t > 5 * S
    assert fates(history)["v2/a-0#1"] == ("applied" if crash == "before" else "lost")


@pytest.mark.parametrize("crash", ["before", "after"])
def test_a_step_at_which_its_process_dies_can_be_waited_for(crash: str) -> None:
    v2 = _rename("v2")
    history = play(
        post("v1", "2500ms"),
        post("v2", "2600ms"),
        faults=[{**DIES, "crash": crash}],
        overrides=Overrides(STRIKES, {}, {v2: UNLINK}),
    )
    assert of(history, "hold.unmet") == of(history, "choice.unmet") == []
    (end,) = of(history, "life.end")
    (begun,) = of(history, "post.begin", post="v2/a-0#1")
    assert begun.t == end.t + 1


def _after_power_loss(unsynced: str, pieces: dict[str, int]) -> list[str]:
    """What was seen at .rules from the power failure on; `pieces`: bits by kind of unsynced change."""
    temporary = _rename("v1").path
    paths = {"created": f"/a-0/{temporary}", "renamed": "/a-0/.rules"}
    bits = {("unsynced", Step("host-0", 0, 0, kind, paths[kind])): value << 63 for kind, value in pieces.items()}
    crash = {"agents": ["a-0"], "at": "2700ms", "power": True, "unsynced": unsynced}
    history = play(post("v1", "2500ms"), fleet={"lifecycle": {"crashes": [crash]}}, overrides=Overrides(bits))
    assert of(history, "choice.unmet") == []
    return [record["event"] for record in of(history, "signal") if record.t >= 2700 * MS]


def test_a_case_decides_on_a_piece_whatever_becomes_of_the_rest() -> None:
    assert _after_power_loss("lost", {}) == ["vanished"]
    assert _after_power_loss("lost", {"created": 1, "renamed": 1}) == ["changed"]  # the name is kept, its bytes are not
    assert _after_power_loss("kept", {}) == []
    assert _after_power_loss("kept", {"renamed": 0}) == ["vanished"]
