"""`fleetbeat run`: a scenario in, a judged history out.

Results go to standard output, everything else to standard error. With `-o` the directory is claimed first and appears
whole at the end; after ctrl-C it holds what was finished: the scenario, the history so far and what it shows.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetbeat.cli.errors import INTERRUPTED
from fleetbeat.cli.output import Unwritable, emit, narrate, painter
from fleetbeat.cli.progress import shown, teller
from fleetbeat.cli.replay import Asked
from fleetbeat.cli.replay import command as replay_command
from fleetbeat.cli.staging import Staging

if TYPE_CHECKING:
    from fleetbeat.chance.choices import Overrides
    from fleetbeat.cli.pipeline import Judged
    from fleetbeat.history.records import Record
    from fleetbeat.scenario.model import Scenario

CHOICE = click.Choice(["auto", "always", "never"])
MEANS = click.Choice(["cheap", "real"])


@dataclass(frozen=True, slots=True)
class Shown:
    """How to tell it."""

    json: bool
    color: str
    quiet: bool


@click.command("run", short_help="Play a scenario and judge what happened.")
@click.argument("scenario")
@click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a field of the scenario; again for more."
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), metavar="N", help="Another seed than the scenario's.")
@click.option(
    "--engine",
    default="des",
    metavar="NAME",
    show_default=True,
    help="What plays it: des (the simulation), process or docker (real agents, in real time).",
)
@click.option("--root", metavar="DIR", help="Real engines: the fleet's root; absent, empty, or left by a run of ours.")
@click.option("--keep-root", is_flag=True, help="Real engines: leave the fleet's root where it is.")
@click.option("--means", type=MEANS, help="Real engines: which means of faults come first.")
@click.option("--docker-host", metavar="URL", help="Docker: this engine, by name; else this machine's.")
@click.option("--base", metavar="IMAGE", help="Docker: the image that agents' images are built on.")
@click.option("--case", metavar="FILE", help="A case file: choices of the run set by name.")
@click.option("-o", "--output", metavar="DIR", help="Write everything into a new or empty directory.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output.")
@click.option("--no-bodies", is_flag=True, help="Keep the rules' texts out of everything that is written.")
@click.option("--no-ops", is_flag=True, help="Leave single file operations out of the history.")
@click.option("--checks", metavar="DIR", help="A folder of checks of your own, judged like the built-in ones.")
@click.option("--color", type=CHOICE, default="auto", show_default=True, help="Colour the report.")
@click.option("-q", "--quiet", is_flag=True, help="The summary line alone; no narration.")
def command(
    scenario: str,
    sets: tuple[str, ...],
    seed: int | None,
    engine: str,
    root: str | None,
    keep_root: bool,
    means: str | None,
    docker_host: str | None,
    base: str | None,
    case: str | None,
    output: str | None,
    as_json: bool,
    no_bodies: bool,
    no_ops: bool,
    checks: str | None,
    color: str,
    quiet: bool,
) -> int:
    """Play SCENARIO (a file, a name that `fleetbeat scenarios` lists, or a run's directory) and judge what happened.

    Exit code 0: held, or broken exactly as expected; 1: a promise broke or a threshold was missed; 3: inconclusive;
    the others as `fleetbeat --help` says.
    """
    real = (root, keep_root, means, docker_host, base)
    asked = Asked(scenario, sets, seed, engine, case, checks, not no_bodies, not no_ops, *real)
    return run(asked, output, Shown(as_json, color, quiet))


def run(asked: Asked, output: str | None, how: Shown) -> int:
    """Play, judge, tell, and keep. Returns the exit code. Raises what `errors.CODES` lists."""
    from fleetbeat.cli.pipeline import extra_checks, judged

    plan = loaded(asked)
    checks = extra_checks(asked.checks)
    with ExitStack() as stack:
        staging = stack.enter_context(Staging(output)) if output is not None else None
        if staging is not None:
            staging.claim()
        kept = Kept(staging, plan.scenario, asked)
        records = kept.even_if_failed(lambda: played(asked, plan, how))
        try:
            with uninterrupted():
                kept.history(records)
            result = judged(records, checks, replay_command(asked))
            with kept.whatever_fits(lambda: tell(result, how)):
                kept.judged(result)
        except KeyboardInterrupt:
            kept.commit()
            raise
        try:
            kept.commit()
        except BaseException:
            tell(result, how)  # what was found out is told, even if it cannot be kept
            raise
    tell(result, how)
    if result.exit_code == INTERRUPTED:
        narrate("fleetbeat: interrupted" + ("" if output is None else "; what was finished is saved"))
    return result.exit_code


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Puts off Ctrl-C until the history is written, for it cannot be made again without playing."""
    waiting: list[int] = []
    try:
        before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    except ValueError:  # not the main thread: nobody interrupts here
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be played."""

    scenario: Scenario
    overrides: Overrides | None


def loaded(asked: Asked) -> Plan:
    """Load the scenario and the case file. Raises ScenarioError, CaseError."""
    from fleetbeat.scenario import library
    from fleetbeat.scenario.load import load

    place = Path(asked.scenario)
    inside = place / "scenario.yaml"
    path = inside if inside.is_file() else library.find(asked.scenario)
    sets = [*asked.sets, *([] if asked.seed is None else [f"seed={asked.seed}"])]
    return Plan(load(path, asked.scenario if path == place else None, sets), _overrides(asked.case))


def _overrides(case: str | None) -> Overrides | None:
    if case is None:
        return None
    from fleetbeat.scenario.case import load_case

    return load_case(Path(case))


def played(asked: Asked, plan: Plan, how: Shown) -> list[Record]:
    """The history, without what is to be left out."""
    from fleetbeat.cli.errors import Refused
    from fleetbeat.engines import ENGINES

    if asked.engine not in ENGINES:
        raise Refused(f"--engine: got {asked.engine!r}, expected one of {', '.join(ENGINES)}")
    extra = extras(asked)
    if extra:
        extra["tell"] = teller(quiet=how.quiet)
    engine = ENGINES.engine(asked.engine)
    with shown(plan.scenario.duration, quiet=how.quiet) as progress, redirect_stdout(sys.stderr):  # what agents print
        return stripped(asked, engine(plan.scenario, plan.overrides, progress, **extra))


def extras(asked: Asked) -> dict[str, Any]:
    """What is asked of a real engine beyond the scenario. Raises Refused for an option that this engine lacks."""
    from fleetbeat.cli.errors import Refused
    from fleetbeat.engines import REAL

    options: tuple[tuple[str, object, tuple[str, ...]], ...] = (
        ("--root", asked.root, REAL),
        ("--keep-root", asked.keep_root or None, REAL),
        ("--means", asked.means, REAL),
        ("--docker-host", asked.docker_host, ("docker",)),
        ("--base", asked.base, ("docker",)),
    )
    for option, value, engines in options:
        if value is not None and asked.engine not in engines:
            raise Refused(f"{option}: got --engine {asked.engine}, expected {' or '.join(engines)}")
    if asked.engine not in REAL:
        return {}
    if asked.root == "":
        raise Refused("--root: got nothing, expected a directory")
    root = None if asked.root is None else Path(asked.root)
    extra = {"root": root, "keep_root": asked.keep_root, "prefer": asked.means or "cheap"}
    return {**extra, "docker_host": asked.docker_host, "base": asked.base} if asked.engine == "docker" else extra


def stripped(asked: Asked, records: list[Record]) -> list[Record]:
    """The records without what is to be left out."""
    from fleetbeat.history.strip import without_bodies, without_ops

    strips: Sequence[tuple[bool, Callable[[list[Record]], list[Record]]]] = (
        (asked.ops, without_ops),
        (asked.bodies, without_bodies),
    )
    for keep, strip in strips:
        records = records if keep else strip(records)
    return records


@dataclass(frozen=True, slots=True)
class Kept:
    """What `-o` writes; without it nothing happens here."""

    staging: Staging | None
    scenario: Scenario
    asked: Asked

    def even_if_failed(self, play: Callable[[], list[Record]]) -> list[Record]:
        """Plays. What was observed until an engine failed is kept, though nothing is made of it."""
        from fleetbeat.engines.real.errors import EngineError

        try:
            return play()
        except EngineError as error:
            if error.records:
                self.history(stripped(self.asked, error.records))
                self.commit()
                if self.staging is not None:
                    narrate(f"fleetbeat: what was observed until then is saved in {self.staging.shown}")
            raise

    def history(self, records: Sequence[Record]) -> None:
        """First what cannot be made again without playing."""
        if self.staging is None:
            return
        from fleetbeat.cli.resolved import scenario_text
        from fleetbeat.history import jsonl

        self.staging.write("scenario.yaml", scenario_text(self.scenario, bodies=self.asked.bodies))
        self.staging.place("history.jsonl", lambda path: jsonl.write(path, records))
        if self.scenario.workload is not None:
            from fleetbeat.checks.ledger_write import write

            self.staging.place("ledger.jsonl", lambda path: write(path, records))

    @contextmanager
    def whatever_fits(self, tell: Callable[[], None]) -> Iterator[None]:
        """A real run cannot be had again: where its report cannot be written, its history is kept, and it is told."""
        from fleetbeat.engines import REAL

        try:
            yield
        except Unwritable:
            if self.asked.engine in REAL:
                self.commit()
                tell()
            raise

    def judged(self, result: Judged) -> None:
        if self.staging is None:
            return
        from fleetbeat.history import store
        from fleetbeat.report import json, junit, missing, text

        report = result.report
        self.staging.write("report.txt", text.render(report))
        self.staging.write("report.json", json.render(report))
        self.staging.write("junit.xml", junit.render(report))
        self.staging.write("missing.yaml", missing.render(report.scenario, report.seed, report.metrics.missing))
        self.staging.place("posts.parquet", lambda path: store.write_posts(path, result.judgement.fates))

    def commit(self) -> None:
        if self.staging is not None:
            self.staging.commit()


def tell(result: Judged, how: Shown) -> None:
    """Print the report: JSON or text, or with `quiet` its last line."""
    from fleetbeat.report import json, text

    if how.json:
        emit(json.render(result.report))
        if not how.quiet:
            narrate(text.summary(result.report, painter(how.color, sys.stderr)))
    elif how.quiet:
        emit(text.summary(result.report, painter(how.color, sys.stdout)) + "\n")
    else:
        emit(text.render(result.report, painter(how.color, sys.stdout)))
