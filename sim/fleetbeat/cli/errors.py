"""One table from exceptions to exit codes, and the one line that each of them prints.

Exceptions are matched by the name of their class in `fleetbeat`, so that the table needs none of the modules that
define them (the scenario's alone would cost the command line its 0.3 s). Anything that is not in the table is a fault
of fleetbeat itself.

A reader that goes away (`fleetbeat run x | head -1`) is no error: what was to be printed is dropped and the exit code
stays the verdict's, so that a pipe cannot turn a broken run into a success nor a held one into a failure. Rejected:
141, as if killed by SIGPIPE.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from fleetbeat.cli.output import Unwritable, narrate, silence_stdout
from fleetbeat.report.plain import safe, safe_lines

HELD, BROKEN, USAGE, INCONCLUSIVE, ENVIRONMENT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130
TRACEBACK = "FLEETBEAT_TRACEBACK"

MEANINGS = {
    HELD: "held, or broken exactly as `expect: broken` says",
    BROKEN: "a violation, a gap, or a threshold missed (diff: the runs differ)",
    USAGE: "wrong usage, or an invalid scenario, history, case or check",
    INCONCLUSIVE: "inconclusive: a verdict is unknown, or the run never reached what it set out to test",
    ENVIRONMENT: "something is missing from the environment: space on a disk, a permission, a library, an engine",
    INTERNAL: f"internal error ({TRACEBACK}=1 shows where)",
    INTERRUPTED: "interrupted; what was finished is saved",
}

#: Class name of an exception that fleetbeat raises -> exit code. A subclass counts as its nearest base in the table.
CODES = {
    "ScenarioError": USAGE,
    "ManifestError": USAGE,
    "ProgramError": USAGE,
    "Beyond": USAGE,
    "CaseError": USAGE,
    "HistoryError": USAGE,
    "CheckError": USAGE,
    "Unwritable": ENVIRONMENT,
    "Missing": ENVIRONMENT,
    "EngineError": ENVIRONMENT,
    "CannotDo": ENVIRONMENT,
}


class Missing(Exception):
    """Something that is not there: a library, a daemon, a right. The message says what and how to get it."""


class Refused(click.UsageError):
    """An argument that cannot be used, found after parsing."""


def code_of(error: BaseException) -> int:
    """The exit code for an exception."""
    for base in type(error).__mro__:
        if base.__module__.partition(".")[0] == "fleetbeat" and base.__name__ in CODES:
            return CODES[base.__name__]
    if isinstance(error, click.UsageError):
        return USAGE
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return INTERRUPTED
    return ENVIRONMENT if isinstance(error, (ModuleNotFoundError, MemoryError)) else INTERNAL


def guard(action: Callable[[], int]) -> int:
    """Run a command and turn whatever it raises into a line on standard error and an exit code."""
    try:
        return action()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else HELD if error.code is None else INTERNAL
    except BrokenPipeError:
        silence_stdout()
        return HELD
    except BaseException as error:
        code = code_of(error)
        narrate(words(error, code))
        if os.environ.get(TRACEBACK):
            _trace(error)
        return code


def words(error: BaseException, code: int) -> str:
    """What to print for an exception: one line, or one for each mistake of a scenario."""
    if code == INTERRUPTED:
        return "fleetbeat: interrupted"
    if code == INTERNAL:
        what = safe(f"{type(error).__name__}: {error}")
        return f"fleetbeat: internal error: {what} (run with {TRACEBACK}=1 for the traceback)"
    if isinstance(error, click.UsageError):
        return _usage(error)
    if isinstance(error, ModuleNotFoundError):
        return f"fleetbeat: got no module {safe(error.name)}, expected it installed: pip install fleetbeat"
    if isinstance(error, MemoryError):
        return "fleetbeat: got no more memory, expected enough for this fleet and duration"
    if isinstance(error, Unwritable):
        return f"fleetbeat: {safe(error)}"
    return safe_lines(error)


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx is not None else "fleetbeat"
    hint = "" if isinstance(error, Refused) else f" ({path} --help says how)"
    return f"{path}: {safe(error.format_message())}{hint}"


def _trace(error: BaseException) -> None:
    import traceback

    narrate(safe_lines("".join(traceback.format_exception(error)).rstrip()))
