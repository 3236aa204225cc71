"""When users prompt, how much they ask for, and what they do with notifications."""

from __future__ import annotations

from functools import partial

from fleetbeat.chance.arrivals import HOUR_NS
from fleetbeat.framework.hosting import Act
from fleetbeat.framework.turns import Turns, Work
from fleetbeat.framework.world import Sitting, World
from fleetbeat.scenario.model import Exponential, Spread

_WISHES = ("fix the build", "tidy the notes", "look into a report", "clean up the data")
#: Between the prompts of a burst, ns: a user is never without end at one instant.
_SOON = 1_000_000
#: Nobody looks at a notification in less, ns, or has an eye on more of them at once: a rule that notifies whenever a
#: notification is waved away would go on without end at one instant, and two such rules double each other's.
_GLANCE = 100_000_000
_MOST_UNREAD = 50


class Users:
    """Prompts come at a rate, and never before the turn before is over and its user has thought."""

    def __init__(self, world: World, turns: Turns) -> None:
        self._world = world
        self._turns = turns
        gap = round(HOUR_NS / world.workload.prompts.per_hour)
        self._gap: Spread = Exponential.model_construct(kind="exponential", mean=gap)

    def up(self, sitting: Sitting) -> None:
        """The agent is there: the user comes, or comes back. A turn that was cut is not taken up again."""
        if sitting.number == 0 and sitting.due == 0:
            sitting.due = self._world.hosting.now + self._world.time(self._gap, sitting.actor, 0, "gap")
        self._next(sitting, 0)

    def _next(self, sitting: Sitting, pause: int) -> None:
        now = self._world.hosting.now
        wait = _SOON if sitting.burst > 0 else max(sitting.due - now, pause)
        key = ("prompt", sitting.name, sitting.number, 0)
        self._world.wait(sitting, max(0, wait), key, partial(self._prompt, sitting))

    def _prompt(self, sitting: Sitting) -> None:
        world, number = self._world, sitting.number
        hosting = world.hosting
        sitting.number = number + 1
        bits = world.bits(sitting.actor, number, "prompt")
        text = f"{_WISHES[bits & 3]} {bits >> 2 & 0xFFF}"
        self._burst(sitting, bits >> 14 & 0xFFFFF)
        sitting.due = hosting.now + world.time(self._gap, sitting.actor, sitting.number, "gap")
        handed = hosting.hand(hosting.now, "prompt", "user", sitting.name, None, {"text": text})
        least, most = world.workload.turns.calls
        calls = least + ((bits >> 34) * (most - least + 1) >> 30)
        self._turns.begin(Work(sitting, sitting.name, sitting.actor, number, handed.id, 0, calls, self._over))

    def _burst(self, sitting: Sitting, place: int) -> None:
        bursts = self._world.workload.prompts.bursts
        if sitting.burst > 0:
            sitting.burst -= 1
        elif place < bursts.share * (1 << 20):
            sitting.burst = bursts.prompts - 1

    def _over(self, work: Work) -> None:
        world, sitting = self._world, work.sitting
        hosting = world.hosting
        hosting.hand(hosting.now, "reply", "agent", work.session, work.cause, {"text": "done"})
        think = world.time(world.workload.prompts.think, sitting.actor, work.number, "think")
        self._next(sitting, think)

    # --- notifications ---

    def notified(self, act: Act) -> None:
        """Some notifications are waved away after a while, the adversary's all; the others are read."""
        world, sitting = self._world, self._world.of(act.session)
        number = sitting.notices
        sitting.notices = number + 1
        if sitting.unread >= _MOST_UNREAD:
            return
        if sitting.hostile or world.share(sitting.actor, number, "dismiss") < world.workload.users.dismiss:
            time = world.time(world.workload.users.look, sitting.actor, number, "look")
            key = ("dismiss", sitting.name, number, 0)
            sitting.unread += 1
            world.agenda.add(world.hosting.now + max(_GLANCE, time), key, partial(self._dismissed, sitting, act.id))

    def _dismissed(self, sitting: Sitting, notice: int) -> None:
        sitting.unread -= 1
        hosting = self._world.hosting
        if hosting.is_up:
            hosting.hand(hosting.now, "dismissed", "user", sitting.name, None, {"notice": notice})
