"""The gates of a rules body take the place of those that are built in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleetbeat.protocol.folders import core_of

Reference: Any = core_of("../../reference", __file__).Reference


class BodyRemovesGuard(Reference):
    def in_force(self, gates: Sequence[Any]) -> Any:
        return tuple(gate.id for gate in gates) or super().in_force(gates)


CORE = BodyRemovesGuard
