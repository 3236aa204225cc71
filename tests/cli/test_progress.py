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


def test_what_is_being_prepared_is_one_line_that_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    tell = progress.teller(quiet=False)
    for done in (0, 1, 2):
        tell("starting containers", done, 2)
    shown = [part.rstrip() for part in screen.getvalue().split("\r") if part.strip()]
    assert shown[-1] == "starting containers: 1 of 2"
    assert screen.getvalue().endswith(" \r")
    progress.teller(quiet=True)("starting containers", 0, 2)
    assert screen.getvalue().endswith(" \r")


def test_where_nobody_watches_preparing_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    progress.teller(quiet=False)("starting containers", 0, 2)
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
