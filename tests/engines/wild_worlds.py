"""Small, wild worlds by number: a few agents and posts that overlap, and whatever can go wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Data = dict[str, Any]

BODIES: tuple[Data, ...] = (
    {"body": "one\r\ntwo", "mark": False},
    {"body": "three\nfour", "mark": False},
    {"body": "five"},
    {"body": " \n", "mark": False},
    {"base64": "/3f/"},
    {"body": "as it was", "mark": False},
)
WRITES = ("atomic", "atomic", "atomic", "atomic-synced", "in-place", "cross-device", "shared-temp")


def random_world(number: int) -> Data:
    """A scenario as plain data: a pure function of `number`."""
    state = number * 6364136223846793005 + 1442695040888963407

    def pick(*values: Any) -> Any:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return values[(state >> 33) % len(values)]

    slow = pick("1ms", "20ms", "80ms")
    heartbeat: Data = {"interval": pick("300ms", "700ms", "1s"), "phase": pick("random", "aligned")}
    if pick(*[0] * 7, 1):
        heartbeat["stalls"] = {"per_hour": 1800, "length": pick("400ms", "2s")}
    host: Data = {"name": "h0"}
    if pick(*[0] * 11, 1):
        host["system_disk"] = pick(40, 90, 160)
    return {
        "name": "wild",
        "seed": number,
        "duration": pick("6s", "9s"),
        "fleet": {
            "agents": pick(1, 1, 1, 1, 2),
            "hosts": [host],
            "heartbeat": heartbeat,
            "latency": {"read": slow, "unlink": pick(slow, "150ms"), "write": slow, "close": pick("1ms", slow)},
            "start": {**({"rules": "as it was"} if pick(0, 1) else {}), **_signal(pick)},
            "lifecycle": _lifecycle(pick),
        },
        "faults": _faults(pick),
        "rollouts": [_rollout(pick, n) for n in range(pick(1, 2, 3, 4))],
    }


Pick = Callable[..., Any]


def _rollout(pick: Pick, n: int) -> Data:
    at = 3_000 + pick(0, 300, 700, 1000, 1500, 3000) + pick(0, 13, 37, 61, 120, 260, 410)
    verify = {"verify": "canonical", "retries": pick(0, 1), "timeout": "2s"} if pick(0, 0, 1) else {}
    return {
        "version": f"v{n}",
        "operator": f"op{n}",
        "at": f"{at}ms",
        "targets": "all",
        "write": pick(*WRITES),
        "chunk": pick(2, 5, 64),
        "latency": {"write": pick("1ms", "40ms", "90ms"), "unlink": pick("1ms", "30ms")},
        **verify,
        **pick(*BODIES),
    }


def _faults(pick: Pick) -> list[Data]:
    faults: list[Data] = []
    for operation in ("read", "unlink", "write", "flush", "stat", "emit"):
        if pick(0, 0, 0, 1):
            effects = {"write": ("before", "before", "partial"), "unlink": ("before", "before", "before", "after")}
            effect = pick(*effects.get("write" if operation == "flush" else operation, ("before",)))
            chance = pick(0.3, 0.6)
            faults.append({"operation": operation, "probability": chance, "error": "EIO", "effect": effect})
    if pick(0, 0, 1):
        crash = {"path": "*", "probability": pick(0.1, 0.3), "crash": pick("before", "after")}
        kind = pick("unlink", "write", "open", "read", "close")
        faults.append({"id": "crash", "operation": kind, "restart": pick("100ms", "900ms", "1700ms"), **crash})
        if pick(*[0] * 5, 1):
            faults[-1].update(power=True, unsynced=pick("lost", "random", "random"))
    if pick(*[0] * 9, 1):
        faults.append({"per_hour": 1800, "pause": pick("500ms", "2s")})
    if pick(*[0] * 9, 1):
        dies = {"crash": pick("before", "after"), **({"restart": "300ms"} if pick(0, 1) else {})}
        kind = pick("write", "rename", "open", "close")
        faults.append({"on": "operators", "operation": kind, "path": "*", "probability": 0.2, **dies})
    return faults


def _lifecycle(pick: Pick) -> Data:
    every = pick("390ms", "810ms", "1300ms")
    made: Data = {"rebuilds": [{"every": every, "beside_beat": pick(True, False)}] if pick(0, 0, 1) else []}
    if pick(*[0] * 9, 1):
        made["suspend"] = [{"from": pick("2s", "3500ms"), "to": pick("4200ms", "5s")}]
    if pick(*[0] * 11, 1):
        at = pick("3100ms", "3777ms", "4444ms", "5111ms")
        made["crashes"] = [
            {"hosts": ["h0"], "at": at, "power": True, "unsynced": pick("lost", "random", "kept"), "restart": "700ms"}
        ]
    if pick(*[0] * 11, 1):
        at = pick("3200ms", "4100ms", "5s")
        made["spawns"] = [{"at": at, "name": "kid", "parent": "a-0", "hand_down": pick("in-place", "atomic")}]
    return made


def _signal(pick: Pick) -> Data:
    return {"signal": "file", "signal_text": pick("left over", "as it was", "\n")} if pick(*[0] * 11, 1) else {}
