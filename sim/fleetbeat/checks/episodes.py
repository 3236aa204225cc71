"""Episodes of one agent that overlap in time, as clusters: what a rebuild beside a beat did is judged when both are
over.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleetbeat.checks.timeline import Agent, Beat, Rebuild


@dataclass(frozen=True, slots=True)
class Cluster:
    """Beats that were not idle and rebuilds, each overlapping another one of them. Times in ns."""

    start: int
    end: int
    beats: tuple[Beat, ...]
    rebuilds: tuple[Rebuild, ...]

    @property
    def overlaps(self) -> bool:
        """Whether a rebuild ran beside a beat; two episodes that only touch do not overlap."""
        return any(
            beat.t < (one.end.t if one.end else self.end) and one.begin.t < beat.end
            for beat in self.beats
            for one in self.rebuilds
        )

    @property
    def is_whole(self) -> bool:
        """Whether every episode ran to its end and did not fail."""
        return all(beat.outcome == "done" for beat in self.beats) and all(
            one.outcome == "done" for one in self.rebuilds
        )


def clusters(agent: Agent, forever: int) -> list[Cluster]:
    """In order of time. `forever`: the end in ns of an episode that never ended."""
    episodes: list[tuple[int, int, Beat | Rebuild]] = [(beat.t, beat.end, beat) for beat in agent.beats]
    episodes += [
        (one.begin.t, one.end.t if one.end is not None else _cut(agent, one, forever), one) for one in agent.rebuilds
    ]
    episodes.sort(key=lambda episode: episode[:2])
    found: list[Cluster] = []
    group: list[Beat | Rebuild] = []
    start = end = 0
    for begin, over, episode in episodes:
        if group and begin > end:
            found.append(_cluster(start, end, group))
            group = []
        if not group:
            start, end = begin, over
        group.append(episode)
        end = max(end, over)
    if group:
        found.append(_cluster(start, end, group))
    return found


def _cut(agent: Agent, rebuild: Rebuild, forever: int) -> int:
    for life in agent.lives:
        if life.number == rebuild.life and life.end is not None:
            return life.end.t
    return forever


def _cluster(start: int, end: int, group: list[Beat | Rebuild]) -> Cluster:
    beats = tuple(one for one in group if isinstance(one, Beat))
    rebuilds = tuple(one for one in group if isinstance(one, Rebuild))
    return Cluster(start, end, beats, rebuilds)
