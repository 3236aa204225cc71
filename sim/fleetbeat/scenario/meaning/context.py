"""What the checks of meaning share: the scenario, who is in its fleet, where values stand, and the mistakes so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cached_property

from fleetbeat.scenario.mistakes import Mistake, listed, nearest
from fleetbeat.scenario.model import Group, Scenario, Spawn
from fleetbeat.scenario.read import Path, kept, place
from fleetbeat.scenario.resolve import AgentSpec, agents, groups
from fleetbeat.scenario.selectors import number_of, parse_item
from fleetbeat.scenario.yaml12 import Node


@dataclass
class Context:
    """`faults_at` and `rollouts_at`: the place in the file of each fault and rollout of `scenario`.

    Those with mistakes of shape were left out of it; `whole`: none were. `names_known`: its agents are those of the
    file; `fleet_known`: and nothing keeps them from being resolved.
    """

    scenario: Scenario
    root: Node
    faults_at: list[int]
    rollouts_at: list[int]
    names_known: bool = True
    fleet_known: bool = True
    whole: bool = True
    mistakes: list[Mistake] = field(default_factory=list)

    def at(self, path: Path, expected: str, *, known: Iterable[str] = (), got: str | None = None) -> None:
        """Notes a mistake at a path of `scenario`."""
        if len(path) > 1 and isinstance(path[1], int) and path[0] in ("faults", "rollouts"):
            places = self.faults_at if path[0] == "faults" else self.rollouts_at
            path = (path[0], places[path[1]], *path[2:])
        present = kept(self.root, path)
        whole = present if isinstance(path[-1], int) and len(present) == len(path) - 1 else path
        self.mistakes.append(place(self.root, whole, expected, known, got))

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many agents each group has, spawned ones included."""
        origins: tuple[Group | Spawn, ...] = (*groups(self.scenario), *self.scenario.fleet.lifecycle.spawns)
        return {origin.name: origin.count for origin in origins}

    @cached_property
    def hosts(self) -> list[str]:
        return [host.name for host in self.scenario.fleet.hosts]

    @cached_property
    def fleet(self) -> tuple[AgentSpec, ...]:
        """Everyone, resolved. Only for a fleet that has no mistakes."""
        return agents(self.scenario)

    def names(self) -> Iterator[str]:
        return (f"{group}-{i}" for group, count in self.counts.items() for i in range(count))

    def is_agent(self, name: str) -> bool:
        parts = number_of(name)
        return parts is not None and parts[1] < self.counts.get(parts[0], 0)

    def known_names(self, name: str) -> list[str]:
        """The agents that a wrong name could have meant, so that nobody searches a million names."""
        group, number = number_of(name) or (name, 0)
        near = group if group in self.counts else nearest(group, self.counts)
        if near is None:
            return []
        return [f"group:{near}"] if number_of(name) is None else [f"{near}-{min(number, self.counts[near] - 1)}"]

    def agent(self, path: Path, name: str) -> None:
        """A field that names one agent."""
        if not self.is_agent(name):
            self.at(path, self.said_agents())
            self._suggest(name)

    def _suggest(self, name: str) -> None:
        self._meant(next(iter(self.known_names(name)), None))

    def said_agents(self) -> str:
        return f"an agent ({self.said_names()})"

    def said_names(self) -> str:
        return listed([_said(group, count) for group, count in self.counts.items()], 6)

    def selector(self, path: Path, texts: Iterable[str]) -> None:
        """Each item of a selector must mean somebody, except a share."""
        for index, text in enumerate(texts):
            self._item((*path, index), text)

    def _item(self, path: Path, text: str) -> None:
        try:
            item = parse_item(text)
        except ValueError as error:
            self.at(path, str(error))
            return
        if not self.names_known:
            return
        if item.kind == "name" and not self.is_agent(text):
            self.at(path, f"{self.said_agents()}, a pattern, a range, a share, group:NAME, host:NAME or all")
            self._suggest(text)
        elif item.kind == "range" and not (self.is_agent(f"{item.word}-{item.high}")):
            self.at(path, f"a range of agents that exist ({self.said_names()})")
            near = nearest(item.word, self.counts)
            if item.word not in self.counts and near:
                last = min(item.high, self.counts[near] - 1)
                self._meant(f"{near}-{min(item.low, last)}..{near}-{last}")
        elif item.kind == "group" and item.word not in self.counts:
            self.at(path, f"group: and one of {listed(self.counts)}")
            self._meant(nearest(item.word, self.counts), "group:")
        elif item.kind == "host" and item.word not in self.hosts:
            self.at(path, f"host: and one of {listed(self.hosts)}")
            self._meant(nearest(item.word, self.hosts), "host:")
        elif item.kind == "glob":
            match = re.compile(translate(item.word)).fullmatch
            if not any(match(name) for name in self.names()):
                self.at(path, "a pattern that fits an agent's name")

    def _meant(self, word: str | None, start: str = "") -> None:
        if word:
            last = self.mistakes[-1]
            self.mistakes[-1] = Mistake(last.where, last.path, last.got, last.expected, start + word)


def _said(group: str, count: int) -> str:
    return f"{group}-0" if count == 1 else f"{group}-0 to {group}-{count - 1}"
