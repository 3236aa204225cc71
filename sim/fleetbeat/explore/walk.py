"""Where a search stands, and where it can go from there: choices of the whole world, in a fixed order."""

from __future__ import annotations

from hashlib import blake2b

from fleetbeat.explore.episodes import Node
from fleetbeat.explore.model import POWER_AFTER, POWER_BEFORE, Event
from fleetbeat.explore.observe import Past
from fleetbeat.explore.power import losses
from fleetbeat.explore.scene import Shown
from fleetbeat.explore.space import DIES_AFTER, DIES_BEFORE, PAUSES, WELL, Leap, Life, Part, Space
from fleetbeat.explore.worlds import World

#: Beats that each living agent makes at the end, with nothing in the way. Source: PROTOCOL, invariant `drains`.
LAST_BEATS = 2
#: States that a walk knows at a time.
STATES = 400_000


class State:
    """All but the past. `faults`, `crashes`, `preemptions` are what is left; -1 preemptions: any number.

    `running` is the slot that is in the middle of an episode (-1: none); it is kept only where preemptions count. A walk
    has one object for equal states, so what can happen next is found once for all pasts (`choices`).
    """

    __slots__ = ("choices", "crashes", "faults", "parts", "preemptions", "raw", "running", "world")

    def __init__(
        self, world: World, parts: tuple[Part, ...], faults: int, crashes: int, preemptions: int, running: int
    ) -> None:
        self.world = world
        self.parts = parts
        self.faults = faults
        self.crashes = crashes
        self.preemptions = preemptions
        self.running = running
        self.raw = world.raw + b"".join([part.raw for part in parts]) + bytes((faults, crashes))
        if preemptions >= 0:
            self.raw += bytes((preemptions, running + 1))
        self.choices: list[Choice] | None = None


class Choice:
    """A slot and how its next operation turns out; what that leads to, for its own part and, where a host loses power, for
    `others`. `kept`: the unsynced pieces that were kept then.
    """

    __slots__ = ("after", "how", "kept", "leap", "others", "part", "slot")

    def __init__(
        self, slot: int, how: int, leap: Leap, part: int, others: tuple[tuple[int, Part], ...] = (), kept: str = ""
    ) -> None:
        self.slot = slot
        self.how = how
        self.leap = leap
        self.part = part
        self.others = others
        self.kept = kept
        self.after: State | None = None


class Walk:
    """Moves through a space.

    With `prune`, private operations are taken at once, and a process dies once between two operations, not twice.
    """

    def __init__(self, space: Space, prune: bool = True) -> None:
        self.space = space
        self.prune = prune
        self._states: dict[bytes, State] = {}
        self._last: dict[tuple[int, ...], tuple[Shown, ...]] = {}

    def start(self, faults: int, crashes: int, preemptions: int | None) -> tuple[State, Past]:
        """The state after every agent's first boot, and its past."""
        state = self.state(self.space.worlds.start, self.space.first)
        shown: list[Shown] = []
        for index in range(len(self.space.agents)):
            while True:
                part = state.parts[index]
                value = part.value
                assert isinstance(value, Life)
                if value.alive and (value.rebuilding is None or value.rebuilding.role != "boot"):
                    break
                slot, node = part.options[0]
                leap = self.space.leap(state.world, part, slot, node, WELL)
                assert leap is not None
                shown += leap.shown
                state = self.after(state, Choice(slot, WELL, leap, index))
        raw = b"".join(one.raw for one in shown)
        limit = -1 if preemptions is None else preemptions
        return self.state(state.world, state.parts, faults, crashes, limit), Past(None, tuple(shown), raw)

    def state(
        self,
        world: World,
        parts: tuple[Part, ...],
        faults: int = 0,
        crashes: int = 0,
        preemptions: int = -1,
        running: int = -1,
    ) -> State:
        """The one object for this state. The table is emptied when it is full, which costs time alone."""
        made = State(world, parts, faults, crashes, preemptions, running)
        if len(self._states) >= STATES:
            self._states.clear()
        return self._states.setdefault(made.raw, made)

    # --- choices ---

    def choices(self, state: State) -> list[Choice]:
        """What can happen next; nothing at the end of a schedule."""
        if state.choices is None:
            state.choices = self._choices(state)
        return state.choices

    def _choices(self, state: State) -> list[Choice]:
        found: list[Choice] = []
        others: list[Choice] = []
        for part in state.parts:
            for slot, node in part.options:
                leap = self.space.leap(state.world, part, slot, node, WELL)
                if leap is None:
                    continue
                choice = Choice(slot, WELL, leap, part.index)
                if self.prune and leap.quiet and self._at_once(state, part, slot, node, leap):
                    return [choice]
                found.append(choice)
        if state.preemptions >= 0:
            found = self._affordable(state, found)
        if not state.faults and not state.crashes:
            return found
        for choice in found:
            self._otherwise(state, choice, others)
        return found + others

    def _at_once(self, state: State, part: Part, slot: int, node: Node, leap: Leap) -> bool:
        if leap.ended and isinstance(part.value, Life):
            return False
        return self.space.is_private(part, slot, node, leap, state.faults, state.crashes)

    def _affordable(self, state: State, found: list[Choice]) -> list[Choice]:
        """With no preemption left, who is in the middle of an episode goes on."""
        if state.preemptions > 0 or not any(choice.slot == state.running for choice in found):
            return found
        return [choice for choice in found if choice.slot == state.running]

    def _otherwise(self, state: State, choice: Choice, found: list[Choice]) -> None:
        """The same step failing, and the death of its process around it."""
        part = state.parts[choice.part]
        node = next(node for slot, node in part.options if slot == choice.slot)
        if state.faults and node.strikes:
            for fault in node.strikes:
                self._add(state, part, choice.slot, node, fault, found)
        if not state.crashes or not isinstance(part.value, Life):
            return
        alive = part.value.alive
        first = not self.prune or not any(one.part == part.index and one.how == DIES_BEFORE for one in found)
        if first and alive:
            self._die(state, part, choice.slot, node, DIES_BEFORE, found)
        if not self.prune or choice.leap.ended:
            self._die(state, part, choice.slot, node, DIES_AFTER, found)

    def _die(self, state: State, part: Part, slot: int, node: Node, how: int, found: list[Choice]) -> None:
        if not self.space.plan.bounds.power:
            self._add(state, part, slot, node, how, found)
            return
        if how == DIES_AFTER:  # the operation, then the power: as if the power went before the next one
            leap = self.space.leap(state.world, part, slot, node, PAUSES)
            if leap is None:
                return
            before = leap
            calm = self.state(state.world, state.parts, state.faults, state.crashes)
            state = self.after(calm, Choice(slot, WELL, leap, part.index))
        host = self.space.agents[part.index].spec.host
        for leap, parts, kept in losses(self.space, state, host):
            if how == DIES_AFTER:
                leap = leap._replace(shown=before.shown + leap.shown, raw=before.raw + leap.raw)
            found.append(Choice(slot, how, leap, part.index, parts, kept))

    def _add(self, state: State, part: Part, slot: int, node: Node, how: int, found: list[Choice]) -> None:
        leap = self.space.leap(state.world, part, slot, node, how)
        if leap is not None:
            found.append(Choice(slot, how, leap, part.index))

    # --- steps ---

    def take(self, state: State, past: Past, choice: Choice) -> tuple[State, Past]:
        after = choice.after
        if after is None:
            after = choice.after = self.after(state, choice)
        leap = choice.leap
        return after, Past(past, leap.shown, leap.raw) if leap.raw else past

    def after(self, state: State, choice: Choice) -> State:
        leap, index = choice.leap, choice.part
        parts = (*state.parts[:index], leap.part, *state.parts[index + 1 :])
        for other, part in choice.others:
            parts = (*parts[:other], part, *parts[other + 1 :])
        faults, crashes = state.faults, state.crashes
        if choice.how > WELL:
            faults -= 1
        elif choice.how < WELL:
            crashes -= 1
        preemptions, running = state.preemptions, state.running
        if preemptions >= 0 and not leap.quiet:
            if running not in (-1, choice.slot):
                preemptions -= 1
            running = -1 if leap.ended else choice.slot
        return self.state(leap.world, parts, faults, crashes, preemptions, running)

    @staticmethod
    def key(state: State, past: Past) -> bytes:
        """16 bytes for a state and its past."""
        return blake2b(past.digest + state.raw, digest_size=16).digest()

    def event(self, state: State, choice: Choice) -> Event:
        part = state.parts[choice.part]
        node = next(node for slot, node in part.options if slot == choice.slot)
        event = self.space.event(part, choice.slot, node, choice.how)
        if self.space.plan.bounds.power and choice.how < WELL:
            return Event(event.step, (POWER_BEFORE if choice.how == DIES_BEFORE else POWER_AFTER) + choice.kept)
        return event

    # --- the end of a schedule ---

    def last_beats(self, state: State, past: Past) -> Past:
        """The past with what each living agent's last beats show."""
        key = (state.world.id, *(part.id for part in state.parts))
        found = self._last.get(key)
        if found is None:
            shown: list[Shown] = []
            for _, leap in self.closing(state):
                shown += (*leap.shown, LINK)
            found = self._last[key] = tuple(shown)
        group: list[Shown] = []
        for one in found:
            if one is LINK:
                if group:
                    past = Past(past, tuple(group), b"".join(item.raw for item in group))
                group = []
            else:
                group.append(one)
        return past

    def closing(self, state: State) -> list[tuple[Choice, Leap]]:
        """The last beats of all agents, one after another."""
        found: list[tuple[Choice, Leap]] = []
        state = self.state(state.world, state.parts)
        for index in range(len(self.space.agents)):
            value = state.parts[index].value
            assert isinstance(value, Life)
            given = value._replace(beats_left=LAST_BEATS)
            state = self.state(state.world, self.space.with_part(state.parts, index, given))
            while True:
                part = state.parts[index]
                mine = [(slot, node) for slot, node in part.options if slot == 2 * index]
                leap = self.space.leap(state.world, part, *mine[0], WELL) if mine else None
                if leap is None:
                    break
                choice = Choice(mine[0][0], WELL, leap, index)
                found.append((choice, leap))
                state = self.after(state, choice)
        return found


#: Between what two transitions showed.
LINK = Shown("", "(link)", {})
