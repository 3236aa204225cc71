"""The agent in a container has the standard library alone."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import fleetbeat.files
import fleetbeat.protocol


def test_files_and_protocol_import_without_site_packages() -> None:
    modules = sorted(
        module.name
        for package in (fleetbeat.files, fleetbeat.protocol)
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    )
    assert "fleetbeat.files.real" in modules
    assert "fleetbeat.protocol.vocabulary" in modules
    code = "import sys\n" + "".join(f"import {name}\n" for name in modules) + "print('site' in sys.modules)"
    source = Path(fleetbeat.files.__path__[0]).parents[1]
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-s", "-c", f"import sys; sys.path.insert(0, {str(source)!r})\n{code}"],
        env={"PATH": os.environ.get("PATH", "")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "False\n"
