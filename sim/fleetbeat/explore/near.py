"""Where the first beat has to be for a post to land while a beat may still touch the signal.

All beats of one seed move with the first one, so these places are intervals: one for each post and each beat that can be
moved under its landing. A pilot run says roughly where; with a fixed delay, what other posts give a beat to do moves the
later ones too, so that a second run in the middle of each interval says it exactly. What a beat does after its last
operation on the signal's names (or on a directory) cannot tell when a post landed, and does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fleetbeat.cadence.make import Cadence
from fleetbeat.history.records import Record

#: Intervals are wider than what was measured by this, in ns, on either side.
SLACK_NS = 1000
#: How often an interval is measured again, at most.
TRIES = 3
Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Beat:
    """`reach`: its last operation that could see or undo a landing. Times in ns."""

    number: int
    start: int
    end: int
    reach: int


def beats_of(history: Sequence[Record]) -> list[Beat]:
    """Known beats of the first life, in order; of a span of idle ones the first and the last."""
    reach: dict[int, int] = {}
    for record in history:
        if record.kind == "op" and record["role"] == "beat" and record["life"] == 0 and _is_shared(record["path"]):
            reach[record["episode"]] = record.t
    found: dict[int, Beat] = {}
    for record in history:
        if record.get("life") != 0:
            continue
        if record.kind == "beat":
            number = record["beat"]
            found[number] = Beat(number, record.t, record["end"], reach.get(number, record.t))
        elif record.kind == "beats":
            work = record["end"] - record["last_start"]
            for number, start in ((record["first"], record.t), (record["last"], record["last_start"])):
                found[number] = Beat(number, start, start + work, start + work)
    return sorted(found.values(), key=lambda beat: beat.start)


def _is_shared(path: str | None) -> bool:
    """Names that writers change: the signal's, temporaries beside it, and directories (absolute: home itself)."""
    return path is not None and path.startswith((".rules", "/"))


def landings(history: Sequence[Record]) -> dict[str, Interval]:
    """When each post that began did so, and when its writer was through, in ns."""
    found: dict[str, Interval] = {}
    for record in history:
        if record.kind == "post.begin":
            found[record["post"]] = (record.t, history[-1].t)
        elif record.kind in ("post.complete", "post.end") and record["post"] in found:
            begin, end = found[record["post"]]
            found[record["post"]] = (begin, min(end, record.t))
    return found


def longest_reach(history: Sequence[Record]) -> int:
    """How long after its start a beat could still see or undo a landing, at most, in ns."""
    return max((beat.reach - beat.start for beat in beats_of(history)), default=0)


def meets(history: Sequence[Record]) -> bool:
    """Whether a post landed, or was being written, while a beat could see or undo that."""
    beats = beats_of(history)
    return any(beat.start <= end and begin <= beat.reach for begin, end in landings(history).values() for beat in beats)


def near(play: Callable[[int], list[Record]], cadence: Cadence, width_ns: int, reach_ns: int) -> list[Interval]:
    """The places, from and up to, at which some post lands within `reach_ns` of a beat; merged, in order.

    `play(place)` plays the seed with its first beat there, from 0 to `width_ns` after the boot.
    """
    pilot = play(width_ns // 2)
    beats = beats_of(pilot)
    work = max((beat.end - beat.start for beat in beats), default=0) if cadence.mode == "fixed-delay" else 0
    found = []
    for post, (begin, end) in landings(pilot).items():
        for start in _starts(beats, begin, cadence):
            moves = (width_ns // 2 - start + shift for shift in (0, work, -work))  # by what another post gives it to do
            roughs = (_interval(begin, end, move, width_ns, reach_ns) for move in moves)
            rough = next((one for one in roughs if one is not None), None)
            if rough is not None:
                found.append(_exact(play, post, rough, width_ns, reach_ns))
    return merged(found)


def _interval(begin: int, end: int, move: int, width_ns: int, reach_ns: int) -> Interval | None:
    first, last = max(0, begin + move - reach_ns - SLACK_NS), min(width_ns, end + move + SLACK_NS)
    return (first, last) if first < last else None


def _exact(play: Callable[[int], list[Record]], post: str, rough: Interval, width_ns: int, reach_ns: int) -> Interval:
    """The interval again, by the beat that comes nearest to the landing when the first beat is in its middle."""
    for _ in range(TRIES):
        middle = sum(rough) // 2
        history = play(middle)
        beats = beats_of(history)
        if post not in landings(history) or not beats:
            break
        begin, end = landings(history)[post]
        beat = min(beats, key=lambda one: abs(one.start - (begin - reach_ns // 2)))
        better = _interval(begin, end, middle - beat.start, width_ns, reach_ns)
        if better is None:
            break
        moved, rough = abs(better[0] - rough[0]) + abs(better[1] - rough[1]), better
        if moved <= 2 * SLACK_NS or moved < (better[1] - better[0]) // 10:
            break
    return rough


def _starts(beats: Sequence[Beat], t: int, cadence: Cadence) -> list[int]:
    """Starts of the beats around `t`: the two that are known, and two beyond either."""
    delayed = cadence.mode == "fixed-delay"
    wait = cadence.elapsed if cadence.mode == "fixed-delay" else cadence.tick
    idle = min((beat.end - beat.start for beat in beats), default=0) if delayed else 0
    before, after = [beat for beat in beats if beat.start <= t][-1:], [beat for beat in beats if beat.start > t][:1]
    found: dict[int, int] = {}
    for beat in before:
        for k in range(max(0, beat.number - 2), beat.number + 1):
            found[k] = beat.start - (wait(beat.number) - wait(k)) - (beat.number - k) * idle
    for beat in after or before:
        work = beat.end - beat.start if delayed else 0
        found[beat.number] = beat.start
        for k in range(beat.number + 1, beat.number + 3):
            found[k] = beat.start + wait(k) - wait(beat.number) + work + (k - beat.number - 1) * idle
    return [found[k] for k in sorted(found)]


# --- intervals ---


def merged(intervals: Sequence[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def others(intervals: Sequence[Interval], width_ns: int) -> list[Interval]:
    """What merged intervals leave of the whole."""
    edges = [0, *(edge for interval in intervals for edge in interval), width_ns]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


def length(intervals: Sequence[Interval]) -> int:
    return sum(end - start for start, end in intervals)


def place(intervals: Sequence[Interval], share: float) -> int:
    """The place below which this share of the intervals lies. `share`: from 0 up to 1."""
    rest = int(share * length(intervals))
    for start, end in intervals:
        if rest < end - start:
            return start + rest
        rest -= end - start
    raise ValueError(f"place: got {share} of {list(intervals)}, expected a share below 1 of something")
