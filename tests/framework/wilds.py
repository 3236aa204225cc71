"""Random small worlds for the attack on both invariants: a workload, four bodies, and when what happens to the agent.

Every draw comes from `fleetbeat.chance`: a world is known by its number.
"""

from __future__ import annotations

import json
from typing import Any

from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.engines.cores import Loaded, load_core
from fleetbeat.engines.framework import Turn, head, play
from fleetbeat.framework.policies import read
from fleetbeat.framework.vocabulary import TYPES
from fleetbeat.history.records import Record
from fleetbeat.scenario.load import load
from fleetbeat.scenario.workload import CoreSetup

S = 1_000_000_000
END = 90 * S
_ON = (*TYPES, "*", "tool.*", "[r-t]*", "not*", "ready", "ready", "file.changed")
_FIELDS = ("origin", "session", "command", "tool", "subtask", "path", "answer", "policy", "type", "nothing")
_VALUES = ("*", "s-0", "s-0*", "user", "agent", ["rm *", "drop*"], "shell", True, False, "notes/*", "approve", "*/task")
_COUNTS = ("calls", "rejections", "readies", "prompts", "dismissals", "approvals")


class Dice:
    """The draws of one world, one after another."""

    def __init__(self, number: int) -> None:
        self._choices, self._drawn = Hashed(number), 0

    def below(self, end: int) -> int:
        self._drawn += 1
        return self._choices.bits("attack", Step("attack", 0, self._drawn)) * end >> 64

    def of(self, *some: Any) -> Any:
        return some[self.below(len(some))]

    def one_in(self, count: int) -> bool:
        return self.below(count) == 0


def played(core: str, number: int) -> list[Record]:
    """The framework's history of one agent in this world, under this core."""
    dice = Dice(number)
    scenario = load(_scenario(dice))
    texts = {str(place): (text, read(text)) for place, text in enumerate(_body(dice) for _ in range(4))}
    turns = _turns(dice)
    silence, breaker, timeout = dice.of(0, 2), dice.of(0, 2), dice.of("500ms", "2s")
    loaded: Loaded = load_core(
        CoreSetup(program=core, silence_after=silence, breaker_after=breaker, gate_timeout=timeout)
    )
    return [*head(loaded, texts), *play(scenario, loaded, "a-0", turns, texts, END, Hashed(number))]


def _scenario(dice: Dice) -> str:
    sessions, approve, least = dice.of(1, 1, 2, 3), dice.below(11), dice.below(3)
    failing = ", ".join(_failing(dice) for _ in range(dice.below(4)))
    adversary = f"""
  adversary:
    at: {dice.below(40)}s
    kind: {dice.of("rm", "drop", "fetch", "push")}
    rejects: {dice.below(6)}
    every: {dice.of("1ms", "1s", "3s")}
    waits: {dice.of("0s", "2s", "10s")}
    flood: {dice.of(0, 5, 20)}
    gates: [{failing}]
"""
    return f"""
name: wild
duration: 90s
fleet: {{agents: 1}}
rollouts: []
workload:
  sessions: {sessions}
  prompts: {{per_hour: {dice.of(300, 1000, 5000)}, think: {dice.of("0s", "1s")}, bursts: {{share: {dice.of(0, 50)}%}}}}
  turns:
    calls: [{least}, {least + dice.below(3)}]
    thought: {dice.of("0s", "100ms", "1s")}
    tool_time: {dice.of("0s", "1s")}
  subtasks: {{share: {dice.of(0, 10, 50)}%, calls: {1 + dice.below(3)}}}
  dangers: {{share: {dice.of(5, 40, 90)}%}}
  files: {{count: {1 + dice.below(3)}, watchers: {dice.below(sessions + 1)}}}
  users:
    approve: {approve * 10}%
    reject: {dice.below(11 - approve) * 10}%
    answer: {dice.of("0s", "1s", "{kind: exponential, mean: 3s}", "20s")}
    dismiss: {dice.of(0, 50, 100)}%
    look: {dice.of("0s", "1s")}
  gate_time: {dice.of("0s", "20ms", "{kind: exponential, mean: 200ms}", "1s")}
{"" if dice.one_in(3) else adversary}"""


def _failing(dice: Dice) -> str:
    start = dice.below(80)
    how = dice.of("raises: true", "slow: 5s")
    return f'{{gate: "{dice.of("*", "rm-rf", "g0", "g*")}", from: {start}s, to: {start + 5 + dice.below(40)}s, {how}}}'


def _body(dice: Dice) -> str:
    if dice.one_in(8):
        return str(dice.of("", "words", "```yaml policies\npolicies: [\n```\n", "```yaml policies\npolicies: []\n"))
    some = [_observer(dice, number) for number in range(1 + dice.below(7))]
    some += [_gate(dice, number) for number in range(dice.below(4))]
    return f"```yaml policies\n{json.dumps({'policies': some})}\n```\n"


def _observer(dice: Dice, number: int) -> dict[str, Any]:
    task = {"duration_s": dice.of(0, 1, 3, 20), "calls": dice.below(3)}
    if dice.one_in(3):
        task["touches"] = dice.of("notes/0.md", "other.txt")
    action = dice.of({"notify": "x"}, {"inject": "y"}, {"prepare": task})
    on = [dice.of(*_ON) for _ in range(1 + dice.below(2))]
    return {"observer": f"o{number}", "on": on, "action": action, **_when(dice), **_rest(dice)}


def _gate(dice: Dice, number: int) -> dict[str, Any]:
    when = {"when": {"command": dice.of("rm *", "drop *", "*", "git*", "curl*")}} if dice.below(3) else _when(dice)
    name = "rm-rf" if number == 2 else f"g{number}"
    return {"gate": name, "on": "tool.before", "answer": dice.of("allow", "ask", "deny"), **when, **_rest(dice)}


def _when(dice: Dice) -> dict[str, Any]:
    return {} if dice.below(3) else {"when": {dice.of(*_FIELDS): dice.of(*_VALUES)}}


def _rest(dice: Dice) -> dict[str, Any]:
    bound = {dice.of("at_least", "at_most", "exactly"): dice.below(4)}
    state = {} if dice.below(3) else {"state": {dice.of(*_COUNTS): bound}}
    return {**state, "cooldown_s": dice.of(0, 0, 1, 30)}


def _turns(dice: Dice) -> list[Turn]:
    """Rules soon after the start, then anything: other rules, the same, none, the end of a process, the next one."""
    turns = [Turn(0, "up", 0), Turn(dice.below(2 * S), "rules", "0")]
    at, life, is_up = 2 * S, 1, True
    for _ in range(3 + dice.below(8)):
        if not is_up:
            turns.append(Turn(at, "up", life))
            is_up, life = True, life + 1
        elif dice.one_in(3):
            turns.append(Turn(at, "down", dice.of("crash", "stop")))
            is_up = False
        else:
            turns.append(Turn(at, "rules", dice.of("0", "1", "2", "3", "1", "2", "3", None)))
        at += dice.of(0, 1, S, 5 * S, 20 * S) + dice.below(3 * S)
    if not is_up:
        turns.append(Turn(at, "up", life))
    return [turn for turn in turns if turn.t < END]
