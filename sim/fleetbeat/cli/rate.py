"""`fleetbeat rate`: how often a post meets a fate, per million posts. It judges nothing and keeps nothing, unlike `run`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import HELD, INTERRUPTED, Refused
from fleetbeat.cli.output import emit, narrate
from fleetbeat.cli.progress import shown

if TYPE_CHECKING:
    from fleetbeat.explore.rate import Rate, Stratum


@click.command("rate", short_help="How often a post meets a fate, per million posts.")
@click.argument("scenario")
@click.option("--of", "fate", default="lost", show_default=True, metavar="FATE", help="The fate, as reports name it.")
@click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a field of the scenario; again for more."
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), metavar="N", help="Another seed than the scenario's.")
@click.option("--runs", type=int, default=2000, show_default=True, metavar="N", help="About how many runs to play.")
@click.option("--json", "as_json", is_flag=True, help="The estimate as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="The first line alone.")
def command(
    scenario: str, fate: str, sets: tuple[str, ...], seed: int | None, runs: int, as_json: bool, quiet: bool
) -> int:
    """Estimate how often a post of SCENARIO (a file, or a name that `fleetbeat scenarios` lists) meets a fate.

    Posts that land while a beat is at work are played far more often than they come, and weighted back; latencies and
    the cadence are the scenario's. Exit code 0 whatever the rate is.
    """
    from fleetbeat.explore.model import ExploreError
    from fleetbeat.explore.rate import rate_of
    from fleetbeat.scenario.library import find
    from fleetbeat.scenario.load import load

    overrides = [*sets, *([] if seed is None else [f"seed={seed}"])]
    loaded = load(find(scenario), overrides=overrides)
    with shown(runs, quiet=quiet) as bar:
        try:
            found = rate_of(loaded, fate, runs, None if bar is None else lambda done, _: bar(done))
        except ExploreError as error:
            raise Refused(str(error)) from error
    emit(_document(loaded.name, found) if as_json else _text(loaded.name, found, quiet))
    if found.interrupted:
        narrate("fleetbeat: interrupted; the estimate is of what was played")
    return INTERRUPTED if found.interrupted else HELD


def _document(name: str, found: Rate) -> str:
    return json.dumps({"schema": "fleetbeat.rate/1", "scenario": name, **asdict(found)}, indent=2) + "\n"


def _text(name: str, found: Rate, quiet: bool) -> str:
    bounds = f"{_millionths(found.low)} to {_millionths(found.high)}"
    lines = [f"{name}: {found.fate}: {_millionths(found.rate)} per million posts (95 %: {bounds})"]
    if not quiet:
        lines += [f"  {_stratum(stratum)}" for stratum in found.strata]
        lines.append(f"  {found.runs:,} runs played{_instead(found)}")
        lines += [f"  assumed: {line}" for line in found.assumptions]
    return "\n".join(lines) + "\n"


def _stratum(stratum: Stratum) -> str:
    text = f"{stratum.name}: {stratum.weight * 100:.4g} % of posts, {stratum.hits} of {stratum.runs:,} runs"
    return f"{text}, shown to be none" if stratum.shown_zero else text


def _instead(found: Rate) -> str:
    if found.brute is None or len(found.strata) == 1:
        return ""
    return f"; runs at random would have to be {found.brute:,} for so narrow an interval"


def _millionths(share: float) -> str:
    """Three digits that mean something."""
    value = share * 1e6
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
