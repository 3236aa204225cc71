"""The claim agent: the specified protocol without its races, for comparison with the reference agent.

It owns a signal before it reads it (one rename), keeps it until its body is effective, and replaces canonical and prompt
whole (temporary, sync, rename). One lock keeps beats and rebuilds apart. README.md has the fault model, and why each step
stands where it does. Standard library and `fleetbeat.protocol` only.
"""

from __future__ import annotations

import errno
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Literal

from fleetbeat.protocol.spelling import (
    close_quietly,
    decode,
    log,
    make_directory,
    read_file,
    sync_directory,
    write_file,
)
from fleetbeat.protocol.vocabulary import (
    Close,
    Compose,
    Context,
    Emit,
    Lock,
    Op,
    Open,
    ReadChunk,
    Rename,
    SetSection,
    Stat,
    Sync,
    Unlink,
)

SIGNAL = ".rules"
CLAIMED = ".rules.claimed"
REJECTED = ".rules.rejected"
CANONICAL = "system/rules.md"
PROMPT = "system/system.md"
LOCK = "rules"


@dataclass(frozen=True, slots=True)
class Memory:
    """What one episode leaves to the next; a life starts with nothing known.

    `claim`: what is known of the claimed signal. "" there is none; "due" there may be one, and it is not finished; "unread"
    it could not be read; "told" it is not finished, and nothing would be lost silently with it: its failure is logged, or
    canonical holds its body; "done" it is finished, and only to be dropped. `mine`: this life took it. `applied`: this life
    wrote it to canonical, and has not logged that.
    `reread_due`: the section may not hold what canonical holds. `flush_due`: the prompt may not hold what the section holds.
    """

    claim: Literal["", "due", "unread", "told", "done"] = "due"
    mine: bool = False
    applied: bool = False
    reread_due: bool = True
    flush_due: bool = False

    @property
    def owes(self) -> bool:
        return self.claim != "" or self.reread_due or self.flush_due


Steps = Generator[Op, Any, Memory]


class Claim:
    """Methods are the steps of the protocol, so that a variant overrides one of them."""

    start = Memory()

    # --- episodes ---

    def boot(self, context: Context, memory: Memory) -> Steps:
        """Canonical first, then the claim that the life before left behind. Nobody else is at work yet."""
        memory = yield from self.read_again(context, memory)
        return (yield from self.finish(context, memory))

    def rebuild(self, context: Context, memory: Memory) -> Steps:
        yield Lock(LOCK)
        memory = yield from self.read_again(context, memory)
        yield Lock(LOCK, hold=False)
        return memory

    def beat(self, context: Context, memory: Memory) -> Steps:
        posted = yield from self.is_posted(context)
        if not (posted or memory.owes):
            return memory
        yield Lock(LOCK)
        memory = yield from self.catch_up(context, memory)
        if posted:
            memory = yield from self.take(context, memory)
        yield Lock(LOCK, hold=False)
        return memory

    # --- the signal ---

    def is_posted(self, context: Context) -> Generator[Op, Any, bool]:
        try:
            return (yield Stat(context.path(SIGNAL))).is_regular
        except OSError:
            return False

    def catch_up(self, context: Context, memory: Memory) -> Steps:
        """What earlier episodes still owe."""
        if memory.reread_due:
            memory = yield from self.read_again(context, memory)
        elif memory.flush_due:
            memory = yield from self.flush(context, memory)
        return (yield from self.finish(context, memory)) if memory.claim else memory

    def take(self, context: Context, memory: Memory) -> Steps:
        """Claims the signal and handles it; not over a claim that would be lost silently."""
        if memory.claim == "unread":
            memory = yield from self.set_aside(context, memory, "unreadable")
        if memory.claim not in ("", "told", "done"):
            return memory
        try:
            yield Rename(context.path(SIGNAL), context.path(CLAIMED))
        except OSError:  # it may have taken effect all the same
            return replace(memory, claim="due", mine=False, applied=False)
        return (yield from self.finish(context, replace(memory, claim="due", mine=True, applied=False)))

    def finish(self, context: Context, memory: Memory) -> Steps:
        """Takes the claimed signal through whatever is left to do, and drops it once its body is effective."""
        if memory.claim == "done":
            return (yield from self.drop(context, memory))
        try:
            body = decode((yield from self.read_claimed(context)))
        except OSError as error:
            return replace(memory, claim="" if error.errno == errno.ENOENT else "unread")
        except UnicodeDecodeError:
            return (yield from self.set_aside(context, memory, "not UTF-8"))
        if not body.strip():
            return (yield from self.drop(context, memory))
        known = yield from self.known(context)
        if body.strip() != known:
            return (yield from self.apply(context, memory, body, is_new=known is not None))
        if memory.reread_due:  # canonical may not outlive a power failure yet
            return replace(memory, claim="due")
        if memory.flush_due:
            return replace(memory, claim="told")
        return (yield from self.conclude(context, memory))

    def set_aside(self, context: Context, memory: Memory, why: str) -> Steps:
        """Says so first: what is set aside and not logged would be lost silently."""
        if not (yield from tell("rules_rejected", why=why, to=REJECTED)):
            return replace(memory, claim="due")
        try:
            yield Rename(context.path(CLAIMED), context.path(REJECTED))
        except OSError as error:
            return replace(memory, claim="" if error.errno == errno.ENOENT else "due")
        return replace(memory, claim="", applied=False)

    def conclude(self, context: Context, memory: Memory) -> Steps:
        """The body is canonical, durable and effective. Logged before the claim goes, so never twice."""
        if memory.applied:
            yield from log("rules_loaded", source=SIGNAL)
        return (yield from self.drop(context, replace(memory, applied=False)))

    def drop(self, context: Context, memory: Memory) -> Steps:
        try:
            yield Unlink(context.path(CLAIMED))
        except OSError as error:
            return replace(memory, claim="" if error.errno == errno.ENOENT else "done")
        return replace(memory, claim="")

    # --- canonical and prompt ---

    def apply(self, context: Context, memory: Memory, body: str, is_new: bool) -> Steps:
        """Persists a body and makes it effective; the claim stays until both are done.

        `is_new`: canonical was read, and holds another text. Where it could not be read, a claim that an earlier life
        took may have been applied, and logged, before: it is not logged again.
        """
        try:
            yield from self.prepare(context, body)
        except OSError as error:
            return (yield from self.fail(memory, error))
        try:
            yield from self.switch(context)
        except OSError as error:  # canonical may hold the new body all the same, or may not hold it for long
            return (yield from self.fail(replace(memory, reread_due=True, applied=memory.applied or is_new), error))
        yield SetSection("rules", body.strip())
        applied = memory.applied or is_new or memory.mine
        memory = yield from self.flush(context, replace(memory, claim="told", applied=applied, reread_due=False))
        return memory if memory.flush_due else (yield from self.conclude(context, memory))

    def prepare(self, context: Context, body: str) -> Generator[Op, Any, None]:
        """Everything short of the switch: the claim is made durable (and earlier ones gone), the new file written."""
        yield from make_directory(context.path("system"))
        yield from sync_directory(context.home)
        yield from write_new(context.path(CANONICAL), body.encode("utf-8"), context.chunk)

    def switch(self, context: Context) -> Generator[Op, Any, None]:
        yield Rename(context.path(CANONICAL) + ".new", context.path(CANONICAL))
        yield from sync_directory(context.path("system"))

    def fail(self, memory: Memory, error: OSError) -> Steps:
        told = yield from tell("rules_write_error", error=_name(error))
        return replace(memory, claim="told" if told else "due")

    def read_again(self, context: Context, memory: Memory) -> Steps:
        """Canonical is read into the section and flushed, once it is certain to outlive a power failure."""
        try:
            yield from self.sync_system(context)
            text = yield from self.read_canonical(context)
        except OSError as error:
            yield from log("rules_read_error", error=_name(error))
            return replace(memory, reread_due=True)
        yield SetSection("rules", text or None)
        return (yield from self.flush(context, replace(memory, reread_due=False)))

    def sync_system(self, context: Context) -> Generator[Op, Any, None]:
        try:
            yield from sync_directory(context.path("system"))
        except FileNotFoundError:
            pass

    def flush(self, context: Context, memory: Memory) -> Steps:
        """Replaces the prompt whole; where that fails, it is owed."""
        prompt = yield Compose()
        try:
            yield from make_directory(context.path("system"))
            yield from write_new(context.path(PROMPT), prompt.encode("utf-8"), context.chunk)
            yield Rename(context.path(PROMPT) + ".new", context.path(PROMPT))
        except OSError as error:
            yield from log("rules_flush_error", error=_name(error))
            return replace(memory, flush_due=True)
        return replace(memory, flush_due=False)

    # --- reading ---

    def read_claimed(self, context: Context) -> Generator[Op, Any, bytes]:
        """The claimed bytes, made durable while they are open."""
        handle = yield Open(context.path(CLAIMED))
        parts: list[bytes] = []
        try:
            while part := (yield ReadChunk(handle, context.chunk)):
                parts.append(part)
            yield Sync(handle)
        except OSError:
            yield from close_quietly(handle)
            raise
        yield Close(handle)
        return b"".join(parts)

    def known(self, context: Context) -> Generator[Op, Any, str | None]:
        """Canonical, stripped; None if it cannot be read, so that any body counts as another one."""
        try:
            return (yield from self.read_canonical(context))
        except OSError:
            return None

    def read_canonical(self, context: Context) -> Generator[Op, Any, str]:
        """Stripped; "" if it is missing or does not decode. Raises `OSError` if it cannot be read."""
        try:
            return decode((yield from read_file(context.path(CANONICAL), context.chunk))).strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return ""


def write_new(path: str, data: bytes, chunk: int) -> Generator[Op, Any, None]:
    """Writes what is to stand at `path` beside it, synced. Where that fails, nothing of it stays if that can be helped."""
    try:
        yield from write_file(path + ".new", data, chunk, sync=True)
    except OSError:
        try:
            yield Unlink(path + ".new")
        except OSError:
            pass
        raise


def tell(event: str, **fields: str) -> Generator[Op, Any, bool]:
    """Logs one event; whether it is certain that it stands in the log."""
    try:
        yield Emit(event, tuple(fields.items()))
    except OSError:
        return False
    return True


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, str(error.errno))


PROGRAM = Claim()
