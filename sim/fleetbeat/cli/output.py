"""Standard output and standard error: results on the one, narration on the other, and nothing else prints.

A reader that goes away silences its stream and stops nothing. Characters that a stream's encoding lacks are escaped.
Colour: `--color`, then NO_COLOR (any value but the empty one), then whether the stream is a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TextIO

Paint = Callable[[str, str], str]
_CODES = {"good": "32", "bad": "31", "doubt": "33", "bold": "1"}


class Unwritable(Exception):
    """Output that could not be written: where, and what the system said."""

    @classmethod
    def at(cls, where: object, error: OSError) -> Unwritable:
        return cls(f"{where}: got {error.strerror or error}, expected to be able to write there")


def prepare_streams() -> None:
    """Escape what a stream cannot encode, instead of failing in the middle of a report."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def emit(text: str) -> None:
    """Write a result to standard output. Raises Unwritable (a full disk), never BrokenPipeError."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        raise Unwritable.at("standard output", error) from error


def narrate(text: str) -> None:
    """Write a line to standard error; if nobody can read it there is nobody to tell."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)


def silence_stdout() -> None:
    """Send what is still buffered, and all that follows, nowhere: at exit Python flushes once more."""
    if sys.stdout is not None:
        _silence(sys.stdout)


def _silence(stream: TextIO) -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def painter(choice: str, stream: TextIO | None) -> Paint:
    """How to colour text for a stream. `choice`: auto, always or never."""
    wanted = choice == "always"
    if choice == "auto":
        wanted = is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return _painted if wanted else _plain


def _painted(style: str, text: str) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def _plain(_: str, text: str) -> str:
    return text
