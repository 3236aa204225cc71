"""A finding's space-time diagram as SVG: actors as lines, operations as points, between them what the files hold.

Time goes down, one row for each step, evenly: the order tells the story, the instants stand at the left. Lanes from left
to right: the writers, `.rules`, the heartbeat, canonical, rebuilds, the prompt; so an arrow from a point to a file's bar (a
write) or back (a read) seldom crosses another lane. A bar's colour is its content's, and every change is labelled, so that
nothing hangs on colour alone. Widths are counted in characters of a monospaced font: no text overlaps another. Rejected:
time to scale, in which a race of microseconds is one point.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from fleetbeat.checks.model import Finding
from fleetbeat.explore.contents import EMPTY, NONE, START, TORN, UNKNOWN
from fleetbeat.explore.diagram import MOST_ROWS, Lane, cell, lane_of, lanes, plain_rows, short
from fleetbeat.explore.sentence import sentence_of
from fleetbeat.explore.story import CANONICAL, PROMPT, SIGNAL, Files, Row, Story, story_of
from fleetbeat.history.records import Record
from fleetbeat.report.plain import counted, cut, safe

_CHAR, _ROW, _BAR, _EDGE = 7.25, 34, 14, 24
_LONGEST_LABEL, _LONGEST_CONTENT, _MOST_WRITERS = 40, 24, 5
#: Told apart by readers with any colour vision (after Okabe and Ito, 2008).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c6d31")
_INK, _FAINT, _BAD = "#222222", "#9a9a9a", "#c1272d"
_READS = frozenset({"look", "open", "read"})


def svg(records: Sequence[Record], finding: Finding) -> str:
    """The diagram as one well-formed SVG document, with a newline at its end."""
    return drawn(story_of(records, finding, MOST_ROWS))


def drawn(story: Story) -> str:
    """The diagram of a story that was cut out already."""
    return "\n".join(_Canvas.of(story).document()) + "\n"


@dataclass(frozen=True, slots=True)
class Column:
    """A lane (`lane` set) or a file's bar (`file` set), with the x of its line or of its bar's left edge."""

    title: str
    x: float
    lane: Lane | None = None
    file: str = ""


@dataclass(slots=True)
class _Canvas:
    story: Story
    rows: tuple[Row, ...]
    columns: list[Column]
    width: float
    head: list[str]
    left: float
    colours: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, story: Story) -> _Canvas:
        rows = plain_rows(story)
        own = lanes(story, together=len(story.writers) > _MOST_WRITERS)
        columns: list[Column] = []
        left = _EDGE + 14 + _CHAR * max(8, *(len(_time(row)) for row in rows), 8)
        x = left
        for kind, item in _order(own, story):
            if isinstance(item, Lane):
                columns.append(Column(safe(item.title), x + 8, lane=item))
                widest = max([len(item.title), *(len(_label(row, item)) for row in rows if row.actor in item.actors)])
                x += min(widest, _LONGEST_LABEL) * _CHAR + 34
            else:
                states = [story.before, *(row.after for row in rows)]
                columns.append(Column(kind, x + 8, file=item))
                widest = max(len(kind), *(len(_held(one, item)) for one in states))
                x += min(widest, _LONGEST_CONTENT) * _CHAR + _BAR + 30
        width = max(x + _EDGE, 560.0)
        said = textwrap.wrap(sentence_of(story), int((width - 2 * _EDGE) / _CHAR))
        return cls(story, rows, columns, width, said, left)

    # --- the document ---

    @property
    def top(self) -> float:
        """The y of the first row."""
        return 62 + 18 * len(self.head) + 52 + (18 if self.story.left_out else 0)

    @property
    def bottom(self) -> float:
        return self.top + _ROW * len(self.rows) + 6

    def y(self, index: int) -> float:
        return self.top + _ROW * index + 18

    def document(self) -> Iterator[str]:
        finding, high = self.story.finding, self.bottom + _EDGE
        name = f"{finding.invariant} ({finding.kind}, {finding.cause})"
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{high:.0f}" '
            f'viewBox="0 0 {self.width:.0f} {high:.0f}" role="img" font-size="12" fill="{_INK}" '
            "font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\">"
        )
        yield f"<title>{_text(name)}</title>"
        yield f"<desc>{_text(' '.join(self.head))}</desc>"
        yield from _DEFINITIONS
        yield f'<rect width="{self.width:.0f}" height="{high:.0f}" fill="#ffffff"/>'
        yield _say(_EDGE, 34, name, size=15, weight="bold")
        for index, line in enumerate(self.head):
            yield _say(_EDGE, 58 + 18 * index, line)
        if self.story.left_out:
            yield _say(_EDGE, self.top - 56, f"{counted(self.story.left_out, 'earlier step')} left out", colour=_FAINT)
        yield from self._titles()
        yield from self._lifelines()
        for index, row in enumerate(self.rows):
            yield from self._arrow(index, row)
        yield from self._bars()
        for index, row in enumerate(self.rows):
            yield from self._point(index, row)
        yield "</svg>"

    def _titles(self) -> Iterator[str]:
        y = self.top - 24
        yield _say(self.left - 14, y, "time, s", anchor="end", colour=_FAINT)
        for column in self.columns:
            yield _say(column.x - 6, y, cut(column.title, _LONGEST_LABEL), weight="bold")
        yield f'<path d="M{_EDGE} {y + 8:.1f}H{self.width - _EDGE:.0f}" stroke="#dddddd"/>'

    # --- actors ---

    def _lifelines(self) -> Iterator[str]:
        for column in self.columns:
            if column.lane is not None:
                yield f'<path d="M{column.x:.1f} {self.top - 8:.1f}V{self.bottom:.1f}" stroke="#cfcfcf" stroke-width="1.5"/>'
        for first, last in self._episodes():
            x = self._column(self.rows[first]).x
            line = f"M{x:.1f} {self.y(first):.1f}V{self.y(last):.1f}"
            yield f'<path d="{line}" stroke="{_INK}" stroke-width="4" stroke-linecap="round"/>'

    def _episodes(self) -> Iterator[tuple[int, int]]:
        """The first and the last row of each episode."""
        found: dict[tuple[str, str, int], list[int]] = {}
        for index, row in enumerate(self.rows):
            if row.role in ("beat", "rebuild", "boot", "writer"):
                found.setdefault((row.actor, row.role, row.number), []).append(index)
        for indices in found.values():
            yield indices[0], indices[-1]

    def _column(self, row: Row) -> Column:
        own = [column for column in self.columns if column.lane is not None]
        return own[lane_of(row, [column.lane for column in own if column.lane is not None])]

    def _point(self, index: int, row: Row) -> Iterator[str]:
        column, y = self._column(row), self.y(index)
        bad = row.verb in ("fail", "crash", "power", "end")
        yield _say(self.left - 14, y + 4, _time(row), anchor="end", colour="#666666")
        if row.verb in ("crash", "power", "end"):
            d = f"M{column.x - 6:.1f} {y - 6:.1f}l12 12m0 -12l-12 12"
            yield f'<path d="{d}" stroke="{_BAD}" stroke-width="3"/>'
        else:
            yield f'<circle cx="{column.x:.1f}" cy="{y:.1f}" r="5" fill="{_BAD if bad else _INK}"/>'
        assert column.lane is not None
        label = cut(_label(row, column.lane), _LONGEST_LABEL)
        yield _say(column.x + 10, y - 6, label, colour=_BAD if bad else _INK)

    def _arrow(self, index: int, row: Row) -> Iterator[str]:
        """From the point to the file that was written, or from the file that was read to the point."""
        bar = next((column for column in self.columns if column.file and column.file == row.file), None)
        if bar is None or row.verb in ("log", "claim"):
            return
        x, y = self._column(row).x, self.y(index)
        edge = bar.x - 2 if bar.x > x else bar.x + _BAR + 2
        near = x + 7 if bar.x > x else x - 7
        start, end = (edge, near) if row.verb in _READS else (near, edge)
        dash = ' stroke-dasharray="3 3"' if row.verb == "look" else ""
        colour, head = (_BAD, "bad") if row.verb == "fail" else (_INK, "head")
        yield f'<path d="M{start:.1f} {y:.1f}H{end:.1f}" stroke="{colour}"{dash} marker-end="url(#{head})"/>'

    # --- files ---

    def _bars(self) -> Iterator[str]:
        for column in self.columns:
            if column.file:
                yield from self._bar(column)

    def _bar(self, column: Column) -> Iterator[str]:
        states = [self.story.before, *(row.after for row in self.rows)]
        held = [_held(one, column.file) for one in states]
        start = 0
        for index in range(1, len(held) + 1):
            if index == len(held) or held[index] != held[start]:
                top = self.top - 8 if start == 0 else self.y(start - 1)
                bottom = self.bottom if index == len(held) else self.y(index - 1)
                yield from self._piece(column, held[start], top, bottom)
                start = index

    def _piece(self, column: Column, content: str, top: float, bottom: float) -> Iterator[str]:
        x, high = column.x, bottom - top
        if content == NONE:
            yield f'<path d="M{x + _BAR / 2:.1f} {top:.1f}V{bottom:.1f}" stroke="#cfcfcf" stroke-dasharray="2 4"/>'
        else:
            fill, edge = self._colour(content), ' stroke-dasharray="3 2"' if content == EMPTY else ""
            yield (
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{_BAR}" height="{high:.1f}" fill="{fill}" '
                f'stroke="{_INK}" stroke-width="0.8"{edge}/>'
            )
        yield _say(x + _BAR + 6, top + 15, cut(content, _LONGEST_CONTENT), colour=_FAINT if content == NONE else _INK)

    def _colour(self, content: str) -> str:
        if content == EMPTY:
            return "#ffffff"
        if content == short(START):
            return "#bdbdbd"
        if content in (short(UNKNOWN), TORN) or content.startswith("part of "):
            return "url(#torn)"
        if content not in self.colours:
            self.colours[content] = _COLOURS[len(self.colours) % len(_COLOURS)]
        return self.colours[content]


def _head(name: str, colour: str) -> str:
    size = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    return f'<marker id="{name}" {size} orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'


_DEFINITIONS = (
    "<defs>",
    _head("head", _INK),
    _head("bad", _BAD),
    '<pattern id="torn" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">',
    f'<rect width="6" height="6" fill="#ffffff"/><rect width="3" height="6" fill="{_BAD}"/>',
    "</pattern>",
    "</defs>",
)


def _order(own: Sequence[Lane], story: Story) -> Iterator[tuple[str, Lane | str]]:
    """Lanes and files from left to right."""
    beat = next(index for index, lane in enumerate(own) if lane.title == f"{story.agent}/beat")
    for lane in own[:beat]:
        yield lane.title, lane
    yield ".rules", SIGNAL
    yield own[beat].title, own[beat]
    yield "canonical", CANONICAL
    for lane in own[beat + 1 :]:
        yield lane.title, lane
    yield "prompt", PROMPT


def _label(row: Row, lane: Lane) -> str:
    said = cell(row, lane)
    return f"beat {row.number}: {said}" if row.role == "beat" and row.verb == "look" else said


def _held(files: Files, name: str) -> str:
    return short({SIGNAL: files.rules, CANONICAL: files.canonical, PROMPT: files.prompt}[name])


def _time(row: Row) -> str:
    return f"{row.t / 1e9:.6f}"


def _text(said: str) -> str:
    return escape(safe(said), quote=True)


def _say(x: float, y: float, said: str, *, size: int = 12, weight: str = "", anchor: str = "", colour: str = "") -> str:
    """A line of text with a white rim, so that it stays readable on a line or an arrow."""
    style = f' font-size="{size}"' if size != 12 else ""
    style += f' font-weight="{weight}"' if weight else ""
    style += f' text-anchor="{anchor}"' if anchor else ""
    style += f' fill="{colour}"' if colour else ""
    rim = ' stroke="#ffffff" stroke-width="3" paint-order="stroke" stroke-linejoin="round"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}{rim} xml:space="preserve">{_text(said)}</text>'
