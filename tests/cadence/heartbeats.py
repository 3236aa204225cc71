"""Heartbeats as a loaded scenario holds them, in whole nanoseconds (the models read a bare number as seconds)."""

from __future__ import annotations

from typing import Any

from fleetbeat.scenario.model import Empirical, Exponential, Heartbeat, Lognormal, NoJitter, Normal, Uniform

MS = 1_000_000
SECOND = 1_000_000_000

NONE = NoJitter()
NORMAL = Normal.model_construct(kind="normal", mean=0, sd=SECOND // 10)
SHIFTED = Normal.model_construct(kind="normal", mean=30 * MS, sd=SECOND // 20)
UNIFORM = Uniform.model_construct(kind="uniform", low=-SECOND // 10, high=SECOND // 5)
WILD = Uniform.model_construct(kind="uniform", low=-3 * SECOND, high=3 * SECOND)
EXPONENTIAL = Exponential.model_construct(kind="exponential", mean=SECOND // 10)
LOGNORMAL = Lognormal.model_construct(kind="lognormal", median=SECOND // 20, sigma=1.0)
EMPIRICAL = Empirical.model_construct(kind="empirical", values=(-5 * MS, 0, 7 * MS, 100 * MS))
JITTERS: dict[str, Any] = {
    "none": NONE,
    "normal": NORMAL,
    "shifted": SHIFTED,
    "uniform": UNIFORM,
    "wild": WILD,
    "exponential": EXPONENTIAL,
    "lognormal": LOGNORMAL,
    "empirical": EMPIRICAL,
}


def heartbeat(jitter: Any = NONE, mode: str = "fixed-delay", **fields: Any) -> Heartbeat:
    fields = {"interval": SECOND, "phase": "random", "splay": 0, "stalls": None, **fields}
    return Heartbeat.model_construct(mode=mode, jitter=jitter, **fields)
