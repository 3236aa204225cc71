"""Small scenarios and wrong cores for the tests of the framework's search."""

from __future__ import annotations

from pathlib import Path

from fleetbeat.explore.framework.plan import Limits, Plan, plan_of
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

SCENARIO = """
name: small
duration: 1m
fleet: {agents: 1, core: CORE}
rollouts:
  - version: v1
    at: 1s
    targets: all
    body: |
      ```yaml policies
      policies:
        - {gate: drop, on: tool.before, when: {command: "drop *"}, answer: deny}
        - {observer: homework, on: prompt, action: {prepare: {calls: 1}}}
        - {observer: again, on: ready, action: {prepare: {}}}
        - {observer: tell, on: ready, action: {notify: There are notes.}}
      ```
  - version: v2
    at: 9s
    targets: all
    body: |
      ```yaml policies
      policies:
        - {observer: again, on: [ready, prompt], action: {prepare: {}}}
      ```
workload:
  sessions: 1
  dangers: {share: 10%, kinds: [rm, drop]}
  adversary: {gates: [{gate: drop, raises: true}]}
"""
#: Enough for the tests' cores, and soon over.
FEW = Limits(tasks=1, calls=2, waits=0, dismissals=0)

AGENT = """
name: NAME
about: wrong on purpose
core: core.py
guards: [{gate: rm-rf, on: tool.before, when: {command: "rm -rf *"}, answer: ask}]
"""
HEAD = """
from fleetbeat.protocol.folders import load_module
from pathlib import Path
reference = load_module(Path("REFERENCE"))

class Wrong(reference.Reference):
"""
TAIL = "\nCORE = Wrong\n"


def scenario_of(core: str = "reference", **changed: str) -> Scenario:
    text = SCENARIO.replace("CORE", core)
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    return load(text)


def plan_for(core: str = "reference", limits: Limits = FEW) -> Plan:
    return plan_of(scenario_of(core), limits)


def wrong_core(folder: Path, methods: str, name: str = "wrong") -> str:
    """The folder of a core that is the reference's but for these methods."""
    from fleetbeat.scenario.library import find_core

    home = folder / name
    home.mkdir()
    (home / "agent.yaml").write_text(AGENT.replace("NAME", name))
    head = HEAD.replace("REFERENCE", str(find_core("reference") / "core.py"))
    (home / "core.py").write_text(head + methods + TAIL)
    return str(home)
