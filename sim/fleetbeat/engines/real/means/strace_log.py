"""What strace writes while it works, read as it grows. All of it is data of the traced process: nothing is trusted.

A line is a call, in two parts where another thread's came between; the last line may be a call that has begun and not
ended. Only the beginning and the end of a line are looked at.
"""

from __future__ import annotations

import os
import re
import stat as modes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BEGUN = re.compile(rb"(\d+) +(\d+\.\d+) (\w+)\(")
RESUMED = re.compile(rb"(\d+) +(\d+\.\d+) <\.\.\. (\w+) resumed>")
ENDINGS = {b"(INJECTED)": "injected", b"(DELAYED)": "delayed", b" = ?": "unanswered"}
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Seen:
    """`what`: begun, injected (failed by strace), delayed (its delay ended, or at exit: has begun), unanswered (the
    process died in it). `wall_s`: when, as the log says."""

    what: str
    call: str
    wall_s: float = 0.0


class Log:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._rest = b""
        self._is_begun = False

    def read(self) -> Iterator[Seen]:
        """What was written since the last time."""
        for data in self._grown():
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                yield from self._line(line)
        if not self._is_begun and (begun := BEGUN.match(self._rest)):
            self._is_begun = True
            yield _seen("begun", begun)

    def _grown(self) -> Iterator[bytes]:
        """The bytes that are new. A launched strace writes where the agent may: a link or a pipe there is not read."""
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        try:
            while modes.S_ISREG(os.fstat(file).st_mode) and (data := os.pread(file, MOST_BYTES, self._offset)):
                self._offset += len(data)
                yield data
        finally:
            os.close(file)

    def _line(self, line: bytes) -> Iterator[Seen]:
        begun = BEGUN.match(line)
        if begun and not self._is_begun:
            yield _seen("begun", begun)
        self._is_begun = False
        told = begun or RESUMED.match(line)
        if told is None:
            return
        for ending, what in ENDINGS.items():
            if line.endswith(ending):
                yield _seen(what, told)


def _seen(what: str, told: re.Match[bytes]) -> Seen:
    return Seen(what, told[3].decode(), float(told[2]))
