"""Calling the command line in this process, on a hand-made history instead of an engine's and with a given decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.history.hand import SECRET, small

from fleetbeat.checks.model import Judgement
from fleetbeat.cli import main
from fleetbeat.cli.errors import HELD
from fleetbeat.history.records import Record

SCENARIO = f"name: by-hand\nfleet: {{agents: 2}}\nrollouts: [{{version: v2, at: 3s, targets: all, body: '{SECRET}'}}]\n"


@dataclass(frozen=True)
class Said:
    """What a call came to."""

    code: int
    out: str
    err: str

    @property
    def one_line(self) -> str:
        """Standard error, which must be one line of printable characters and no traceback."""
        assert self.err.endswith("\n")
        line = self.err[:-1]
        assert line.isprintable(), self.err
        assert "Traceback" not in line
        return line


class Desk:
    """A working directory with `s.yaml` in it, an engine that returns `records`, a judge that returns `judgement`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        from fleetbeat.cli import pipeline
        from fleetbeat.engines import ENGINES

        self.monkeypatch, self.capsys, self.folder = monkeypatch, capsys, folder
        self.records, self.judgement = small()
        self.played: list[Any] = []
        monkeypatch.chdir(folder)
        (folder / "s.yaml").write_text(SCENARIO)
        monkeypatch.setattr(ENGINES, "engine", lambda _: self._play, raising=True)
        monkeypatch.setattr(pipeline, "judge", lambda *_: self.judge())
        self.decide(HELD, "held")

    def _play(self, scenario: Any, overrides: Any = None, progress: Any = None) -> list[Record]:
        self.played.append((scenario, overrides, progress))
        return self.play()

    def play(self) -> list[Record]:
        return self.records

    def judge(self) -> Judgement:
        return self.judgement

    def decide(self, code: int, word: str, reasons: Sequence[str] = (), **more: Any) -> None:
        """Fix what the judgement comes to."""
        from fleetbeat.cli import pipeline
        from fleetbeat.report.data import Ruling

        ruling = Ruling(code, word, tuple(reasons), **more)
        self.monkeypatch.setattr(pipeline, "ruling", lambda *_: ruling)

    def on_play(self, action: Callable[[], list[Record]]) -> None:
        self.play = action  # type: ignore[method-assign]

    def on_judge(self, action: Callable[[], Judgement]) -> None:
        self.judge = action  # type: ignore[method-assign]

    def __call__(self, *arguments: str) -> Said:
        self.capsys.readouterr()
        code = main(list(arguments))
        captured = self.capsys.readouterr()
        return Said(code, captured.out, captured.err)

    def left(self) -> list[str]:
        """Every path below the working directory but the scenario, sorted."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.name != "s.yaml")


def stop(error: BaseException) -> Callable[[], Any]:
    """Something to play or judge that raises."""

    def action() -> Any:
        raise error

    return action
