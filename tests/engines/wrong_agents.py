"""Agents that get the protocol wrong on purpose, each by one row of the table, and the check that has to notice.

Each comes with the scenario that gives it the chance; the same scenario leaves the reference agent without that finding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from fleetbeat.engines.programs import load_program
from fleetbeat.protocol.spelling import decode, log, read_file, write_file
from fleetbeat.protocol.vocabulary import SetSection, Stat, Unlink
from fleetbeat.scenario.library import find_agent
from fleetbeat.scenario.manifest import load_manifest

FOLDER = find_agent("reference")
REFERENCE: Any = load_program(FOLDER, load_manifest(FOLDER))
Reference: Any = type(REFERENCE)


class UnlinksFirst(Reference):
    """Unlinks, then reads: a read failure loses the body."""

    def consume(self, context: Any) -> Any:
        signal = context.path(".rules")
        handle = None
        try:
            from fleetbeat.protocol.vocabulary import Close, Open, ReadChunk

            handle = yield Open(signal)
            yield Unlink(signal)
            data = b""
            while part := (yield ReadChunk(handle, context.chunk)):
                data += part
            yield Close(handle)
            return decode(data)
        except (OSError, UnicodeDecodeError):
            return None


class AppliesUnconsumed(Reference):
    """Goes on although the unlink failed."""

    def consume(self, context: Any) -> Any:
        try:
            body = decode((yield from read_file(context.path(".rules"), context.chunk)))
        except (OSError, UnicodeDecodeError):
            return None
        try:
            yield Unlink(context.path(".rules"))
        except OSError:
            pass
        return body


class Merges(Reference):
    """Appends the new body to the old rules."""

    def handle(self, context: Any, memory: Any, body: str) -> Any:
        old = yield from self.known(context)
        return (yield from super().handle(context, memory, f"{old}\n{body}" if old and body.strip() else body))


class FlushesIdentical(Reference):
    """Treats an identical body as a new one."""

    def known(self, context: Any) -> Any:
        yield from super().known(context)
        return ""


class PromptFirst(Reference):
    """Changes the prompt, and flushes it, before canonical is safe."""

    def handle(self, context: Any, memory: Any, body: str) -> Any:
        if body.strip():
            yield SetSection("rules", body.strip())
            memory = yield from self.flush(context, memory)
        return (yield from super().handle(context, memory, body))


class ForgetsOnRebuild(Reference):
    """A rebuild starts from nothing."""

    def rebuild(self, context: Any, memory: Any) -> Any:
        yield SetSection("rules", None)
        return (yield from self.flush(context, memory))


class LogsTwice(Reference):
    def report(self, memory: Any) -> Any:
        if memory.loaded_due and not memory.flush_due:
            yield from log("rules_loaded", source=".rules")
        return (yield from super().report(memory))


class DiesOfPoison(Reference):
    """Catches OSError alone: a body that does not decode ends the heartbeat."""

    def consume(self, context: Any) -> Any:
        try:
            body = decode((yield from read_file(context.path(".rules"), context.chunk)))
            yield Unlink(context.path(".rules"))
        except OSError:
            return None
        return body


class PersistsBlank(Reference):
    """Takes a blank body for an order to clear the rules."""

    def handle(self, context: Any, memory: Any, body: str) -> Any:
        if not body.strip():
            yield from self.persist(context, body)
            yield SetSection("rules", None)
            return (yield from self.flush(context, memory))
        return (yield from super().handle(context, memory, body))


class ShrugsOffWriteFailure(Reference):
    """Logs the failed write and puts the body into the prompt all the same."""

    def handle(self, context: Any, memory: Any, body: str) -> Any:
        try:
            yield from self.persist(context, body)
        except OSError:
            yield from log("rules_write_error", error="?")
        yield SetSection("rules", body.strip())
        return (yield from self.flush(context, replace(memory, loaded_due=True)))


class SilentWriteFailure(Reference):
    """Gives up after a failed write and tells nobody."""

    def handle(self, context: Any, memory: Any, body: str) -> Any:
        if not body.strip() or body.strip() == (yield from self.known(context)):
            return memory
        try:
            yield from self.persist(context, body)
        except OSError:
            return memory
        yield SetSection("rules", body.strip())
        return (yield from self.flush(context, replace(memory, loaded_due=True)))


class WritesElsewhere(Reference):
    """Keeps a copy where its manifest does not say."""

    def persist(self, context: Any, body: str) -> Any:
        yield from super().persist(context, body)
        yield from write_file(context.path("backup.md"), body.encode(), context.chunk)


class ForgetsTheFlush(Reference):
    """A failed flush is logged and never done again."""

    def flush(self, context: Any, memory: Any) -> Any:
        memory = yield from super().flush(context, memory)
        return replace(memory, flush_due=False, loaded_due=False)


class LooksAway(Reference):
    """After a first signal it never looks again."""

    def is_posted(self, context: Any) -> Any:
        try:
            yield Stat(context.path("system/rules.md"))
        except OSError:
            return (yield from super().is_posted(context))
        return False


@dataclass(frozen=True)
class Case:
    """`check` must be broken by `agent` under a scenario made of these parts, and only by the wrong one.

    `kind` is a gap where the specification is silent, so that the agent departs from nothing.
    """

    agent: Any
    check: str
    faults: tuple[dict[str, Any], ...] = ()
    bodies: tuple[str, ...] = ("first", "second")
    lifecycle: dict[str, Any] = field(default_factory=dict)
    kind: str = "violation"

    def scenario(self) -> dict[str, Any]:
        return {
            "name": "wrong",
            "duration": "40s",
            "fleet": {"agents": 3, "start": {"rules": "as it was"}, "lifecycle": self.lifecycle},
            "faults": list(self.faults),
            "rollouts": [
                {"version": f"v{n}", "at": f"{n * 10}s", "targets": "all", **_body(body)}
                for n, body in enumerate(self.bodies, 1)
            ],
        }


def _body(text: str) -> dict[str, Any]:
    if text == "POISON":
        return {"base64": "/3f/"}
    return {"body": text, "mark": False} if text == "same" else {"body": text}


CASES = (
    Case(UnlinksFirst(), "no-silent-loss", ({"operation": "read", "occurrence": 1, "error": "EIO"},)),
    Case(AppliesUnconsumed(), "consume-before-apply", ({"operation": "unlink", "occurrence": 1, "error": "EACCES"},)),
    Case(Merges(), "whole-body"),
    Case(FlushesIdentical(), "identical-is-noop", bodies=("same", "same")),
    Case(PromptFirst(), "write-failure-aborts", ({"operation": "write", "occurrence": 1, "error": "EIO"},)),
    Case(ForgetsOnRebuild(), "survives-rebuild", lifecycle={"rebuilds": [{"at": "15s"}]}),
    Case(LogsTwice(), "one-log-each"),
    Case(DiesOfPoison(), "beats-go-on", bodies=("first", "POISON")),
    Case(PersistsBlank(), "empty-is-noop", bodies=("first", "  \n ")),
    Case(
        ShrugsOffWriteFailure(), "write-failure-aborts", ({"operation": "write", "occurrence": 1, "error": "ENOSPC"},)
    ),
    Case(SilentWriteFailure(), "write-failure-aborts", ({"operation": "write", "occurrence": 1, "error": "ENOSPC"},)),
    Case(WritesElsewhere(), "scope"),
    Case(
        ForgetsTheFlush(),
        "effective-follows",
        ({"operation": "flush", "occurrence": 2, "error": "EIO"},),
        ("first",),
        kind="gap",
    ),
    Case(LooksAway(), "drains"),
)
