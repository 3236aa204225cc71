"""The cooldown of a gate is kept: one that asked or denied is not asked again until it is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleetbeat.framework.vocabulary import Answer, Event, Host, Options
from fleetbeat.protocol.folders import core_of

Reference: Any = core_of("../../reference", __file__).Reference


class CoolsGates(Reference):
    def __init__(self, host: Host, options: Options) -> None:
        self.cooldowns: dict[str, int] = {}
        self.fired: dict[str, int] = {}
        super().__init__(host, options)

    def in_force(self, gates: Sequence[Any]) -> Any:
        self.cooldowns = {gate.id: gate.cooldown_ns for gate in gates}
        return super().in_force(gates)

    def ask(self, gate: str, event: Event) -> Answer:
        last = self.fired.get(gate)
        if last is not None and event.t - last < self.cooldowns.get(gate, 0):
            return "allow"
        answer: Answer = super().ask(gate, event)
        if answer != "allow":
            self.fired[gate] = event.t
        return answer


CORE = CoolsGates
