"""`fleetbeat compare`: two rollout plans against the same faults, seed by seed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import HELD, INTERRUPTED, Missing, Refused
from fleetbeat.cli.output import emit, narrate
from fleetbeat.cli.progress import pace, stopwatch

if TYPE_CHECKING:
    from fleetbeat.scenario.model import Scenario
    from fleetbeat.sweep.pairs import Got, PairRow

#: More runs than this are played only with --yes.
MANY = 10_000
_SEEDS = 2**64


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: what it is called here, and its resolved text."""

    name: str
    scenario: str
    text: str


@click.command("compare", short_help="Compare two rollout plans against the same faults.")
@click.argument("first")
@click.argument("second")
@click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a field in both; again for more.")
@click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), metavar="N", help="The first seed; else the first scenario's."
)
@click.option("--seeds", type=click.IntRange(1), default=100, show_default=True, metavar="N", help="Runs of each.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes that play; else one a core.")
@click.option("--executor", metavar="dask://HOST:PORT", help="Play on the workers of a Dask scheduler (extra dask).")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="What to compare; again for more. A wrong one lists all."
)
@click.option("--yes", is_flag=True, help=f"Play even if there are more than {MANY:,} runs.")
@click.option("--json", "as_json", is_flag=True, help="The comparison as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No narration.")
def command(
    first: str,
    second: str,
    sets: tuple[str, ...],
    seed: int | None,
    seeds: int,
    jobs: int | None,
    executor: str | None,
    metrics: tuple[str, ...],
    yes: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Play FIRST and SECOND (files, or names that `fleetbeat scenarios` lists) with the same seeds, and compare them.

    Exposure is agents x time on versions that the scenario marks `bad: true`, which gates are not told. A difference is
    SECOND less FIRST, seed by seed, with its 95 % interval. Exit code 0 whichever is better.
    """
    from fleetbeat.scenario.dump import dump
    from fleetbeat.scenario.library import find
    from fleetbeat.scenario.load import load
    from fleetbeat.sweep.pairs import compared, differing, paired, verdicts

    wanted = _metrics(metrics)
    if executor is not None and jobs is not None:
        raise Refused("--jobs: got --executor too, expected one of the two: its workers are as many as they are")
    overrides = [*sets, *([] if seed is None else [f"seed={seed}"])]
    loaded = [load(find(name), None, overrides) for name in (first, second)]
    width = jobs or len(os.sched_getaffinity(0))
    if 2 * seeds > MANY and not yes:
        raise Refused(
            f"--seeds: got {seeds:,} seeds = {2 * seeds:,} runs, expected at most {MANY:,}"
            f" (about {_spent(loaded) * seeds / width / 3600:,.1f} h with {width} jobs; --yes plays them)"
        )
    names = _names(first, second)
    sides = [Side(name, one.name, dump(one)) for name, one in zip(names, loaded, strict=True)]
    numbers = [(loaded[0].seed + index) % _SEEDS for index in range(seeds)]
    warnings = _warnings(differing(loaded[0], loaded[1]))
    got: list[Got] = []
    interrupted = False
    try:
        _play(sides, loaded, numbers, width, executor, pace("runs", quiet=quiet), got)
    except KeyboardInterrupt:
        interrupted = True
    pairs = paired(got, numbers)
    rows = compared(pairs, wanted)
    show = _document if as_json else _text
    emit(show(sides, numbers, len(pairs), rows, warnings, [verdicts(got, side) for side in (0, 1)]))
    if interrupted:
        narrate(f"fleetbeat: interrupted after {len(got):,} of {2 * seeds:,} runs")
    return INTERRUPTED if interrupted else HELD


def _spent(loaded: Sequence[Scenario]) -> float:
    """Seconds that one run of each takes, once the engine is imported."""
    from fleetbeat.sweep.one import play

    play(loaded[0], (), loaded[0].seed)
    spent = stopwatch()
    for scenario in loaded:
        play(scenario, (), scenario.seed)
    return spent()


def _play(
    sides: Sequence[Side],
    loaded: Sequence[Scenario],
    seeds: Sequence[int],
    jobs: int,
    executor: str | None,
    tell: Callable[[int, int], None],
    got: list[Got],
) -> None:
    """Plays both sides here, or where `executor` says; fills `got`. Raises Missing, Refused for no such place."""
    from fleetbeat.sweep.execute import ExecuteError
    from fleetbeat.sweep.pairs import play_pairs
    from fleetbeat.sweep.vary import VaryError

    texts = (sides[0].text, sides[1].text)
    try:
        if executor is None:
            play_pairs(texts, seeds, jobs, tell, got)
            return
        from fleetbeat.scenario.resolve import agents
        from fleetbeat.sweep.remote import Remote

        programs = dict.fromkeys(spec.agent for scenario in loaded for spec in agents(scenario))
        with Remote(executor, sorted(programs)) as remote:
            play_pairs(texts, seeds, remote.width, tell, got, remote.opened)
    except VaryError as error:
        raise Refused(str(error)) from error
    except ExecuteError as error:
        raise Missing(str(error)) from error


def _metrics(asked: Sequence[str]) -> tuple[str, ...]:
    from difflib import get_close_matches

    from fleetbeat.sweep.pairs import COMPARED, SHOWN

    for name in asked:
        if name not in COMPARED:
            close = get_close_matches(name, COMPARED, 1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            raise Refused(f"--metric: got {name!r}, expected one of {', '.join(COMPARED)}{meant}")
    return tuple(dict.fromkeys(asked)) or SHOWN


def _names(first: str, second: str) -> tuple[str, str]:
    """What the two are called in tables: their files' names, or A and B where those are alike."""
    one, two = Path(first).stem, Path(second).stem
    return (one, two) if one != two else ("A", "B")


def _warnings(parts: Sequence[str]) -> list[str]:
    if not parts:
        return []
    return [f"the two differ in more than their plans, so a difference may come from there: {', '.join(parts)}"]


def _document(
    sides: Sequence[Side],
    seeds: Sequence[int],
    pairs: int,
    rows: Sequence[PairRow],
    warnings: Sequence[str],
    came_to: Sequence[dict[str, int]],
) -> str:
    from fleetbeat.sweep.pairs_words import differs

    names = [
        {"name": side.name, "scenario": side.scenario, "verdicts": verdicts}
        for side, verdicts in zip(sides, came_to, strict=True)
    ]
    head = {"schema": "fleetbeat.compare/1", "plans": names, "seeds": list(seeds), "pairs": pairs}
    lines = [{**asdict(row), "differs": differs(row)} for row in rows]
    said = _sentences(sides, rows)
    return json.dumps({**head, "metrics": lines, "sentences": said, "warnings": list(warnings)}, indent=2) + "\n"


def _sentences(sides: Sequence[Side], rows: Sequence[PairRow]) -> list[str]:
    from fleetbeat.report.plain import safe
    from fleetbeat.sweep.pairs_words import alike, differs, sentence

    first, second = (safe(side.name) for side in sides)
    return [*(sentence(row, first, second) for row in rows if differs(row)), *alike(rows)]


def _text(
    sides: Sequence[Side],
    seeds: Sequence[int],
    pairs: int,
    rows: Sequence[PairRow],
    warnings: Sequence[str],
    came_to: Sequence[dict[str, int]],
) -> str:
    from fleetbeat.report.plain import cut, item, safe
    from fleetbeat.report.tables import table
    from fleetbeat.sweep.pairs_words import cells

    first, second = (cut(safe(side.name), 16) for side in sides)
    head = f"{safe(sides[0].name)} against {safe(sides[1].name)}: {pairs:,} pairs of runs"
    head += f", seeds {seeds[0]} to {seeds[-1]}" if pairs else ""
    headers = ["metric", first, second, "difference", "95 %", "pairs"]
    for side, found in zip(sides, came_to, strict=True):
        head += f"\n  {safe(side.name)}: {', '.join(f'{count:,} {word}' for word, count in found.items())}"
    parts = [head, *(item(f"warning: {line}", "") for line in warnings), ""]
    parts.append(table(headers, [cells(row) for row in rows]))
    parts += ["", *(item(line) for line in _sentences(sides, rows)), ""]
    methods = dict.fromkeys(f"{row.apart.method} ({row.apart.source})" for row in rows if row.apart.count)
    parts += [item(f"{second} less {first}, {method}.") for method in methods]
    parts.append(item("With %: the share of runs; else: the mean of one value a run."))
    parts.append(item("Of twenty intervals at 95 % one misses: nothing corrects for looking at many."))
    return "\n".join(parts) + "\n"
