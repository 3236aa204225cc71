from __future__ import annotations

import subprocess
import sys

import pytest

from fleetbeat.cli import COMMANDS, group

HEAVY = ("numpy", "pydantic", "duckdb", "simpy", "rich", "tabulate", "yaml", "jinja2", "docker", "fleetbeat.checks")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["run", "--help"], ["check", "--help"], ["diff", "-h"]]
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from fleetbeat.cli import main; code = main(sys.argv[1:]);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    got = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    assert got.stderr == "[]\n"
    assert got.stdout


def test_every_verb_can_be_loaded_and_has_its_own_name() -> None:
    import click

    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert group.get_command(context, "none") is None
