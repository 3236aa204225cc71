"""Files of lines that others append to: an agent's own log, a driver's reports. All bytes are data.

A line is told when the write that made it is: a file may hold more than the kernel has told of yet, so the last lines
are left for the writes that are still to come, one for each. What else happened between two lines stays between them.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from fleetbeat.engines.real.observe_eyes import Eyes, read_at

#: A longer line is not read, bytes.
LONGEST = 64 << 10
#: So much is read of one file at a time, bytes.
PIECE = 1 << 20
#: Pieces in which an end of a line is looked for at once.
PIECES = 64
#: Text of a line that cannot be read that is kept, characters.
EXCERPT = 200


class Unreadable(Exception):
    """A line is no entry; the message says why."""


class Tail:
    """The lines of one file from where it ends now. `path` is fleet-wide; `on_file` gets a descriptor of each new file
    that stands there."""

    def __init__(self, eyes: Eyes, path: str, on_file: Callable[[int], None], from_start: bool = False) -> None:
        self.path = path
        self._eyes = eyes
        self._on_file = on_file
        self._inode = 0
        self._offset = 0
        self._part = b""
        self._skipped = 0
        self._lines: deque[tuple[bytes, int]] = deque()
        try:
            with eyes.file(path) as descriptor:
                self._follow(descriptor)
                self._offset = 0 if from_start else os.fstat(descriptor).st_size
        except OSError:
            return

    def lines(self, left: Callable[[], int] = lambda: 0) -> Iterator[tuple[bytes, int]]:
        """New whole lines without their ends, and how long each is; one longer than `LONGEST` is cut off there.

        `left` is asked once the file was read: so many of the last lines are left for writes that the kernel has yet to
        tell of. Raises `OSError` if the file stands there and cannot be read.
        """
        for _ in range(PIECES):  # and no more, however fast the file grows
            self._read_on()
            kept = left()
            if len(self._lines) <= kept:
                return
            while len(self._lines) > kept:
                yield self._lines.popleft()

    def _read_on(self) -> None:
        """Reads on to where a line ends. A file that is another one now, or shorter than before, is read from its start."""
        try:
            with self._eyes.file(self.path) as descriptor:
                self._follow(descriptor)
                for _ in range(PIECES):
                    data = read_at(descriptor, self._offset, PIECE)
                    self._take(data)
                    if self._lines or len(data) < PIECE:
                        return
        except FileNotFoundError:
            return

    def _take(self, data: bytes) -> None:
        self._offset += len(data)
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._end(self._part + line)
            self._part = b""
        self._part += rest
        if len(self._part) > LONGEST:
            self._skipped += len(self._part) - LONGEST
            self._part = self._part[:LONGEST]

    def _follow(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        if found.st_ino != self._inode:
            self._on_file(descriptor)
        if found.st_ino != self._inode or found.st_size < self._offset:
            self._inode, self._offset = found.st_ino, 0
            self._part, self._skipped = b"", 0

    def _end(self, line: bytes) -> None:
        self._lines.append((line[:LONGEST], len(line) + self._skipped))
        self._skipped = 0


def entry_of(line: bytes, size: int) -> dict[str, Any]:
    """The JSON object on a line. Raises `Unreadable`."""
    if size > LONGEST:
        raise Unreadable(f"longer than {LONGEST >> 10} KiB")
    try:
        entry = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8") from None
    except (ValueError, RecursionError):
        raise Unreadable("not JSON") from None
    if not isinstance(entry, dict):
        raise Unreadable("not an object")
    return entry


def log_event(line: bytes, size: int) -> tuple[str, dict[str, str], float | None]:
    """What an entry of an agent's log says: its event, its own fields as text, and the wall time that it gives (s).

    A line that cannot be read is the event `unreadable`, with why, how long it is, and how it begins.
    """
    try:
        entry = entry_of(line, size)
        event = entry.pop("type", None)
        if not isinstance(event, str):
            raise Unreadable("no type")
    except Unreadable as why:
        text = line[: 4 * EXCERPT].decode("utf-8", "backslashreplace")[:EXCERPT]
        return "unreadable", {"why": str(why), "size": str(size), "text": text}, None
    told = entry.pop("ts", None)
    is_time = isinstance(told, (int, float)) and not isinstance(told, bool) and abs(told) < 1e12
    fields = {whole(name): whole(value if isinstance(value, str) else _text(value)) for name, value in entry.items()}
    return whole(event), fields, float(told) if is_time and told is not None else None


def _text(value: object) -> str:
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return "?"


def whole(text: str) -> str:
    """The same text if it can be written down as UTF-8; half of a pair as an escape otherwise."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _no_number(name: str) -> float:
    raise ValueError(name)
