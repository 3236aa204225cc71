"""The two sides on which every claim about a file system is made."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from tests.conformance.files_sides import MemorySide, RealSide, Side


@pytest.fixture(params=["memory", "real"])
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    if request.param == "memory":
        yield MemorySide()
        return
    root = tempfile.mkdtemp(prefix="fleetbeat-")
    os.chmod(root, 0o755)
    umask = os.umask(0o022)
    try:
        yield RealSide(root)
    finally:
        os.umask(umask)
        shutil.rmtree(root)


@pytest.fixture
def files(side: Side) -> Iterator[Any]:
    process = side.process()
    yield process
    process.exit()
