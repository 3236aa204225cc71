"""A table of draws and sums. Histories are pinned by tests, so these integers must never change, on any machine.

As a script it prints the table as JSON: `pinned.py [backwards] [noise]` asks in the opposite order, or draws for other
names first; `arrays` prints what the array forms make of the same questions. It needs the standard library alone,
and NumPy for uniform jitter and `arrays`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from fleetbeat.cadence import make_cadence
from fleetbeat.chance.arithmetic import exp, ln, normal_quantile
from fleetbeat.chance.arrivals import Arrivals
from fleetbeat.chance.choices import Hashed, unit
from fleetbeat.chance.hits import next_hit
from fleetbeat.chance.spread import quantile
from fleetbeat.chance.step import Step

SEED = 20_260_906
BEATS = (0, 1, 599, 1024, 65_537, 86_400, 131_072, 1_000_003)
NAMES = ("a-3", "größe-7")
SECOND = 1_000_000_000
NORMAL = SimpleNamespace(kind="normal", mean=3, sd=SECOND // 10)
UNIFORM = SimpleNamespace(kind="uniform", low=-SECOND // 10, high=SECOND // 7)
LOGNORMAL = SimpleNamespace(kind="lognormal", median=SECOND, sigma=1.5)
EXPONENTIAL = SimpleNamespace(kind="exponential", mean=SECOND)


def heartbeat(mode: str, jitter: Any) -> SimpleNamespace:
    return SimpleNamespace(mode=mode, interval=SECOND, jitter=jitter, phase="random", splay=0)


def questions(choices: Hashed) -> dict[str, Callable[[], int]]:
    """Every row of the table: its name, and how to work it out."""
    rows: dict[str, Callable[[], int]] = {}
    for name in NAMES:
        step = Step(f"{name}/beat", 1, 77, "read", ".rules", 2)
        u = unit(choices.bits("latency", step))
        rows |= {
            f"{name} bits": lambda step=step: choices.bits("latency", step),
            f"{name} tie": lambda step=step: choices.tie(step),
            f"{name} lognormal": lambda u=u: quantile(LOGNORMAL, u),
            f"{name} exponential": lambda u=u: quantile(EXPONENTIAL, u),
            f"{name} hit": lambda step=step: (
                next_hit(0.003, choices, "fault:f", step._replace(operation="stat"), 10**6) or 0
            ),
            f"{name} arrival": lambda name=name: Arrivals(choices, "stall", name, 7.0).time(40),
        }
        delay = make_cadence(heartbeat("fixed-delay", NORMAL), choices, name, 1, 12.5)
        chunks = make_cadence(heartbeat("fixed-delay", UNIFORM), choices, name, 1)
        rate = make_cadence(heartbeat("fixed-rate", NORMAL), choices, name, 1, 12.5)
        assert delay.mode == "fixed-delay" == chunks.mode
        assert rate.mode == "fixed-rate"
        rows |= {f"{name} normal {k}": lambda k=k, c=delay: c.elapsed(k) for k in BEATS}
        rows |= {f"{name} uniform {k}": lambda k=k, c=chunks: c.elapsed(k) for k in BEATS[:4]}
        rows |= {f"{name} rate {k}": lambda k=k, c=rate: c.tick(k) for k in BEATS[:4]}
        rows |= {f"{name} reach": lambda c=delay: c.reach(43_210 * SECOND, 1_234_567, 17)}
    for i, x in enumerate((0.001, 0.3, 0.7, 0.99999)):
        for function in (ln, exp, normal_quantile):
            rows[f"{function.__name__} {i}"] = lambda x=x, function=function: int(function(x) * 2.0**52)
    return rows


def table(*, backwards: bool = False, noise: bool = False) -> dict[str, int]:
    choices = Hashed(SEED)
    if noise:
        for i in range(50):
            choices.bits("latency", Step(f"other-{i}", path=f"p{i}"))
            make_cadence(heartbeat("fixed-delay", NORMAL), choices, f"other-{i}", 0).reach(10**13)
    rows = questions(choices)
    answers = {name: rows[name]() for name in (reversed(rows) if backwards else rows)}
    return {name: answers[name] for name in rows}


def arrays() -> dict[str, int]:
    """The rows that have array forms."""
    import numpy as np

    from fleetbeat.cadence.vector import elapsed_array, tick_array
    from fleetbeat.chance import arithmetic_array
    from fleetbeat.chance.spread_array import quantile_array
    from fleetbeat.chance.vector import actor_hashes, bits_array, unit_array

    hashes = actor_hashes(NAMES)[:, None]
    bits = bits_array(SEED, "latency", actor_hashes(f"{n}/beat" for n in NAMES), 1, 77, "read", ".rules", 2)
    delays = elapsed_array(heartbeat("fixed-delay", NORMAL), SEED, hashes, 1, np.array(BEATS)[None, :], 12.5)
    ticks = tick_array(heartbeat("fixed-rate", NORMAL), SEED, hashes, 1, np.array(BEATS)[None, :], 12.5)
    rows: dict[str, int] = {}
    for i, name in enumerate(NAMES):
        rows[f"{name} bits"] = int(bits[i])
        rows[f"{name} lognormal"] = int(quantile_array(LOGNORMAL, unit_array(bits))[i])
        rows[f"{name} exponential"] = int(quantile_array(EXPONENTIAL, unit_array(bits))[i])
        rows |= {f"{name} normal {k}": int(delays[i, j]) for j, k in enumerate(BEATS)}
        rows |= {f"{name} rate {k}": int(ticks[i, j]) for j, k in enumerate(BEATS[:4])}
    for function in ("ln", "exp", "normal_quantile"):
        values = getattr(arithmetic_array, function)(np.array([0.001, 0.3, 0.7, 0.99999]))
        rows |= {f"{function} {i}": int(v * 2.0**52) for i, v in enumerate(values)}
    return rows


if __name__ == "__main__":
    asked = sys.argv[1:]
    print(json.dumps(arrays() if "arrays" in asked else table(backwards="backwards" in asked, noise="noise" in asked)))
