from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from fleetbeat.cli import progress

S = 1_000_000_000


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Standard error as a terminal; not a fixture, since pytest puts its own stream back before the test's body."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def clock(monkeypatch: pytest.MonkeyPatch, *times: float) -> None:
    told = iter(times)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(told)))


def test_a_run_of_under_two_seconds_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    clock(monkeypatch, 0.0, 1.0, 1.99)
    with progress.shown(10 * S, quiet=False) as tell:
        assert tell is not None
        tell(1 * S)
        tell(2 * S)
    assert screen.getvalue() == ""


def test_a_longer_run_on_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    clock(monkeypatch, 0.0, 2.5)
    with progress.shown(10 * S, quiet=False) as tell:
        assert tell is not None
        tell(5 * S)
        tell(6 * S)
    assert "playing" in screen.getvalue()
    assert "60%" in screen.getvalue()


def test_quiet_and_anything_but_a_terminal_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    watched(monkeypatch)
    with progress.shown(10 * S, quiet=True) as tell:
        assert tell is None
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.shown(10 * S, quiet=False) as tell:
        assert tell is None
