"""Searches by chance: one schedule after another, each made of named draws, so that a seed tells the whole search.

`pct` (probabilistic concurrency testing; Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010): actors have
random priorities and the highest that can runs; at d - 1 steps drawn at random the running one drops to the bottom. A
bug that needs d ordering constraints shows in one run with a chance of at least 1 / (n * k^(d - 1)), for n actors and at
most k steps. Faults and deaths are put at drawn steps as well; the guarantee is about orders alone.

`random` (swarm testing: Groce and others, ISSTA 2012): each run draws its own mix of faults, its own workload (which
posts, how many beats, rebuilds and crashes) and its own cadence (how often each actor is chosen). It plays the same
untimed space, so that what it finds is a schedule like any other. Runs without any fault or crash are allowed and
counted, not redrawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.explore.model import Event, Outcome
from fleetbeat.explore.observe import Past
from fleetbeat.explore.space import WELL, Life, Part, Space, Writer
from fleetbeat.explore.tally import Tally
from fleetbeat.explore.walk import Choice, State, Walk

#: Schedules played to measure how long they get before `pct` draws where to change priorities.
PILOT = 30
#: How much more often a quick actor is chosen than a slow one, at most: 2 to this power.
PACES = 6

Chooser = Callable[[int, State, list[Choice]], Choice]


class _Draws:
    """Draws of one run, named by what they decide."""

    def __init__(self, choices: Hashed, strategy: str, run: int) -> None:
        self._choices = choices
        self._strategy = strategy
        self._run = run

    def below(self, limit: int, what: str, index: int = 0) -> int:
        """A whole number from 0 up to, not including, `limit`."""
        step = Step(self._strategy, 0, self._run, what, str(index))
        return self._choices.bits("explore", step) % limit


def sample(
    space: Space,
    tally: Tally,
    strategy: str,
    seed: int | None,
    runs: int,
    depth: int,
    stop: Callable[[], bool] | None,
    max_states: int | None,
) -> Outcome:
    """Plays up to `runs` schedules."""
    choices = Hashed(space.plan.scenario.seed if seed is None else seed)
    play = _Pct(space, tally, choices, depth) if strategy == "pct" else _Swarm(space, tally, choices)
    done = 0
    interrupted = False
    try:
        while done < runs and not (stop is not None and stop()) and not (max_states and play.steps >= max_states):
            play.run(done)
            done += 1
    except KeyboardInterrupt:
        interrupted = True
    where = f"{done:,} of {runs:,} runs of {strategy}"
    return Outcome((), False, play.steps, done, where, interrupted=interrupted, notes=play.notes())


class _Player:
    def __init__(self, space: Space, tally: Tally, choices: Hashed) -> None:
        self.space = space
        self.tally = tally
        self.chance = choices
        self.walk = Walk(space, prune=False)
        self.steps = 0
        self.longest = 0

    def play(self, state: State, past: Past, choose: Chooser) -> None:
        """One schedule, to its end."""
        taken: list[tuple[State, Choice]] = []
        while choices := self.walk.choices(state):
            choice = choose(len(taken), state, choices)
            taken.append((state, choice))
            state, past = self.walk.take(state, past, choice)
        self.steps += len(taken)
        self.longest = max(self.longest, len(taken))
        events: Callable[[], tuple[Event, ...]] = lambda: tuple(self.walk.event(*one) for one in taken)  # noqa: E731
        self.tally.end(self.walk.last_beats(state, past), events)


class _Pct(_Player):
    def __init__(self, space: Space, tally: Tally, choices: Hashed, depth: int) -> None:
        super().__init__(space, tally, choices)
        self.depth = depth
        self.slots = self._slots()
        for run in range(PILOT):
            self._run(_Draws(choices, "pct:pilot", run), 1)

    def _slots(self) -> list[int]:
        """The actors that can run: threads of agents that have something to do, and writers."""
        bounds, agents = self.space.plan.bounds, len(self.space.agents)
        rebuilding = bool(bounds.rebuilds or bounds.crashes)
        threads = [slot for slot in range(2 * agents) if slot % 2 == 0 or rebuilding]
        return threads + [2 * agents + number for number in range(len(self.space.plan.posts))]

    def run(self, number: int) -> None:
        self._run(_Draws(self.chance, "pct", number), self.longest)

    def _run(self, draws: _Draws, length: int) -> None:
        bounds = self.space.plan.bounds
        order = sorted(self.slots, key=lambda slot: (draws.below(1 << 62, "priority", slot), slot))
        rank = {slot: self.depth + place for place, slot in enumerate(order)}
        drops = {draws.below(length, "change", number): number for number in range(self.depth - 1)}
        trouble = {
            draws.below(length, "trouble", number): number for number in range(_all(bounds.faults, bounds.crashes))
        }

        def choose(step: int, state: State, choices: list[Choice]) -> Choice:
            best = max(choices, key=lambda choice: rank[choice.slot]).slot
            if step in drops:
                rank[best] = drops[step] - self.depth
                best = max(choices, key=lambda choice: rank[choice.slot]).slot
            mine = [choice for choice in choices if choice.slot == best]
            ill = [choice for choice in mine if choice.how != WELL]
            return ill[draws.below(len(ill), "how", step)] if step in trouble and ill else mine[0]

        state, past = self.walk.start(bounds.faults or 0, bounds.crashes or 0, None)
        self.play(state, past, choose)

    def notes(self) -> tuple[str, ...]:
        n, k, d = len(self.slots), self.longest, self.depth
        chance = 1 / (n * k ** (d - 1))
        return (
            f"pct: a bug that needs {d} ordering constraints shows in one run with a chance of at least "
            f"1/(n*k^(d-1)) = {chance:.2g}, with n = {n} actors, k = {k} steps (the longest run), d = {d}",
        )


class _Swarm(_Player):
    def __init__(self, space: Space, tally: Tally, choices: Hashed) -> None:
        super().__init__(space, tally, choices)
        self.kinds: Counter[str] = Counter()

    def run(self, number: int) -> None:
        draws = _Draws(self.chance, "random", number)
        plan = self.space.plan
        faults = frozenset(index for index in range(1, len(plan.faults) + 1) if draws.below(2, "fault", index))
        allowed = draws.below((plan.bounds.faults or 0) + 1, "faults") if faults else 0
        crashes = draws.below((plan.bounds.crashes or 0) + 1, "crashes")
        state, past = self.walk.start(allowed, crashes, None)
        state = self.walk.state(state.world, self._workload(state, draws), allowed, crashes)
        paces = [1 << draws.below(PACES, "pace", slot) for slot in range(2 * len(state.parts))]
        odds = 1 << (2 + draws.below(5, "odds"))
        self.kinds[_kind(bool(allowed), bool(crashes))] += 1

        def choose(step: int, state: State, choices: list[Choice]) -> Choice:
            well = [choice for choice in choices if choice.how == WELL]
            ill = [choice for choice in choices if choice.how < WELL or choice.how in faults]
            if ill and not draws.below(odds, "whether", step):
                return ill[draws.below(len(ill), "what", step)]
            place = draws.below(sum(paces[choice.slot] for choice in well), "who", step)
            for choice in well:
                place -= paces[choice.slot]
                if place < 0:
                    return choice
            raise AssertionError(choices)

        self.play(state, past, choose)

    def _workload(self, state: State, draws: _Draws) -> tuple[Part, ...]:
        """Which posts are made (one at least), and how many beats and rebuilds each agent makes."""
        parts = state.parts
        agents = len(self.space.agents)
        posts = len(parts) - agents
        kept = draws.below(posts, "post")
        for index, part in enumerate(parts):
            value = part.value
            if isinstance(value, Life):
                beats = 1 + draws.below(value.beats_left, "beats", index)
                rebuilds = draws.below(value.rebuilds_left + 1, "rebuilds", index)
                parts = self.space.with_part(parts, index, value._replace(beats_left=beats, rebuilds_left=rebuilds))
            elif index - agents != kept and not draws.below(4, "skip", index):
                parts = self.space.with_part(parts, index, Writer(None, False))
        return parts

    def notes(self) -> tuple[str, ...]:
        told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.kinds.items()))
        return (f"random: each run drew its own faults, workload and cadence: {told}",) if told else ()


def _kind(faults: bool, crashes: bool) -> str:
    both = "faults and crashes allowed" if crashes else "faults allowed"
    return both if faults else "crashes allowed" if crashes else "nothing going wrong"


def _all(*numbers: int | None) -> int:
    return sum(number or 0 for number in numbers)
