"""Wraps Switchyard, an engine with callbacks that does not know fleetbeat, as a core that can be tested.

Three things are translated: an event into the engine's signal, what the engine sends into an action of the host, and the
policies of a body into the engine's callbacks. The engine holds the invariants by its own means. Silencing and a breaker it
does not have; the options for them are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetbeat.framework.vocabulary import BEFORE, READY, Answer, Event, Host, Options
from fleetbeat.protocol.folders import load_module

HERE = Path(__file__).resolve().parent
engine: Any = load_module(HERE / "engine.py")
policies: Any = load_module(HERE.parent / "reference" / "policies.py")
GUARDS = ("rm-rf",)
RULING = {"allow": engine.PASS, "ask": engine.CONFIRM, "deny": engine.BLOCK}
ANSWER: dict[int, Answer] = {engine.PASS: "allow", engine.CONFIRM: "ask", engine.BLOCK: "deny"}
KINDS = {policies.NOTIFY: engine.ALERT, policies.INJECT: engine.HINT, policies.PREPARE: engine.JOB}
ACTIONS = {kind: action for action, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Ask:
    """A gate as the engine's inspector: the host asks it."""

    gate: str
    host: Host
    timeout_ns: int

    def __call__(self, signal: Any) -> int:
        return int(RULING[self.host.judge(self.gate, signal.payload, self.timeout_ns)])


@dataclass(frozen=True, slots=True)
class React:
    """An observer as the engine's listener. `sessions`: what was counted of each."""

    observer: Any
    sessions: Mapping[str, Mapping[str, int]]

    def __call__(self, signal: Any) -> Any:
        if not self.observer.condition.fits(signal.payload, self.sessions.get(signal.thread, {})):
            return None
        return engine.Reaction(KINDS[self.observer.action], self.observer.argument)


class Plugin:
    def __init__(self, host: Host, options: Options) -> None:
        self.host = host
        self.options = options
        self.text: str | None = None
        self.gates: tuple[str, ...] = ()
        self.sessions: dict[str, dict[str, int]] = {}
        self.yard = engine.Switchyard(self.send, self.journal, done=READY, inspected=BEFORE)
        for gate in GUARDS:
            self.yard.inspector(gate, self.inspector(gate))

    def inspector(self, gate: str) -> Ask:
        return Ask(gate, self.host, self.options.gate_timeout_ns)

    # --- what the host tells ---

    def boot(self, ledger: Sequence[Mapping[str, Any]]) -> None:
        for entry in ledger:
            if "yard" in entry:
                self.yard.restore(entry["yard"])
            elif "text" in entry:
                self.take(entry["text"])
            else:
                self.count(entry["session"], entry["count"])

    def rules(self, text: str | None) -> None:
        if text == self.text:
            return
        try:
            self.take(text)
        except policies.Malformed as error:
            self.host.log("policies_malformed", reason=str(error))
        else:
            self.host.append({"text": text})

    def take(self, text: str | None) -> None:
        gates, observers = policies.read(text, self.host.yaml)
        for gate in self.gates:
            self.yard.dismiss(gate)
        self.gates = tuple(gate.id for gate in gates if gate.id not in GUARDS)
        for gate in self.gates:
            self.yard.inspector(gate, self.inspector(gate))
        self.yard.silence()
        for observer in observers:
            self.yard.listen(observer.on, React(observer, self.sessions), observer.id, observer.cooldown_ns / 1e9)
        self.text = text

    def handle(self, event: Event) -> Answer | None:
        signal = engine.Signal(event.id, event.type, event.session, event.cause, event.t / 1e9, event)
        ruling = self.yard.dispatch(signal)
        answer = event.fields.get("answer") if event.type == "answer" else None
        name = policies.COUNTED.get(event.type) or policies.ANSWERED.get(answer)
        if name is not None:
            self.count(event.session, name)
            self.host.append({"session": event.session, "count": name})
        return ANSWER[ruling] if event.type == BEFORE else None

    # --- what the engine asks for ---

    def send(self, kind: str, name: str, body: Any) -> int:
        return int(getattr(self.host, ACTIONS[kind])(name, body))

    def journal(self, entry: Mapping[str, Any]) -> None:
        self.host.append({"yard": entry})

    def count(self, session: str, name: str) -> None:
        counts = self.sessions.setdefault(session, {})
        counts[name] = counts.get(name, 0) + 1


CORE = Plugin
