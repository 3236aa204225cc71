"""Mistakes in an input, each with where it stands, what is there, and what was expected. All are told at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Where:
    """A place in an input: line and column from 1, or line 0 for the input as a whole or a `--set` (`name` says which).

    `covers` is the path that the name says already, so that a message does not say it twice.
    """

    name: str
    line: int = 0
    column: int = 0
    covers: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}" if self.line else self.name


@dataclass(frozen=True, slots=True)
class Mistake:
    """Prints as `file:line:col: path: got X, expected Y (did you mean 'Z'?)`; no `path`: the input as a whole."""

    where: Where
    path: str
    got: str
    expected: str
    meant: str | None = None

    def __str__(self) -> str:
        start = f"{self.where}: {self.path}: " if self.path and self.path != self.where.covers else f"{self.where}: "
        end = f" (did you mean '{self.meant}'?)" if self.meant else ""
        return _on_one_line(f"{start}got {self.got}, expected {self.expected}{end}")


class ScenarioError(Exception):
    """An input that cannot be used. `mistakes` holds all of them, sorted by position; the text has one a line."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        unique = dict.fromkeys(mistakes)
        self.mistakes = tuple(sorted(unique, key=lambda m: (m.where.line == 0, m.where.line, m.where.column)))
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be: at most a third of it mistyped. None if none is near.

    Of equally near words the one of the same length wins, then the first.
    """
    if not 1 < len(word) <= 80:
        return None
    best: tuple[tuple[int, int], str] | None = None
    for name in known:
        allowed = max(1, max(len(word), len(name)) // 3)
        if name == word or abs(len(name) - len(word)) > allowed:
            continue
        distance = _typing_errors(word.lower(), name.lower())
        score = (distance, abs(len(name) - len(word)))
        if distance <= allowed and (best is None or score < best[0]):
            best = (score, name)
    return best[1] if best else None


def _typing_errors(a: str, b: str) -> int:
    """The least number of letters inserted, left out, replaced or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        earlier, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _on_one_line(text: str) -> str:
    """With control characters escaped, which names of files and keys may hold."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def quoted(text: str, limit: int = 60) -> str:
    """A text as it is shown in a message: on one line, in quotes, cut if long."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def listed(words: Iterable[str], limit: int = 20) -> str:
    """`a, b or c`; beyond `limit` words, how many more there are."""
    names = list(words)
    if len(names) > limit:
        return f"{', '.join(names[:limit])} or {len(names) - limit} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}" if names else "nothing"
