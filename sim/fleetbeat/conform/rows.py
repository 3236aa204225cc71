"""The rows of the conformance suite, in the order of PROTOCOL's table."""

from __future__ import annotations

from fleetbeat.conform import rows_canonical, rows_lives, rows_signal
from fleetbeat.conform.row import Row

ROWS: tuple[Row, ...] = (*rows_signal.ROWS, *rows_canonical.ROWS, *rows_lives.ROWS)
