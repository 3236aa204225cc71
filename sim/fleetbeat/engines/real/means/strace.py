"""strace as a means: errors, delays, pauses and deaths at the calls of a program that is not ours.

Where a fault can strike from the start on, the agent is launched by strace (no right is needed); else, and always in
containers, strace attaches from outside when the window opens and lets go when it closes (nothing is needed inside a
container). What it did is read from its log.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from fleetbeat.chance.step import Step
from fleetbeat.engines.injector import Rule
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.engines.real.means.model import Action, Idle, Stage, Tally, fault_fields
from fleetbeat.engines.real.means.processes import is_traced, state_of, tree_of
from fleetbeat.engines.real.means.strace_log import Log, Seen
from fleetbeat.engines.real.means.strace_words import CALLS, constant_ns, options

PATIENCE_S = 3.0
END_S = 0.5
TRIES = 5
#: A fault is told of at most so long after it struck; more is a wall clock that stepped.
MOST_AGO_NS = 1_000_000_000
POLL_S = 0.002


@dataclass(slots=True)
class Traced:
    """One agent under strace. All its rules are about one path (relative to home) and have one window."""

    agent: str
    rules: tuple[Rule, ...]
    path: str
    launched: bool
    life: int = 0
    log: Log | None = None
    tracer: subprocess.Popen[bytes] | None = None
    seen: dict[str, int] = field(default_factory=dict)
    dying: Rule | None = None

    @property
    def begin(self) -> int:
        return self.rules[0].fault.from_

    @property
    def end(self) -> int | None:
        return self.rules[0].fault.to


class Strace(Idle):
    """`traced` are by agent. Raises nothing before `started`, which raises `EngineError` where strace does not attach."""

    def __init__(self, traced: Mapping[str, Traced]) -> None:
        self._traced = dict(traced)
        self._has_begun = False
        self.tallies: dict[str, Tally] = {}
        for one in self._traced.values():
            for rule in one.rules:
                self.tallies.setdefault(rule.id, Tally())

    def prefix(self, stage: Stage, agent: str, life: int) -> tuple[str, ...]:
        """Words before the command of this life of an agent that strace launches."""
        one = self._traced.get(agent)
        if one is None or not one.launched:
            return ()
        words = self._options(stage, one, life)
        return (shutil.which("strace") or "strace", *words) if words else ()

    def actions(self) -> Sequence[Action]:
        found = [Action(0, self._begin, "time 0")]
        for one in self._traced.values():
            if one.launched:
                continue
            what = f"strace on {one.agent} (fault {', '.join(rule.id for rule in one.rules)})"
            if one.begin > 0:
                found.append(Action(one.begin, partial(self._attach, one), what))
            if one.end is not None:
                found.append(Action(one.end, partial(self._close_window, one), f"no more {what}"))
        return found

    def _begin(self, stage: Stage) -> None:
        self._has_begun = True

    def started(self, stage: Stage, agent: str, life: int) -> None:
        one = self._traced.get(agent)
        if one is None:
            return
        if one.life != life:
            self._reap(one)  # of a process that is gone
            one.life, one.dying = life, None
        is_on = one.begin == 0 or (self._has_begun and one.begin <= stage.now())
        is_over = self._has_begun and one.end is not None and stage.now() >= one.end
        if not one.launched and is_on and not is_over:
            self._attach(one, stage)

    def look(self, stage: Stage) -> None:
        for one in self._traced.values():
            if one.log is not None:
                self._read(stage, one)
            if one.dying is not None and one.tracer is not None and state_of(stage.pid(one.agent)) in (None, "Z", "X"):
                self._reap(one)  # it has seen the death, and says so before it ends
                self._read(stage, one)

    def release(self, stage: Stage) -> None:
        """Lets go of all, before they are ended: whose call strace delays is not gone for its parent when it is killed."""
        for one in self._traced.values():
            self._release(one)
            one.log = None

    def remove(self, stage: Stage) -> None:
        self.release(stage)
        for one in self._traced.values():
            for rule in one.rules:
                self.tallies[rule.id].removed &= not one.launched or stage.pid(one.agent) is None

    # --- strace itself ---

    def _options(self, stage: Stage, one: Traced, life: int) -> tuple[str, ...]:
        path = stage.own(one.agent) / f"strace-{life}.log"
        if not one.launched:  # it is root's strace that writes, so not where the agent could have put a link
            place = stage.root() / "strace"
            place.mkdir(mode=0o700, exist_ok=True)
            path = place / f"{one.agent}-{life}-{stage.now()}.log"
        words = options(one.rules, f"{stage.seen(one.agent)}/{one.path}", one.seen, str(path), one.launched)
        if words:
            one.log, one.life, one.dying = Log(path), life, None
        return words

    def _attach(self, one: Traced, stage: Stage) -> None:
        """To the process and all below it: in a container the agent is no first process. Those that they start later
        are followed; who was started in between makes it begin again."""
        for _ in range(TRIES):
            pid = stage.pid(one.agent)
            if pid is None or one.tracer is not None:
                return
            words = self._options(stage, one, one.life)
            if not words:
                return
            self._trace(one, pid, words)
            if one.tracer is None or all(is_traced(each) for each in tree_of(pid)):
                return
            self._release(one)
        raise EngineError(f"strace: {one.agent} starts processes quicker than strace attaches to them")

    def _trace(self, one: Traced, pid: int, words: Sequence[str]) -> None:
        pids = tree_of(pid)
        attached = [word for each in pids for word in ("-p", str(each))]
        one.tracer = subprocess.Popen(
            [*_dying_with_us(), shutil.which("strace") or "strace", *words, *attached],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        deadline = time.monotonic() + PATIENCE_S
        while not all(is_traced(each) for each in pids):
            if one.tracer.poll() is not None or time.monotonic() > deadline:
                said = self._give_up(one)
                if not os.path.exists(f"/proc/{pid}"):
                    return
                raise EngineError(f"strace: got {said!r}, expected it to attach to {one.agent} (process {pid})")
            time.sleep(POLL_S)

    def _give_up(self, one: Traced) -> str:
        tracer, one.tracer = one.tracer, None
        if tracer is None:
            return ""
        tracer.kill()
        said = tracer.communicate()[1].decode(errors="replace").strip()
        return said.splitlines()[-1][:200] if said else "no answer"

    def _close_window(self, one: Traced, stage: Stage) -> None:
        self._release(one)
        self._read(stage, one)

    def _release(self, one: Traced) -> None:
        if one.tracer is not None and one.tracer.poll() is None:
            one.tracer.send_signal(signal.SIGINT)
        if one.tracer is not None:
            self._reap(one)

    def _reap(self, one: Traced) -> None:
        tracer, one.tracer = one.tracer, None
        if tracer is None:
            return
        try:
            tracer.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            tracer.kill()
            tracer.communicate()

    # --- what it did ---

    def _read(self, stage: Stage, one: Traced) -> None:
        if one.log is None:
            return
        for seen in one.log.read():
            rule = next((rule for rule in one.rules if seen.call in CALLS[str(rule.kind)]), None)
            if rule is None:
                continue
            if seen.what == "begun":
                self._begun(stage, one, rule, seen)
            elif seen.what == "injected":
                self._fired(stage, one, rule, "error", seen)
                self.tallies[rule.id].observed += 1
            elif seen.what == "unanswered":
                self._died(stage, one, seen)
            else:
                self._delayed(stage, one, rule, seen)

    def _begun(self, stage: Stage, one: Traced, rule: Rule, seen: Seen) -> None:
        count = one.seen[rule.id] = one.seen.get(rule.id, 0) + 1
        fault = rule.fault
        if fault.occurrence and count not in fault.occurrence:
            return
        if fault.crash == "before":
            one.dying = rule
        elif fault.pause is not None:
            self._fired(stage, one, rule, "pause", seen)
            end = stage.now() + (constant_ns(fault.pause) or 0)
            stage.pause(one.agent)
            stage.record("pause", {"agent": one.agent, "what": "process", "end": end, "fault": rule.id})
            stage.at(end, partial(_go_on, one.agent), f"{one.agent} goes on")

    def _delayed(self, stage: Stage, one: Traced, rule: Rule, seen: Seen) -> None:
        self.tallies[rule.id].observed += 1
        if rule.fault.crash == "after":
            self._fired(stage, one, rule, "crash", seen)
            one.log = None
            self._kill(stage, one)
            stage.crash(one.agent, rule.id, rule.fault.restart)
        elif rule.fault.delay is not None:
            self._fired(stage, one, rule, "delay", seen)

    def _kill(self, stage: Stage, one: Traced) -> None:
        """Ends what an attached strace holds, before strace: let go, it would go on; left to strace, which does not
        look at those whose call it delays, it would never be gone for its parent."""
        tracer, pid = one.tracer, stage.pid(one.agent)
        if tracer is None or pid is None:
            return
        for each in tree_of(pid):
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._give_up(one)

    def _died(self, stage: Stage, one: Traced, seen: Seen) -> None:
        rule, one.dying = one.dying, None
        if rule is None:
            return
        self._fired(stage, one, rule, "crash", seen)
        self.tallies[rule.id].observed += 1
        one.log = None
        stage.crash(one.agent, rule.id, rule.fault.restart)

    def _fired(self, stage: Stage, one: Traced, rule: Rule, effect: str, seen: Seen) -> None:
        self.tallies[rule.id].fired += 1
        kind = str(rule.kind)
        step = Step(one.agent, one.life, 0, kind, one.path, one.seen.get(rule.id, 1) - 1)
        fields = fault_fields(rule.id, one.agent, step, kind, one.path, effect)
        fields["error"] = rule.fault.error if effect == "error" else None
        ago = min(max(0, time.time_ns() - int(seen.wall_s * 1e9)), MOST_AGO_NS)
        stage.record("fault", fields, stage.now() - ago)


def _go_on(agent: str, stage: Stage) -> None:
    if stage.alive(agent):
        stage.resume(agent)


def _dying_with_us() -> tuple[str, ...]:
    """Words by which strace is killed when the harness is: whom it holds goes on then, and can be ended."""
    found = shutil.which("setpriv")
    return () if found is None else (found, "--pdeathsig", "KILL")
