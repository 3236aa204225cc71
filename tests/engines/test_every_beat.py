"""An engine that sleeps through what cannot matter writes the same history as the loop that plays every beat and poll."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.engines.mixes import MIXES, cases, scenario_of, scenarios
from tests.engines.oracle import every_beat

from fleetbeat.engines.des import doze, operator, run
from fleetbeat.history.diff import part
from fleetbeat.history.records import Record

CASES = dict(cases())


@contextmanager
def _nobody_sleeps() -> Iterator[None]:
    """Operators poll one by one too, and whoever falls asleep all the same ends the run."""

    def next_poll(self: Any, attempt: int, number: int, base: int, trace: Any, last: int) -> Any:
        self.body.caught_up = None
        return max(number + 1, -(-(self.world.now + 1 - base) // self.delivery.poll_ns))
        yield  # a generator, like what it stands for

    def refuse(*_: Any) -> Any:
        raise AssertionError("the loop that plays everything fell asleep")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator.Poster, "_doze", next_poll)
        patch.setattr(operator, "sleep", refuse)
        patch.setattr(doze, "sleep", refuse)
        yield


def _agree(data: dict[str, Any]) -> list[Record]:
    """Plays a scenario in both ways. Fails with the first record at which they part, and those before it."""
    scenario = scenario_of(data)
    skipped = run(scenario)
    with _nobody_sleeps():
        walked = every_beat(scenario)
    if skipped != walked:
        parting = part(skipped, walked)
        assert parting is not None, "records differ that are written alike"
        before = "\n".join(map(str, walked[max(0, parting.index - 4) : parting.index]))
        pytest.fail(f"{data}\n{before}\nskipping: {parting.left}\nplaying everything: {parting.right}")
    return walked


def test_the_cases_cover_each_mix_with_each_jitter() -> None:
    places = [name.split(": ") for name in CASES if "grid" not in name]
    assert len({(mix, place.split(", ")[2]) for place, mix in places}) == 4 * len(MIXES)
    assert len({(mix, *place.split(", ")[:2]) for place, mix in places}) == 4 * len(MIXES)


@pytest.mark.parametrize("data", CASES.values(), ids=CASES)
def test_the_history_is_that_of_the_loop_that_plays_every_beat(data: dict[str, Any]) -> None:
    kinds = [record.kind for record in _agree(data)]
    assert kinds.count("post.end") > 3
    assert kinds.count("beats") > 3


@pytest.mark.slow
@settings(max_examples=600, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(scenarios())
def test_the_history_is_that_of_the_loop_that_plays_every_beat_in_any_scenario(data: dict[str, Any]) -> None:
    """The same examples every time; a search for new ones is made by hand, with `max_examples` and without
    `derandomize`."""
    _agree(data)
