"""History: everything that happened in one run, in order, as flat records. Engines write it; checks, metrics and
reports read nothing else.

A record is a time in integer nanoseconds, an actor, a kind and that kind's fields (JSON values). `KINDS` is the schema:
each kind with its fields and who can observe it. Records of kind `op` only explain: taking them out leaves every
verdict as it was or turns it into unknown.

Bodies are named by digest, so that a history without texts is judged alike. `body` is the digest of the bytes; `norm`
is the digest of the text as an agent compares it (UTF-8 decoded, newlines translated, stripped), null where the bytes
do not decode; `blank` says that nothing is left after stripping.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCHEMA = 1


@dataclass(slots=True)
class Record:
    """One thing that happened. `t` in nanoseconds of virtual (or measured) time since the run began.

    Nobody changes one. Not declared frozen: making one would take twice as long, and engines make them by the million.
    """

    t: int
    actor: str
    kind: str
    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)


#: kind -> {field: meaning}. A field ending in `?` may be null. Times are ns.
KINDS: dict[str, dict[str, str]] = {
    # what was planned
    "run": {
        "schema": "version of this schema",
        "fleetbeat": "version of the program",
        "scenario": "its name",
        "seed": "integer",
        "engine": "des, fleet, process, docker",
        "duration": "planned length, ns",
        "observed": "list of what this engine observes beyond the common part: ops",
        "expect": "the scenario's expectations as resolved",
        "bound": "runnable beats within which a signal must be resolved once faults are off (2)",
    },
    "host": {
        "host": "name",
        "disk?": "byte budget",
        "system_disk?": "byte budget of system/",
        "clock_offset": "ns",
        "clock_ppm": "drift",
    },
    "rollout": {
        "rollout": "id",
        "version": "id of the version it wants in place",
        "operator": "who runs it",
        "body": "digest",
        "targets": "list of agents, explicit",
        "write": "atomic, atomic-synced, in-place, cross-device, shared-temp, hand-down",
        "verify": "none, disappearance, canonical, effective",
        "waves": "list of lists of agents",
    },
    "fault.plan": {
        "fault": "id",
        "means": "one line in words",
        "on": "agents or operators",
        "operation?": "the operation it strikes, null if it strikes by itself at a rate",
        "probability?": "for each such operation, null if it has none",
        "targets": "list",
        "from": "ns",
        "to?": "ns",
    },
    "body": {
        "body": "digest of the bytes",
        "norm?": "digest of the compared text, null if not UTF-8",
        "blank": "true if nothing is left after stripping",
        "size": "bytes",
        "version?": "the version it carries, null for start states, outside edits and bytes nobody posted",
        "origin": "rollout, start, edit, hand-down, unknown (bytes that nobody posted or recorded)",
        "text?": "the text, if bodies are kept and it decodes",
        "base64?": "the bytes, if bodies are kept and they do not decode",
    },
    # agents and their processes
    "agent": {
        "agent": "name",
        "home": "directory, fleet-wide",
        "host": "name",
        "program": "name of its manifest",
        "parent?": "agent that spawned it",
        "spawned": "false if it was there at the start",
        "declares": "paths its manifest says it writes, relative to home, globs",
        "set_aside": "paths at which it sets signals aside on purpose, globs",
        "known_gaps": "invariant ids its manifest admits",
        "canonical?": "digest of canonical at the start, null if none",
        "interval?": "its heartbeat's interval as planned, ns; null if nobody knows",
    },
    "life.begin": {"agent": "name", "life": "0 for the first"},
    "life.end": {"agent": "name", "life": "", "cause": "crash, power, end", "fault?": "id of the fault that did it"},
    "heartbeat.end": {"agent": "name", "life": "", "beat": "number", "error": "the exception that escaped"},
    "runnable": {"agent": "name", "runnable": "true or false: may it consume signals from now on"},
    "beat": {
        "agent": "name",
        "life": "",
        "beat": "number within the life",
        "end": "ns at which its work ended",
        "runnable": "",
        "outcome": "done, cut (the process died in it), ended (an exception escaped)",
    },
    "beats": {
        "agent": "name",
        "life": "",
        "first": "number of the first idle beat of this span",
        "last": "number of the last",
        "last_start": "ns at which the last one began",
        "end": "ns at which the last one's work ended",
        "runnable": "",
        "ops": "operations that each of them made: {kind: count}",
    },
    "rebuild.begin": {
        "agent": "name",
        "life": "",
        "rebuild": "number within the life, boot is 0",
        "cause": "boot, molt, refresh, rebuild",
    },
    "rebuild.end": {
        "agent": "name",
        "life": "",
        "rebuild": "",
        "outcome": "done, failed (its flush or read failed), cut, ended",
    },
    "pause": {
        "agent": "name",
        "what": "process (stopped) or thread (the beat thread stalls)",
        "end": "ns",
        "fault?": "id",
    },
    # what can be seen of a directory from outside
    "signal": {
        "agent": "name",
        "event": "appeared, replaced, changed, vanished, moved",
        "to?": "where it was moved, relative to home",
        "entry?": "what stands there afterwards: file, directory, symlink; null if nothing does",
        "readable?": "may the agent's user read it; null if nothing stands there",
    },
    "canonical": {
        "agent": "name",
        "event": "truncated, written, replaced, removed",
        "body?": "digest of its content afterwards, null if there is none",
    },
    "prompt": {
        "agent": "name",
        "state": "whole, torn (no end to the section, or undecodable), missing",
        "norm?": "digest of the text in its protected rules section, null if there is no section",
        "blank": "true if the section is there but empty",
    },
    "write": {
        "agent?": "agent in whose home it lies, null if in none",
        "path": "fleet-wide: a file written outside what is declared or targeted",
    },
    "log": {
        "agent": "name",
        "life": "",
        "event": "rules_loaded, rules_write_error, ...",
        "fields": "the entry's own fields",
    },
    "edit": {"agent": "name", "path": "relative to home", "body?": "digest", "by": "who: start state or outside hand"},
    # writers
    "post.plan": {
        "post": "id",
        "version": "id",
        "agent": "target",
        "operator": "who",
        "attempt": "from 1",
        "body": "digest",
        "write": "method",
    },
    "post.begin": {"post": "id", "agent": "target"},
    "post.complete": {"post": "id", "agent": "target"},
    "post.end": {
        "post": "id",
        "agent": "target",
        "outcome": "written, failed, died",
        "error?": "errno name",
        "leftover?": "temporary that was left, fleet-wide path",
    },
    "claim": {
        "post": "id of the last attempt",
        "version": "id",
        "agent": "target",
        "operator": "who",
        "verify": "how",
        "claim": "done, failed, timeout",
    },
    "polls": {
        "agent": "target",
        "operator": "who",
        "count": "polls made",
        "ops": "operations of those that saw nothing new, all together: {kind: count}; the others have `op` records",
    },
    "wave": {"rollout": "id", "wave": "from 1", "event": "begin, end, stopped", "targets": "how many"},
    # rollout plans
    "truth": {
        "version": "id",
        "bad": "true if it should never have gone out; no gate is told",
        "errors_per_hour": "entries agent_error that an agent logs while it is effective there",
    },
    "gate": {
        "rollout": "id",
        "wave": "from 1",
        "event": "look (it lets the wave bake on), passed, failed",
        "seen": "{targets, effective, violations, unread, write_errors, errors}: of all targets posted to so far",
        "lag?": "ns, the gate's quantile of the wave's targets; null: not reached, or not asked for",
        "why?": "what it objected to, in words; null: nothing",
    },
    "plan": {
        "rollout": "id",
        "wave": "from 1: the last one that began",
        "event": "asked, approved (a person), finished, aborted, rollback, rolled-back, died (the operator's process)",
    },
    # what the harness did
    "fault": {
        "fault": "id",
        "agent": "agent hit (for an operator: its target)",
        "on": "agents or operators",
        "step": "the step in words",
        "operation": "kind, or beat, process, power",
        "path?": "relative to home",
        "effect": "error, partial, after, delay, crash, pause, power",
        "error?": "errno name",
    },
    "fault.count": {
        "fault": "id, or crash-N, stall, disk:HOST, system_disk:HOST",
        "means": "list of the means that carried it out: harness, driver, permissions, remount, tmpfs, signal, strace",
        "planned?": "how often it was to fire, known beforehand; null where chance or the agent's own steps decide",
        "fired": "how often the means fired it",
        "observed": "how often it was seen to have had its effect (the driver's report, strace's log, the process)",
        "removed": "true if nothing of it is left on the machine",
    },
    # what a run in real time says about itself
    "measured": {
        "what": "observation (how late the observer is, against the agents' own clocks), clock (largest step of the wall"
        " clock against the monotonic one)",
        "count": "how often it was measured",
        "p50?": "ns, null where nothing was measured",
        "p90?": "ns",
        "p99?": "ns",
        "max?": "ns",
    },
    "note": {
        "agent?": "name, null for none",
        "text": "words for people, of the harness",
        "told?": "what somebody's process wrote about it, such as its last lines: data",
    },
    # the event framework
    "workload": {
        "core": "name of the core's manifest",
        "guards": "list of the gates built into the core: {id, on, answer, when, state, cooldown_s}",
        "options": "how the core was set up",
    },
    "policies": {
        "norm": "digest of the compared text of a body",
        "gates": "list of {id, on, answer, when, state, cooldown_s}",
        "observers": "list of {id, on, action, argument, when, state, cooldown_s}",
        "error?": "why its policies are malformed; null: they are not",
    },
    "core.begin": {"agent": "name", "life": ""},
    "core.end": {"agent": "name", "life": "", "cause": "crash, power, end"},
    "core.rules": {
        "agent": "name",
        "norm?": "digest of the text that is in effect from now on, null if there is none",
        "malformed": "true: its policies are malformed, so that those before stay in force",
    },
    "core.failed": {
        "agent": "name",
        "event?": "id of the event at hand",
        "error": "the exception that escaped the core",
    },
    "core.log": {"agent": "name", "event": "the core's own word", "fields": "the entry's own fields"},
    "event": {
        "agent": "name",
        "id": "integer; events and actions of an agent share one count",
        "type": "prompt, reply, tool.before, tool.after, file.changed, ready, answer, dismissed, or one that a core emits",
        "origin": "user, agent, tool, proactive; of ready and emitted events as the core wrote it",
        "session": "name",
        "cause?": "id of the event or action that the harness saw it follow from; null: from nothing",
        "fields": "its own fields",
        "dangerous?": "of a tool.before: the truth, which no core was told",
    },
    "judged": {
        "agent": "name",
        "call": "id of the tool.before",
        "gate": "id of the gate that was asked",
        "answer": "allow, deny, ask, raised, slow",
        "took": "ns",
    },
    "verdict": {
        "agent": "name",
        "call": "id of the tool.before",
        "verdict?": "allow, deny, ask: the core's; null: none, it does not run",
    },
    "ran": {"agent": "name", "call": "id of the tool.before that took effect"},
    "action": {
        "agent": "name",
        "id": "integer",
        "action": "notify, inject, prepare, emit",
        "policy": "as the core named it",
        "session": "name",
        "cause?": "id of the event that the core had at hand; null: none",
        "cost": "of a prepare, in units of money",
        "origin?": "as the core wrote it",
        "mark?": "the core's own notes",
    },
    "task.end": {"agent": "name", "task": "id of the prepare"},
    "limit": {
        "agent": "name",
        "what": "tasks, emitted, asked: what the host first refused more of over an event",
        "most": "how many it lets be",
    },
    "unseen": {"agent?": "name, null for all", "from": "ns", "to": "ns", "missing": "what was not observed"},
    "choice.unmet": {"choice": "a case's choice, in words, that had nothing to decide: its step never came"},
    "hold.unmet": {"step": "step that was held", "until": "step that never came"},
    # explanation only
    "op": {
        "agent": "agent whose directory is home to the actor (for an operator: its target)",
        "life": "",
        "episode": "number",
        "role": "boot, beat, rebuild, post, poll, hand-down",
        "operation": "kind",
        "path": "relative to home",
        "nth": "",
        "result": "ok or errno name",
        "size?": "bytes moved",
        "body?": "digest of what was read of the signal, once the whole was read",
    },
    "timing": {
        "agent": "name",
        "life": "",
        "beat": "number within the life, as its driver counts",
        "start": "ns at which it began, as its driver measured",
        "end": "ns at which its work ended",
        "idle": "true if it changed nothing; of these only a sample is kept",
        "ops": "list of [kind, ns of its begin, of its end, ok or errno name], without what a fault delayed",
    },
    "end": {"reason": "duration, interrupted, failed (the engine could not go on)"},
}


def digest(data: bytes) -> str:
    """The name of a body: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def compared(data: bytes) -> str | None:
    """The text that an agent compares: UTF-8 decoded, newlines translated, stripped; None if it does not decode.

    Source: PROTOCOL, the episode's table ("a body that is not UTF-8 counts as a read failure", "body, stripped, equals
    canonical, stripped") and "text is read with newline translation".
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def norm_of(text: str) -> str:
    """The digest of a compared text."""
    return digest(text.strip().encode("utf-8"))
