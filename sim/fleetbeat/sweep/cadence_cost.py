"""What a beat really costs: the same few agents as processes of this machine, once beating slowly and once quickly.

Processor time of a beat is the slope between the two: what starting, waiting, applying one version and ending take is in
both, and falls out.
That is an idle beat's, as nearly all are, with this machine's load in it. It is measured, never simulated, so it is the
one number here that another machine, or another minute, gives otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fleetbeat.history.records import Record
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Heartbeat, Scenario

AGENTS = 20
SLOW_NS, FAST_NS = 1_000_000_000, 20_000_000
DURATION_NS = 6_000_000_000

_TEXT = f"""\
name: beats
fleet: {{agents: {AGENTS}, start: {{rules: Answer in the user's language.}}}}
rollouts: [{{version: v1, at: 2s, targets: all, body: Ask before deleting anything.}}]
"""

Play = Callable[[Scenario], Sequence[Record]]


@dataclass(frozen=True, slots=True)
class BeatCost:
    """`cpu_s`: processor time of one beat in s; `beats`: how many more the quick run made; `histories`: of both runs."""

    cpu_s: float
    beats: int
    histories: tuple[Sequence[Record], ...]


class CostError(Exception):
    """Real beats that tell nothing: what was got, and what was expected."""


def measured(agent: str, play: Play, cpu_s: Callable[[], float]) -> BeatCost:
    """Play both; `cpu_s`: processor time that processes which have ended took so far, in s.

    Raises CostError where the quick run took no more time than the slow one, and what the engine raises.
    """
    took, beats, histories = [], [], []
    for interval in (SLOW_NS, FAST_NS):
        before = cpu_s()
        records = play(bench(agent, interval))
        took.append(cpu_s() - before)
        beats.append(count(records))
        histories.append(records)
    more = beats[1] - beats[0]
    if more <= 0 or took[1] <= took[0]:
        raise CostError(
            f"--calibrate: got {took[0]:.3g} s of processor time for {beats[0]:,} real beats and {took[1]:.3g} s for"
            f" {beats[1]:,}, expected more for more: is the machine busy?"
        )
    return BeatCost((took[1] - took[0]) / more, more, tuple(histories))


def bench(agent: str, interval_ns: int) -> Scenario:
    """A fleet that beats, and applies one version, so that each kind of operation is measured."""
    base = load(_TEXT)
    fleet = base.fleet.model_copy(update={"agent": agent, "heartbeat": Heartbeat.model_construct(interval=interval_ns)})
    return base.model_copy(update={"fleet": fleet, "duration": DURATION_NS})


def count(records: Sequence[Record]) -> int:
    """Beats of a history."""
    return sum(
        record["last"] - record["first"] + 1 if record.kind == "beats" else 1
        for record in records
        if record.kind in ("beat", "beats")
    )
