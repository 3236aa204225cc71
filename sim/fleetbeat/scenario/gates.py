"""Gates of a rollout: what the operator must have seen of the targets posted so far before the next wave begins."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fleetbeat.scenario.shapes import lasting
from fleetbeat.scenario.spreads import Frozen
from fleetbeat.scenario.units import Duration, Number, Percent, Whole


class GateLag(Frozen):
    """From a target's post to the look, or the poll, that first saw it; a target that was not seen waits longest."""

    quantile: Annotated[Number, Field(gt=0, le=1)] = 0.99
    below: Annotated[Duration, lasting(more_than="0s")]


class Gate(Frozen):
    """Conditions on what an operator can see: targets' prompts and canonicals, which it reads, and their logs.

    `violations` and `write_errors` are judged at every look, and stop the rollout at once; the others at the last.
    """

    every: Annotated[Duration, lasting("1ms"), Field(description="between two looks while the wave bakes")] = (
        5_000_000_000
    )
    effective: Annotated[
        Percent | None, Field(description="share of the targets posted so far whose prompt must hold the version")
    ] = None
    lag: Annotated[GateLag | None, Field(description="of the wave's own targets")] = None
    violations: Annotated[
        Whole | None,
        Field(
            ge=0, description="most targets whose prompt is torn, or holds neither the version nor what it held before"
        ),
    ] = None
    write_errors: Annotated[
        Whole | None,
        Field(
            ge=0, description="most entries rules_write_error and rules_flush_error in targets' logs since the rollout"
        ),
    ] = None
    errors_per_hour: Annotated[
        Number | None,
        Field(ge=0, description="most entries agent_error in targets' logs, an hour and target, since their posts"),
    ] = None
