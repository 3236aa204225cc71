"""A writer outlives the power of the host it writes to: what it then renames into place may have lost its bytes."""

from __future__ import annotations

from tests.engines.worlds import of, play, post

from fleetbeat.checks import judge


def test_a_post_that_power_emptied_on_its_way_is_nobodys_violation() -> None:
    crash = {"hosts": ["host-0"], "at": "2250ms", "power": True, "unsynced": "random", "restart": "500ms"}
    slow = {"write": "200ms", "close": "200ms"}
    emptied = 0
    for seed in range(24):
        history = play(post("v1", "2s", latency=slow), fleet={"lifecycle": {"crashes": [crash]}}, seed=seed)
        begun = {r["post"] for r in of(history, "post.begin")}
        whole = {r["post"] for r in of(history, "post.complete")}
        judgement = judge(history)
        if begun - whole:
            emptied += 1
            lost = next(v for v in judgement.verdicts if v.invariant == "no-silent-loss")
            assert [(f.kind, f.cause) for f in lost.findings] == [("gap", "environment")], lost
        assert not [f for v in judgement.verdicts for f in v.findings if f.kind == "violation"]
    assert emptied > 2
