"""The ledger of a sweep: which runs are finished, with what they came to and what is kept of them, in one SQLite file.

A batch is one transaction, on the disk before the next is asked for: after kill -9 or a full disk every run is in it whole
or not at all, and none is in it twice (its key is the cell and the seed). One process at a time may hold it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fleetbeat.sweep.execute import Row

FILE = "ledger.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS plan (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
    cell INTEGER, seed TEXT, verdict TEXT NOT NULL, metrics TEXT NOT NULL, PRIMARY KEY (cell, seed)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept (cell INTEGER, seed TEXT, pack BLOB NOT NULL, UNIQUE (cell, seed));
CREATE TABLE IF NOT EXISTS rates (
    cell INTEGER, fate TEXT, runs INTEGER, found TEXT NOT NULL, PRIMARY KEY (cell, fate, runs)) WITHOUT ROWID;
"""


class LedgerError(Exception):
    """A directory that holds no sweep, or another one; the message says what was got and what was expected."""


class LedgerFull(Exception):
    """The system refuses to write the ledger. What was finished before is in it."""


class Ledger:
    """A context. `folder` None: kept in memory, for a sweep that is only shown.

    `plan`: words that tell a sweep from another, most telling first. Raises LedgerError if the ledger there has another
    plan or is in use, LedgerFull where it cannot be written.
    """

    def __init__(self, folder: Path | None, plan: Mapping[str, str]) -> None:
        self.where = "ledger" if folder is None else str(folder)
        self.connection = sqlite3.connect(":memory:" if folder is None else folder / FILE, timeout=0)
        try:
            self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self.connection.execute("BEGIN EXCLUSIVE")
            self.connection.commit()
            self.connection.executescript(_TABLES)
            self._agree(plan)
        except sqlite3.OperationalError as error:
            self.connection.close()
            if "locked" in str(error):
                raise LedgerError(f"{self.where}: got a sweep that is being played, expected it to be over") from error
            raise LedgerFull(f"{self.where}: got {error}, expected to be able to write there") from error
        except sqlite3.DatabaseError as error:
            self.connection.close()
            raise LedgerError(
                f"{self.where}: got a {FILE} that is none ({error}), expected a sweep's ledger"
            ) from error
        except BaseException:
            self.connection.close()
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def _agree(self, plan: Mapping[str, str]) -> None:
        known = dict(self.connection.execute("SELECT name, value FROM plan"))
        if not known:
            with self.connection:
                self.connection.executemany("INSERT INTO plan VALUES (?, ?)", plan.items())
            return
        for name, value in plan.items():
            if known.get(name) != value:
                raise LedgerError(
                    f"{self.where}: got a sweep whose {name} is {known.get(name, 'not known')}, expected {value}"
                )

    def keep(self, rows: Sequence[Row]) -> None:
        """Write finished runs, all or none. Raises LedgerFull, and sqlite3.IntegrityError for a run that is in it."""
        lines = [(row.cell, str(row.seed), row.verdict, json.dumps(row.metrics)) for row in rows]
        packs = [(row.cell, str(row.seed), row.kept) for row in rows if row.kept is not None]
        with self._written():
            self.connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?)", lines)
            self.connection.executemany("INSERT INTO kept VALUES (?, ?, ?)", packs)

    def keep_rate(self, cell: int, fate: str, runs: int, found: str) -> None:
        """Write how often posts of a cell meet a fate, found by about so many runs; `found`: its text. Raises LedgerFull."""
        with self._written():
            self.connection.execute("INSERT INTO rates VALUES (?, ?, ?, ?)", (cell, fate, runs, found))

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            with self.connection:
                yield
        except sqlite3.OperationalError as error:
            raise LedgerFull(f"{self.where}: got {error}, expected to be able to write there") from error

    def rates(self) -> dict[tuple[int, str, int], str]:
        """The texts of `keep_rate` by cell, fate and runs."""
        lines = self.connection.execute("SELECT cell, fate, runs, found FROM rates").fetchall()
        return {(cell, fate, runs): found for cell, fate, runs, found in lines}

    def packs(self, keys: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, bytes]]:
        """Cell, seed and pack of these runs, in their order, one at a time; those of which none is kept are left out."""
        for cell, seed in keys:
            asked = "SELECT pack FROM kept WHERE cell = ? AND seed = ?"
            for (pack,) in self.connection.execute(asked, (cell, str(seed))):
                yield cell, seed, pack

    def finished(self) -> dict[tuple[int, int], Row]:
        """All finished runs by cell and seed, sorted so, whatever the order in which they came."""
        lines = self.connection.execute("SELECT cell, seed, verdict, metrics FROM runs").fetchall()
        rows = [Row(cell, int(seed), verdict, json.loads(metrics)) for cell, seed, verdict, metrics in lines]
        return {(row.cell, row.seed): row for row in sorted(rows, key=lambda row: (row.cell, row.seed))}
