"""Times and names as findings say them."""

from __future__ import annotations

from collections.abc import Sequence


def length(ns: int) -> str:
    """A length of time, exact and short: `100ms`, `1h2m3.5s`."""
    from fleetbeat.scenario.units import format_duration  # pays for pydantic, so only where a sentence is needed

    return format_duration(ns)


def at(ns: int) -> str:
    """An instant, counted from the start of the run: `at 3.2s`."""
    return f"at {length(ns)}"


def whose(agent: str) -> str:
    """How a finding begins: `a-3: `; nothing where an agent has no name, as in a ledger of one."""
    return f"{agent}: " if agent else ""


def several(count: int, one: str) -> str:
    """`1 post`, `2 posts`."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in one line, cut after `most`."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
