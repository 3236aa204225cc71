"""What became of each dangerous call: which gates watched it, what they answered, what the core said, and whether it ran.

Memory: calls that are not settled, as long as their agent's process lives (a call put to the user dies with it), and the
last settled ones of a window, for what a foreign log may still tell of them. Without a window all are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fleetbeat.checks.chains import Id
from fleetbeat.framework.match import watches
from fleetbeat.framework.policies import Gate


class Told(NamedTuple):
    """A `tool.before` as policies see it."""

    type: str
    origin: str
    session: str
    fields: Mapping[str, Any]


class Call:
    """A dangerous call that some gate watches. `gates`: ids of these; `answers`: gate -> the strictest it said; `doubt`: why
    not all gates in force are known, "" if they are; `told`: a finding was made of it, or a doubt was counted;
    `is_labelled`: it is known to be dangerous."""

    __slots__ = (
        "agent", "answers", "approved", "command", "doubt", "gates", "id", "is_labelled", "life", "settled", "t", "told"
    )  # fmt: skip

    def __init__(
        self,
        agent: str,
        id: Id,
        t: int,
        command: str,
        gates: tuple[str, ...],
        life: int,
        doubt: str = "",
        is_labelled: bool = True,
    ) -> None:
        self.agent = agent
        self.id = id
        self.t = t
        self.command = command
        self.gates = gates
        self.life = life
        self.doubt = doubt
        self.is_labelled = is_labelled
        self.answers: dict[str, str] = {}
        self.approved = False
        self.settled = False
        self.told = False

    @property
    def unasked(self) -> tuple[str, ...]:
        return tuple(gate for gate in self.gates if gate not in self.answers)

    def strictest(self) -> tuple[str, str, str]:
        """Of what the watching gates answered: allow, ask or deny, the gate that said so, and its own word for it.

        A gate that raised or was too slow counts as ask, unless it answered when it was asked again. Where the gates in
        force are not known, every gate that was asked counts as one that watches.
        """
        found = ("allow", "", "")
        for gate in self.answers if self.doubt else self.gates:
            word = self.answers.get(gate)
            if word is not None:
                means = word if word in RANK else "ask"
                if RANK[means] > RANK[found[0]]:
                    found = (means, gate, word)
        return found


RANK = {"allow": 0, "ask": 1, "deny": 2}


class Force:
    """The gates in force on one agent. `doubt`: why they are not known, "" if they are."""

    __slots__ = ("doubt", "gates", "life")

    def __init__(self, gates: Mapping[str, Gate]) -> None:
        self.gates = gates
        self.life = 0
        self.doubt = ""

    def watching(self, told: Told) -> tuple[str, ...]:
        return tuple(name for name, gate in self.gates.items() if watches(gate, told))


class Calls:
    """The dangerous calls of all agents that some gate watched. `forgotten`: unsettled ones that there was no room for.

    `window`: as of events and actions; of the calls a part of it is kept.
    """

    def __init__(self, window: int | None = None) -> None:
        self.forgotten = 0
        self._settled = None if window is None else max(1, min(window // 8, 1024))
        self._most_open = 0 if window is None else max(1, window // 16)
        self._turn_at = self._settled
        self._young: dict[tuple[str, Id], Call] = {}
        self._old: dict[tuple[str, Id], Call] = {}

    def __getitem__(self, key: tuple[str, Id]) -> Call | None:
        found = self._young.get(key)
        return found if found is not None or not self._old else self._old.get(key)

    def add(self, call: Call, forces: Mapping[str, Force]) -> None:
        """`forces`: by agent, to tell which calls died with their process."""
        if self._settled is not None and len(self._young) == self._turn_at:
            self._turn(forces, self._settled)
        self._young[call.agent, call.id] = call

    def _turn(self, forces: Mapping[str, Force], settled: int) -> None:
        """Lets go of the older half, but for calls that are open."""
        open_ones = [call for call in self._old.values() if not call.settled and call.life == forces[call.agent].life]
        kept = open_ones[-self._most_open :]
        self.forgotten += len(open_ones) - len(kept)
        self._old = self._young
        self._young = {(call.agent, call.id): call for call in kept}
        self._turn_at = len(kept) + settled


def gates_of(policies: Sequence[Mapping[str, Any]]) -> dict[str, Gate]:
    """Gates as a record holds them, by id."""
    return {
        one["id"]: Gate(
            one["id"],
            tuple(one["on"]),
            one["answer"],
            {name: tuple(values) for name, values in one["when"].items()},
            {count: tuple((how, number) for how, number in bounds) for count, bounds in one["state"].items()},
            float(one["cooldown_s"]),
        )
        for one in policies
    }
