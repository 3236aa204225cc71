"""The command line: one verb in each module, imported only when it is used, so that `--help` is quick."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

import click

from fleetbeat import __version__
from fleetbeat.cli.errors import MEANINGS, guard
from fleetbeat.cli.output import prepare_streams

#: name -> (module that holds the click command `command`, what it does, for --help). Adding a verb is one line here.
COMMANDS = {
    "run": ("fleetbeat.cli.run", "Play a scenario and judge what happened."),
    "explore": ("fleetbeat.cli.explore", "Search for orders, faults and crashes that break a promise."),
    "replay": ("fleetbeat.cli.replay_case", "Play a case file and say whether it still breaks."),
    "selftest": ("fleetbeat.cli.selftest", "Search agents that are wrong on purpose; each must be caught."),
    "rate": ("fleetbeat.cli.rate", "Estimate how often a post meets a fate, per million posts."),
    "sweep": ("fleetbeat.cli.sweep", "Play a scenario over a grid of values and many seeds."),
    "cadence": ("fleetbeat.cli.cadence", "Recommend a heartbeat for objectives and costs, with its margin."),
    "compare": ("fleetbeat.cli.compare", "Compare two rollout plans against the same faults."),
    "query": ("fleetbeat.cli.query", "Ask the tables of a sweep or a run in SQL."),
    "check": ("fleetbeat.cli.check", "Judge a history from its file alone."),
    "diff": ("fleetbeat.cli.diff", "Say where two runs part and what that changed."),
    "conform": ("fleetbeat.cli.conform", "Lay simulation and real runs of a scenario side by side."),
    "agents": ("fleetbeat.cli.agents", "List agents; hold one against the specification."),
    "doctor": ("fleetbeat.cli.doctor", "Say what this machine can do: engines, and faults by which means."),
    "post": ("fleetbeat.cli.post", "Post rules to real agents: a temporary file, and one rename."),
    "watch": ("fleetbeat.cli.watch", "Watch real agents: beats, canonical, effective rules."),
    "clean": ("fleetbeat.cli.clean", "Remove what killed runs left behind."),
    "validate": ("fleetbeat.cli.validate", "Check scenarios, telling every mistake at once."),
    "schema": ("fleetbeat.cli.schema", "Print the scenarios' JSON Schema."),
    "scenarios": ("fleetbeat.cli.scenarios", "List the scenarios that come with fleetbeat."),
}


class Verbs(click.Group):
    """A group that knows its commands by name and loads one when it is called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, 1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            raise click.UsageError(f"got the command {args[0]!r}, expected one of {', '.join(COMMANDS)}{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in MEANINGS.items()])
        formatter.write_paragraph()
        formatter.write_text("A reader that goes away (| head) changes no exit code.")


@click.group(
    cls=Verbs, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="fleetbeat", message="%(prog)s %(version)s")
def group() -> None:
    """Stress-test rule rollouts over a fleet of agents: did rules converge, how long did agents wait, what broke."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (`errors.MEANINGS`). `argv` without the program's name."""
    prepare_streams()
    with _polite_kills():
        return guard(lambda: _call(argv))


def _call(argv: Sequence[str] | None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    code = group.main(arguments, prog_name="fleetbeat", standalone_mode=False)
    if sys.stdout is not None:
        sys.stdout.flush()
    return code if isinstance(code, int) else 0


@contextmanager
def _polite_kills() -> Iterator[None]:
    """A polite kill, and a terminal that closes, clean up like any other way out. Outside the main thread: nothing."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = {}
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, end)
    except ValueError:  # not the main thread: the host program owns signals
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
