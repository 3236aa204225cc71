from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import Desk


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Desk:
    for name in ("NO_COLOR", "FLEETBEAT_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "desk"
    folder.mkdir()
    return Desk(monkeypatch, capsys, folder)
