"""How strace is told of a fault: the calls, what is done to them, and to the how manieth.

Found out by trying it (strace 6.1), and each with a test:

- `when=` counts each call by itself, in each thread, and only calls that match `-P`; so a path is needed, absolute and
  without wildcards, and all calls that do the same are named together.
- `-P` holds for the whole of strace: faults on two paths would strike each other's; and of two rules for one call the
  last silently wins. So a process gets one path, and each call one rule.
- an injected signal comes after the call, except for SIGKILL, after which the call is never made; with `--seccomp-bpf`
  signals are dropped. So a death after a call is a long delay at its exit, and a kill as soon as the log shows it; a
  pause is a delay at its entry while the whole process is stopped.
- a rule given at launch is there again after a restart: occurrences of earlier lives are taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from fleetbeat.engines.injector import Rule
from fleetbeat.scenario.model import Constant, Spread

#: The calls by which a foreign program does what an operation of the vocabulary does.
CALLS = {
    "stat": ("stat", "lstat", "newfstatat", "statx"),
    "list": ("getdents64",),
    "open": ("open", "openat", "openat2", "creat"),
    "read": ("read", "pread64", "readv", "preadv", "preadv2"),
    "write": ("write", "pwrite64", "writev", "pwritev", "pwritev2"),
    "truncate": ("truncate", "ftruncate"),
    "close": ("close",),
    "rename": ("rename", "renameat", "renameat2"),
    "unlink": ("unlink", "unlinkat"),
    "mkdir": ("mkdir", "mkdirat"),
    "sync": ("fsync", "fdatasync"),
    "emit": ("write", "pwrite64", "writev"),
}
LOG = "logs/events.jsonl"
#: How long a call is held at its exit for us to kill its process, µs. Only a harness that hangs lets it go on.
HOLD_US = 5_000_000


def why_not(rule: Rule) -> str | None:
    """Why strace cannot carry out this fault, whoever the agent is."""
    fault = rule.fault
    effects = [fault.error, fault.delay, fault.crash, fault.pause]
    if rule.kind is None:
        return "it strikes by itself, not at a call"
    if fault.probability is not None and fault.probability < 1:
        return "strace counts calls and draws no chance; give occurrence instead of probability"
    if sum(effect is not None for effect in effects) > 1:
        return "strace does one thing to a call: an error, a delay, a pause or a crash"
    if fault.effect != "before":
        return f"strace makes a call fail instead of its effect, not {fault.effect} of it"
    for name, spread in (("delay", fault.delay), ("pause", fault.pause)):
        if spread is not None and constant_ns(spread) is None:
            return f"strace's {name}s are of one length; give a constant one"
    if path_of(rule, "") is None:
        return "strace needs one path without wildcards"
    if fault.occurrence and when_of(fault.occurrence, 0) is None:
        return "strace takes occurrences at equal distances only"
    return None


def path_of(rule: Rule, prompt: str) -> str | None:
    """The path relative to home that the fault is about; None if that is not one path."""
    pattern = prompt if rule.fault.operation == "flush" and rule.pattern is None else rule.pattern
    if pattern is None and rule.kind == "emit":
        return LOG
    return None if pattern is None or any(sign in pattern for sign in "*?[") else pattern


def constant_ns(spread: Spread) -> int | None:
    """The one value of a spread, None if it has several."""
    return spread.value if isinstance(spread, Constant) else None


def when_of(occurrence: Sequence[int], seen: int) -> str | None:
    """`when=` for these occurrences, `seen` of which passed in earlier lives; "" if none is left, None if strace cannot
    say it."""
    left = [number - seen for number in sorted(occurrence) if number > seen]
    if not left:
        return ""
    steps = [after - before for before, after in pairwise(left)]
    if any(step != steps[0] for step in steps):
        return None
    if len(left) == 1:
        return f"{left[0]}"
    return f"{left[0]}..{left[-1]}+{steps[0]}"


def clause_of(rule: Rule) -> str:
    """What is done to the call."""
    fault = rule.fault
    if fault.error is not None:
        return f"error={fault.error}"
    if fault.crash is not None:
        return "signal=SIGKILL" if fault.crash == "before" else f"delay_exit={HOLD_US}"
    spread = fault.delay if fault.delay is not None else fault.pause
    assert spread is not None
    return f"delay_enter={max(1, (constant_ns(spread) or 0) // 1000)}"


def options(rules: Sequence[Rule], path: str, seen: dict[str, int], log: str, launch: bool) -> tuple[str, ...]:
    """Words for strace, before the command or `-p`. `path`: absolute, as the process says it; `seen`: occurrences of
    earlier lives by fault. () if no fault is left to strike."""
    words: list[str] = []
    calls: dict[str, None] = {}
    for rule in rules:
        named = CALLS[str(rule.kind)]
        calls.update(dict.fromkeys(named))
        when = when_of(rule.fault.occurrence, seen.get(rule.id, 0)) if rule.fault.occurrence else "1+"
        if when:
            words += ["-e", f"inject={','.join(named)}:{clause_of(rule)}:when={when}"]
    if not words:
        return ()
    quick = ["--seccomp-bpf"] if launch and not any("signal=" in word for word in words) else []
    return (
        "-f",
        *quick,
        "-q",
        "-ttt",
        "-e",
        "signal=none",
        "-e",
        f"trace={','.join(calls)}",
        "-P",
        path,
        *words,
        "-o",
        log,
    )
