"""A finding's space-time diagram as text: actors as columns, time downwards, and what the three files hold beside them.

     time, s op:v2/a-0         a-0/beat       | .rules canonical prompt
    6.100100 rename to .rules  .              | v2
    6.200260 .                 unlink .rules  | none

At most a hundred columns wide and `MOST_ROWS` rows long; how much was left out is said. Several writers share a column
where they would not fit. The story decides what is shown; this module only draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleetbeat.checks.model import Finding
from fleetbeat.explore.contents import NONE, START, UNKNOWN
from fleetbeat.explore.sentence import sentence_of
from fleetbeat.explore.story import CANONICAL, PROMPT, SIGNAL, Files, Row, Story, story_of
from fleetbeat.history.records import Record
from fleetbeat.report.plain import WIDTH, counted, cut, item, safe

if TYPE_CHECKING:
    from fleetbeat.explore.case import Case
    from fleetbeat.explore.reason import Programs

MOST_ROWS = 40
_NARROWEST, _WIDEST_FILE = 10, 13
_FILES = {SIGNAL: ".rules", CANONICAL: "canonical", PROMPT: "prompt"}
_LABELS = {
    "look": "looks at {file}",
    "open": "open {file}",
    "read": "read {file}",
    "post": "rename to {file}",
    "begin": "open {file} to write",
    "write": "write {file}",
    "take": "unlink {file}",
    "move": "move {file}",
    "truncate": "truncate {file}",
    "flush": "write {file}",
    "log": "log {content}",
    "fail": "{error}: {content} {file}",
    "crash": "** crash **",
    "power": "** power lost **",
    "start": "starts again",
    "end": "** heartbeat ends **",
    "claim": 'says "done"',
}
#: Contents that a column of thirteen characters has no room for.
_SHORT = {START: "start", UNKNOWN: "unknown"}
#: What a row shows of its content besides its label: reads alone, as the columns of files show what writes left.
_SHOWS = frozenset({"read"})


@dataclass(frozen=True, slots=True)
class Lane:
    """A column of the diagram. `title` as shown; `actors` that it stands for."""

    title: str
    actors: tuple[str, ...]


def text(records: Sequence[Record], finding: Finding) -> str:
    """The diagram, with a newline at its end."""
    return drawn(story_of(records, finding, MOST_ROWS))


def drawn(story: Story) -> str:
    """The diagram of a story that was cut out already."""
    return "\n".join(line.rstrip() for line in _lines(story)) + "\n"


def label(row: Row) -> str:
    """What was done, in a few words."""
    said = _LABELS[row.verb].format(file=_FILES.get(row.file, row.file), content=row.content, error=row.error)
    if row.verb in _SHOWS:
        said += f": {short(row.content)}"
    if row.verb == "fail" and row.effect in ("partial", "after"):
        said += " (half done)" if row.effect == "partial" else " (but done)"
    return safe(said)


def short(content: str) -> str:
    """A content as a diagram names it."""
    return safe(_SHORT.get(content, content))


def plain_rows(story: Story) -> tuple[Row, ...]:
    """Without what only repeats: an open right before its read, a truncation right before its write, looking twice."""
    kept: list[Row] = []
    for index, row in enumerate(story.rows):
        following = story.rows[index + 1] if index + 1 < len(story.rows) else None
        same = following is not None and (following.actor, following.file) == (row.actor, row.file)
        if same and following is not None and (row.verb, following.verb) in (("open", "read"), ("truncate", "write")):
            continue
        if same and following is not None and following.verb == "fail" and following.t == row.t:
            continue
        if row.verb == "log" and row.content == "rules_loaded" and story.finding.invariant != "one-log-each":
            continue
        if row.verb == "read" and row.file == CANONICAL and row.role == "beat":
            continue
        kept.append(row)
    return tuple(kept)


def lanes(story: Story, together: bool) -> tuple[Lane, ...]:
    """Columns: each writer, or one for all of them; the heartbeat, with the process's death; rebuilds if there are any."""
    own = [Lane(f"{story.agent}/beat", (f"{story.agent}/beat", story.agent))]
    if any(row.actor == f"{story.agent}/rebuild" for row in story.rows):
        own.append(Lane(f"{story.agent}/rebuild", (f"{story.agent}/rebuild",)))
    writers = [Lane(actor, (actor,)) for actor in story.writers]
    if together and len(writers) > 1:
        writers = [Lane(counted(len(writers), "writer"), story.writers)]
    return (*writers, *own)


def lane_of(row: Row, columns: Sequence[Lane]) -> int:
    """The index of the lane in which a row happens."""
    return next((i for i, lane in enumerate(columns) if row.actor in lane.actors), len(columns) - 1)


def cell(row: Row, lane: Lane) -> str:
    """A row's label in its lane, with the version where several writers share the lane."""
    several = row.role == "writer" and len(lane.actors) > 1 and row.content
    return f"{short(row.content)}: {label(row)}" if several else label(row)


def _tight(cell: str) -> str:
    """A label for lanes that are too narrow for it."""
    return cell.replace("canonical", "canon")


def _lines(story: Story) -> Iterator[str]:
    rows = plain_rows(story)
    states = [story.before, *(row.after for row in rows)]
    files = [
        min(_WIDEST_FILE, max(len(title), *(len(_held(one, name)) for one in states))) + 1
        for name, title in _FILES.items()
    ]
    time = max(len("time, s"), *(len(_time(row)) for row in rows), 0) + 1
    room = WIDTH - time - sum(files) - 2
    columns = lanes(story, together=False)
    if sum(_needs(rows, columns)) > room:
        columns = lanes(story, together=True)
    fits = sum(_needs(rows, columns)) <= room
    wide = _fitted(_needs(rows, columns, tight=not fits), room)
    finding = story.finding
    yield cut(safe(f"{finding.invariant} ({finding.kind}, {finding.cause})"), WIDTH)
    yield item(sentence_of(story), "  ")
    yield ""
    names = [safe(lane.title) for lane in columns]
    yield _line("time, s".rjust(time - 1), names, list(_FILES.values()), wide, files)
    if story.left_out:
        yield f"{'':{time}}... {counted(story.left_out, 'earlier step')} left out"
    yield _line(" " * (time - 1), [""] * len(columns), [_held(story.before, name) for name in _FILES], wide, files)
    before = story.before
    for row in rows:
        index = lane_of(row, columns)
        cells = ["."] * len(columns)
        cells[index] = cell(row, columns[index]) if fits else _tight(cell(row, columns[index]))
        held = [_change(before, row.after, name) for name in _FILES]
        yield _line(_time(row).rjust(time - 1), cells, held, wide, files)
        before = row.after


def _time(row: Row) -> str:
    return f"{row.t / 1e9:.6f}"


def _needs(rows: Sequence[Row], columns: Sequence[Lane], tight: bool = False) -> list[int]:
    """The width of each lane with its labels uncut."""
    widths = [len(lane.title) + 2 for lane in columns]
    for row in rows:
        index = lane_of(row, columns)
        said = cell(row, columns[index])
        widths[index] = max(widths[index], len(_tight(said) if tight else said) + 2)
    return widths


def _fitted(widths: list[int], room: int) -> list[int]:
    """Widths that fit: the widest lanes give way first."""
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _line(time: str, cells: Sequence[str], held: Sequence[str], wide: Sequence[int], files: Sequence[int]) -> str:
    shown = "".join(cut(text, width - 1).ljust(width) for text, width in zip(cells, wide, strict=True))
    contents = "".join(cut(text, width - 1).ljust(width) for text, width in zip(held, files, strict=True))
    return f"{time} {shown}| {contents}"


def _change(before: Files, after: Files, name: str) -> str:
    """What a file holds now; a mark where it holds the same as before, nothing where there is none."""
    now = _held(after, name)
    if now != _held(before, name):
        return now
    return "" if now == NONE else '"'


def _held(files: Files, name: str) -> str:
    return short({SIGNAL: files.rules, CANONICAL: files.canonical, PROMPT: files.prompt}[name])


def text_of(case: Case, programs: Programs | None = None) -> str:
    """The diagram of a case, which is played for it; "" if it does not break any more."""
    return _of(case, programs, text)


def svg_of(case: Case, programs: Programs | None = None) -> str:
    """As `text_of`, as SVG."""
    from fleetbeat.explore.diagram_svg import svg

    return _of(case, programs, svg)


def _of(case: Case, programs: Programs | None, draw: Callable[[Sequence[Record], Finding], str]) -> str:
    from fleetbeat.explore.case import replay

    played = replay(case, programs)
    return "" if played.finding is None else draw(played.records, played.finding)
