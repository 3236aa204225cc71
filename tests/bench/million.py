"""A million framework events through one core and both checks, as they stream: `python -m tests.bench.million N WINDOW`.

Prints the events, the processor seconds, the peak memory in KiB and both verdicts. A process of its own, since a peak is
that of a whole process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fleetbeat.chance.choices import Hashed
from fleetbeat.checks.framework import WINDOW, Streamed
from fleetbeat.checks.judge import no_collections
from fleetbeat.engines.cores import load_core
from fleetbeat.engines.framework import Turn, head, play
from fleetbeat.framework.policies import read
from fleetbeat.history.records import Record, norm_of
from fleetbeat.scenario.load import load

SCENARIO = """
name: million
fleet: {agents: 1}
workload:
  sessions: 20
  prompts: {per_hour: 3600, think: 100ms}
  turns: {calls: [1, 4], thought: 100ms, tool_time: 100ms}
  subtasks: {share: 5%}
  files: {count: 10, watchers: 2}
"""
BODY = """
```yaml policies
policies:
  - {gate: fetch, on: tool.before, when: {command: "curl *"}, answer: ask}
  - {gate: drop, on: tool.before, when: {command: "drop *"}, answer: deny}
  - {observer: homework, on: prompt, action: {prepare: {duration_s: 2, cost: 0.1, calls: 2}}, cooldown_s: 0.2}
  - {observer: again, on: [ready, "file.*"], action: {prepare: {duration_s: 2, cost: 0.1}}, cooldown_s: 0.2}
  - {observer: tell, on: ready, action: {notify: "There are notes."}}
```
"""


class Passed(NamedTuple):
    events: int
    records: int
    seconds: float
    peak_kib: int
    outcomes: tuple[str, str]


def passed(count: int, window: int | None = WINDOW) -> Passed:
    """So many events through the reference core and both checks."""
    streamed = Streamed(window)
    began = time.process_time()
    events = records = 0
    with no_collections():  # as a run and a judgement are
        for record in told():
            streamed.feed(record)
            records += 1
            if record.kind == "event":
                events += 1
                if events == count:
                    break
    seconds = time.process_time() - began
    one, other = streamed.verdicts()
    return Passed(events, records, seconds, _peak_kib(), (one.outcome, other.outcome))


def _peak_kib() -> int:
    """Of this program alone; `getrusage` would count what the process was before it became this program, too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])


def told() -> Iterator[Record]:
    """The framework's records of one agent, without end."""
    scenario = load(SCENARIO)
    core = load_core(scenario.fleet.core)
    norm = norm_of(BODY)
    texts = {norm: (BODY, read(BODY))}
    yield from head(core, texts)
    turns = [Turn(0, "up", 0), Turn(1, "rules", norm)]
    yield from play(scenario, core, "a-0", turns, texts, 10**18, Hashed(1, None))


if __name__ == "__main__":
    found = passed(int(sys.argv[1]), int(sys.argv[2]))
    print(found.events, found.records, f"{found.seconds:.3f}", found.peak_kib, *found.outcomes)
