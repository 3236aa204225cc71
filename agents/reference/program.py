"""The reference agent: the specified episode, step by step, on one thread, canonical written in place.

Where the specification is silent: a failed flush is logged as `rules_flush_error` and done again on the next beat; a
rebuild that cannot read canonical (other than because it is missing) keeps the section, logs `rules_read_error` and reads
again on the next beat. Standard library and `fleetbeat.protocol` only.
"""

from __future__ import annotations

import errno
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from fleetbeat.protocol.spelling import decode, flush_prompt, log, make_directory, read_file, write_file
from fleetbeat.protocol.vocabulary import Context, Op, SetSection, Stat, Unlink

SIGNAL = ".rules"
CANONICAL = "system/rules.md"
PROMPT = "system/system.md"


@dataclass(frozen=True, slots=True)
class Memory:
    """What one episode leaves to the next: a flush still owed, a `rules_loaded` still owed, a re-read of canonical owed."""

    flush_due: bool = False
    loaded_due: bool = False
    reread_due: bool = False


Steps = Generator[Op, Any, Memory]


class Reference:
    """Methods are the rows of the specification's table, so that a variant overrides one of them."""

    start = Memory()

    # --- episodes ---

    def boot(self, context: Context, memory: Memory) -> Steps:
        return (yield from self.rebuild(context, memory))

    def rebuild(self, context: Context, memory: Memory) -> Steps:
        """Canonical is read again into the section, and the prompt flushed, whatever is pending."""
        try:
            text = yield from self.read_canonical(context)
        except OSError as error:
            yield from log("rules_read_error", error=_name(error))
            return replace(memory, reread_due=True)
        yield SetSection("rules", text or None)
        return (yield from self.flush(context, replace(memory, reread_due=False)))

    def beat(self, context: Context, memory: Memory) -> Steps:
        if memory.reread_due:
            memory = yield from self.rebuild(context, memory)
        elif memory.flush_due:
            memory = yield from self.flush(context, memory)
        memory = yield from self.report(memory)
        if not (yield from self.is_posted(context)):
            return memory
        body = yield from self.consume(context)
        if body is None:
            return memory
        memory = yield from self.handle(context, memory, body)
        return (yield from self.report(memory))

    # --- the rows of the table ---

    def is_posted(self, context: Context) -> Generator[Op, Any, bool]:
        try:
            return (yield Stat(context.path(SIGNAL))).is_regular
        except OSError:
            return False

    def consume(self, context: Context) -> Generator[Op, Any, str | None]:
        """Reads, then unlinks the signal; None where either fails, and then nothing is applied."""
        try:
            body = decode((yield from read_file(context.path(SIGNAL), context.chunk)))
            yield Unlink(context.path(SIGNAL))
        except (OSError, UnicodeDecodeError):
            return None
        return body

    def handle(self, context: Context, memory: Memory, body: str) -> Steps:
        if not body.strip():
            return memory
        if body.strip() == (yield from self.known(context)):
            return memory
        try:
            yield from self.persist(context, body)
        except OSError as error:
            yield from log("rules_write_error", error=_name(error))
            return memory
        yield SetSection("rules", body.strip())
        return (yield from self.flush(context, replace(memory, reread_due=False, loaded_due=True)))

    def known(self, context: Context) -> Generator[Op, Any, str]:
        """Canonical, stripped, as the consumed body is compared with it; unreadable counts as empty."""
        try:
            return (yield from self.read_canonical(context))
        except OSError:
            return ""

    def read_canonical(self, context: Context) -> Generator[Op, Any, str]:
        """Stripped; "" if it is missing or does not decode. Raises `OSError` if it cannot be read."""
        try:
            return decode((yield from read_file(context.path(CANONICAL), context.chunk))).strip()
        except UnicodeDecodeError:
            return ""
        except OSError as error:
            if error.errno == errno.ENOENT:
                return ""
            raise

    def persist(self, context: Context, body: str) -> Generator[Op, Any, None]:
        yield from make_directory(context.path("system"))
        yield from write_file(context.path(CANONICAL), body.encode("utf-8"), context.chunk)

    def flush(self, context: Context, memory: Memory) -> Steps:
        """Writes the prompt; where that fails, it is owed."""
        try:
            yield from make_directory(context.path("system"))
            yield from flush_prompt(context.path(PROMPT), context.chunk)
        except OSError as error:
            yield from log("rules_flush_error", error=_name(error))
            return replace(memory, flush_due=True)
        return replace(memory, flush_due=False)

    def report(self, memory: Memory) -> Steps:
        """Logs `rules_loaded` once what a beat consumed is flushed, be it by this beat, a later one or a rebuild.

        Only the heartbeat's thread does this: a rebuild beside it would log the same body a second time.
        """
        if not memory.loaded_due or memory.flush_due:
            return memory
        yield from log("rules_loaded", source=SIGNAL)
        return replace(memory, loaded_due=False)


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, str(error.errno))


PROGRAM = Reference()
