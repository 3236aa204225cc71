"""`fleetbeat conform`: a scenario in simulation and on real agents, side by side.

Exit code 0: alike; 1: something differs; 3: there was too little to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import BROKEN, HELD, INCONCLUSIVE

if TYPE_CHECKING:
    from fleetbeat.conform.bench import Laid, Play
    from fleetbeat.history.records import Record
    from fleetbeat.scenario.model import Scenario

#: What a comparison comes to -> exit code; of several the first counts.
CODES = {"differs": BROKEN, "inconclusive": INCONCLUSIVE, "alike": HELD}


@click.command("conform", short_help="Lay simulation and real runs of a scenario side by side.")
@click.argument("scenario")
@click.option(
    "--engines", default="des,process", show_default=True, metavar="NAMES", help="des, and one real engine or more."
)
@click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a field of the scenario; again for more."
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), metavar="N", help="Another seed than the scenario's.")
@click.option("--seeds", type=click.IntRange(1, 1000), default=1, show_default=True, help="Real runs of each engine.")
@click.option(
    "--simulations", type=click.IntRange(2, 10_000), default=20, show_default=True, help="Simulated runs beside them."
)
@click.option(
    "--alpha", type=click.FloatRange(0, 0.5, min_open=True), default=0.01, show_default=True, help="Size of all tests."
)
@click.option(
    "--room", metavar="TIME", help="How far lags may be apart. [default: 10ms, or twice the error of observation]"
)
@click.option("--no-calibration", is_flag=True, help="Simulate with the latencies that the scenario gives.")
@click.option(
    "-o", "--output", metavar="DIR", help="Histories, comparison and calibrated scenarios, into a new directory."
)
@click.option("--json", "as_json", is_flag=True, help="The comparison as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No narration.")
def command(
    scenario: str,
    engines: str,
    sets: tuple[str, ...],
    seed: int | None,
    seeds: int,
    simulations: int,
    alpha: float,
    room: str | None,
    no_calibration: bool,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Play SCENARIO in simulation and in real time, then compare fates one by one, lags and verdicts.

    Real runs come first; what they measured goes into the simulation.
    """
    from fleetbeat.cli.output import emit, narrate
    from fleetbeat.cli.staging import Staging
    from fleetbeat.conform import compare_words
    from fleetbeat.conform.bench import SIMULATED, lay

    names = _named(engines)
    plan = _loaded(scenario, sets, seed)
    room_ns = _room(room)
    with ExitStack() as stack:
        staging = stack.enter_context(Staging(output)) if output is not None else None
        if staging is not None:
            staging.claim()
        laid: list[Laid] = []
        for name in names:
            tell: Callable[[str], None] = (lambda _: None) if quiet else narrate
            tell(f"fleetbeat: {name}: {seeds} real run{'s' if seeds > 1 else ''}, then {simulations} simulated")
            one = lay(
                plan,
                name,
                _player(name, quiet),
                _player(SIMULATED, True),
                seeds=seeds,
                simulations=simulations,
                alpha=alpha,
                room=room_ns,
                calibrate=not no_calibration,
            )
            laid.append(one)
            if staging is not None:
                _keep(staging, one)
        text, document = compare_words.render(plan, laid), compare_words.document(plan, laid)
        if staging is not None:
            staging.write("comparison.txt", text)
            staging.write("comparison.json", document)
            staging.commit()
    emit(document if as_json else text)
    words = [one.comparison.word for one in laid]
    return next(code for word, code in CODES.items() if word in words)


def _named(engines: str) -> list[str]:
    """The real engines among the names. Raises Refused unless des and one of them are there."""
    from fleetbeat.cli.errors import Refused
    from fleetbeat.conform.bench import SIMULATED
    from fleetbeat.engines import ENGINES

    names = [name.strip() for name in engines.split(",")]
    for name in names:
        if name not in ENGINES:
            raise Refused(f"--engines: got {name!r}, expected names from {', '.join(ENGINES)}")
    real = list(dict.fromkeys(name for name in names if name != SIMULATED))
    if SIMULATED not in names or not real:
        raise Refused(f"--engines: got {engines!r}, expected {SIMULATED} and one real engine or more")
    return real


def _loaded(name: str, sets: Sequence[str], seed: int | None) -> Scenario:
    from fleetbeat.scenario import library
    from fleetbeat.scenario.load import load

    path = library.find(name)
    shown = name if path == Path(name) else None
    return load(path, shown, [*sets, *([] if seed is None else [f"seed={seed}"])])


def _room(text: str | None) -> int | None:
    from pydantic_core import PydanticCustomError

    from fleetbeat.cli.errors import Refused
    from fleetbeat.scenario.units import parse_duration

    try:
        return None if text is None else parse_duration(text)
    except PydanticCustomError as error:
        raise Refused(f"--room: got {text!r}, expected {error.message()}") from error


def _player(name: str, quiet: bool) -> Play:
    """Plays a scenario on an engine, with a progress bar where somebody watches."""
    from fleetbeat.cli.progress import shown
    from fleetbeat.engines import ENGINES

    engine = ENGINES.engine(name)

    def play(scenario: Scenario) -> Sequence[Record]:
        with shown(scenario.duration, quiet=quiet) as progress:
            records = engine(scenario, None, progress)
        if records[-1].get("reason") == "interrupted":
            raise KeyboardInterrupt
        return records

    return play


def _keep(staging: object, laid: Laid) -> None:
    from fleetbeat.cli.resolved import scenario_text
    from fleetbeat.cli.staging import Staging
    from fleetbeat.history import jsonl

    assert isinstance(staging, Staging)
    staging.write(f"calibrated-{laid.engine}.yaml", scenario_text(laid.scenario, bodies=True))
    for records in laid.histories:
        name = f"history-{laid.engine}-{records[0]['seed']}.jsonl"
        staging.place(name, lambda path, kept=records: jsonl.write(path, kept))  # type: ignore[misc]
