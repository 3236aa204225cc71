"""Further wrong cores, subtler than those of the library, each a small change to the reference core; and odd right ones.

`CHAINS` and `GUARD`: by the invariant that they break; `DOUBTFUL`: what they break no cause shows; `RIGHT`; and one that is
neither, since nothing can come of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetbeat.framework.vocabulary import Answer, Event, GateFailed, GateSlow, Host, Options
from fleetbeat.protocol.folders import load_module
from fleetbeat.scenario.library import find_core

reference: Any = load_module(find_core("reference") / "core.py")
Reference: Any = reference.Reference
S = 1_000_000_000


class Fresh(Reference):
    """Some events start a fresh chain, whatever they followed from."""

    def is_fresh(self, event: Event) -> bool:
        return event.cause is not None and self.marks.get(event.cause) is None

    def link(self, event: Event) -> Any:
        return (reference.Chain(event.id, "user"), 0) if self.is_fresh(event) else super().link(event)


class ForgetsSoon(Fresh):
    """Marks are forgotten after a thousand events, and what it does not know is the user's."""

    def __init__(self, host: Host, options: Options) -> None:
        super().__init__(host, options)
        self.marks = reference.Recent(500)


class RulesForgetMarks(Reference):
    """Marks are lost when the rules are replaced between a Prepare and its ready."""

    def take(self, text: str | None) -> Any:
        for some in (self.marks.new, self.marks.old):
            for chain, _ in some.values():
                chain.kind = ""
        return super().take(text)


class SubtasksAreUsers(Fresh):
    def is_fresh(self, event: Event) -> bool:
        return bool(event.fields.get("subtask"))


class RepliesAreUsers(Fresh):
    def is_fresh(self, event: Event) -> bool:
        return event.type == "reply"


class FilesAreUsers(Fresh):
    def is_fresh(self, event: Event) -> bool:
        return event.type == "file.changed"


class NotifiesOfTaskCalls(Reference):
    """One Notify, but from a task's own call."""

    def within_one_hop(self, event: Event, chain: Any, hops: int) -> bool:
        return hops <= 1


class NotifiesFarFromInject(Reference):
    def within_one_hop(self, event: Event, chain: Any, hops: int) -> bool:
        return chain.kind == "inject" or bool(super().within_one_hop(event, chain, hops))


class FarIsFree(Reference):
    """A limit of depth in the wrong direction: what is far from the beginning is nobody's any more."""

    def allow_action(self, event: Event, action: str) -> bool:
        return self.marks.get(event.id)[1] >= 3 or bool(super().allow_action(event, action))


class OnceForEachObserver(Reference):
    """One Notify for each observer, not for each chain."""

    def __init__(self, host: Host, options: Options) -> None:
        super().__init__(host, options)
        self.did: set[tuple[int, str]] = set()

    def allow_action(self, event: Event, action: str) -> bool:
        chain, hops = self.marks.get(event.id)
        return not chain.kind or (action == "notify" and bool(self.within_one_hop(event, chain, hops)))

    def run(self, observer: Any, event: Event) -> None:
        key = (self.marks.get(event.id)[0].start, observer.id)
        if key not in self.did:
            self.did.add(key)
            super().run(observer, event)


class EmissionWashes(Reference):
    """The result of a task is told again as an ordinary event, fresh."""

    def handle(self, event: Event) -> Answer | None:
        answer: Answer | None = super().handle(event)
        if event.type == "ready":
            number = self.host.emit("prompt", {"text": "look"}, origin="user")
            self.marks.put(number, (reference.Chain(number, "user"), 0))
        return answer


class FoldsEventsAlone(Fresh):
    """At boot it folds its ledger's events and passes the actions over."""

    def replay(self, entry: Mapping[str, Any], chains: dict[int, Any]) -> None:
        if entry["what"] not in ("prepare", "inject", "notify"):
            super().replay(entry, chains)


class SkipsSubtasks(Reference):
    def judge(self, event: Event) -> Answer:
        return "allow" if event.fields["subtask"] else super().judge(event)


class KeepsOldGates(Reference):
    """The gates of the first body stay, and those of later ones do not come."""

    def take(self, text: str | None) -> Any:
        old = self.gates
        gates = super().take(text)
        self.gates = old if len(old) > 1 else self.gates
        return gates


class IgnoresAnswers(Reference):
    def judge(self, event: Event) -> Answer:
        super().judge(event)
        return "allow"


class MalformedDropsGates(Reference):
    def rules(self, text: str | None) -> None:
        super().rules(text)
        self.gates = self.gates if text == self.text else reference.GUARDS


class LosesPoliciesAtRestart(Reference):
    """Shows only where a malformed body is there at the restart."""

    def replay(self, entry: Mapping[str, Any], chains: dict[int, Any]) -> None:
        if entry["what"] != "policies":
            super().replay(entry, chains)


class BlankDropsGuards(Reference):
    def in_force(self, gates: Sequence[Any]) -> Any:
        return super().in_force(gates) if gates else ()


class NoGuardsBeforeRules(Reference):
    def judge(self, event: Event) -> Answer:
        return "allow" if self.text is None else super().judge(event)


class RemembersApproval(Reference):
    """A command that was approved once is not asked about again."""

    def __init__(self, host: Host, options: Options) -> None:
        super().__init__(host, options)
        self.asked: dict[int, str] = {}
        self.approved: set[str] = set()

    def judge(self, event: Event) -> Answer:
        command = event.fields["command"]
        self.asked[event.id] = command
        return "allow" if command in self.approved else super().judge(event)

    def handle(self, event: Event) -> Answer | None:
        if event.type == "answer" and event.fields["answer"] == "approve":
            self.approved.add(self.asked[event.fields["call"]])
        answer: Answer | None = super().handle(event)
        return answer


class TiresUnderLoad(Reference):
    """More than forty events in a second: gates are passed over."""

    def __init__(self, host: Host, options: Options) -> None:
        super().__init__(host, options)
        self.lately: list[int] = []

    def handle(self, event: Event) -> Answer | None:
        self.lately = [t for t in self.lately[-40:] if event.t - t < S] + [event.t]
        answer: Answer | None = super().handle(event)
        return answer

    def judge(self, event: Event) -> Answer:
        return "allow" if len(self.lately) > 40 else super().judge(event)


class GatesOffOnChains(Reference):
    """It takes gates for actions of rules: on the framework's own chain there are none."""

    def judge(self, event: Event) -> Answer:
        return "allow" if self.marks.get(event.id)[0].kind else super().judge(event)


class SilenceSpillsOver(Reference):
    """While any observer is silenced, gates are."""

    def judge(self, event: Event) -> Answer:
        is_quiet = any(one.silenced_until > event.t for one in self.standing.values())
        return "allow" if is_quiet else super().judge(event)


class FirstWordWins(Reference):
    """The first gate that does not allow decides, also where a later one denies."""

    def judge(self, event: Event) -> Answer:
        return next((said for gate in self.gates if (said := self.ask(gate, event)) != "allow"), "allow")


class ForgesApprovals(Reference):
    """It tells itself that the user approved."""

    def handle(self, event: Event) -> Answer | None:
        answer: Answer | None = super().handle(event)
        if answer == "ask":
            self.host.emit("answer", {"call": event.id, "answer": "approve"}, origin="user")
            return "allow"
        return answer


class PutsOff(Reference):
    """What may not be done now is done at the user's next prompt. The harness saw it done with that prompt in hand: by
    causes it is the prompt's."""

    def __init__(self, host: Host, options: Options) -> None:
        super().__init__(host, options)
        self.later: list[Any] = []

    def run(self, observer: Any, event: Event) -> None:
        if observer.action == "prepare" and not self.allow_action(event, observer.action):
            self.later = [observer]
        else:
            super().run(observer, event)

    def handle(self, event: Event) -> Answer | None:
        answer: Answer | None = super().handle(event)
        if event.type == "prompt" and self.later:
            self.act(self.later.pop(), event, self.host.now_ns)
        return answer


class PutsOffToRules(Reference):
    """What may not be done now is done when rules come next, with no event in hand at all."""

    def __init__(self, host: Host, options: Options) -> None:
        super().__init__(host, options)
        self.later: list[Any] = []

    def run(self, observer: Any, event: Event) -> None:
        if observer.action == "prepare" and not self.allow_action(event, observer.action):
            self.later.append(observer)
        else:
            super().run(observer, event)

    def rules(self, text: str | None) -> None:
        super().rules(text)
        for observer in self.later:
            self.host.prepare(observer.id, observer.argument)
        self.later = []


class SkipsBackgroundTasks(Reference):
    """Background tasks only read: none of their calls is dangerous, so that nothing runs that should not."""

    def judge(self, event: Event) -> Answer:
        return "allow" if event.session.endswith("/task") else super().judge(event)


class AsksMore(Reference):
    """Asks the gates of former bodies as well, each twice if it fails, and the user about whatever they let through."""

    def in_force(self, gates: Sequence[Any]) -> Any:
        return tuple(dict.fromkeys((*self.gates, *super().in_force(gates))))

    def ask(self, gate: str, event: Event) -> Answer:
        try:
            return self.host.judge(gate, event, self.options.gate_timeout_ns)
        except (GateFailed, GateSlow):
            return super().ask(gate, event)

    def judge(self, event: Event) -> Answer:
        answer: Answer = super().judge(event)
        return "ask" if answer == "allow" else answer


class Stumbles(Reference):
    """Raises now and then, before it did anything or after."""

    def handle(self, event: Event) -> Answer | None:
        if event.id % 7 == 3:
            raise RuntimeError("bad luck")
        answer: Answer | None = super().handle(event)
        if event.id % 11 == 5:
            raise RuntimeError("bad luck")
        return answer


CHAINS: tuple[Any, ...] = (
    ForgetsSoon, RulesForgetMarks, SubtasksAreUsers, RepliesAreUsers, FilesAreUsers, NotifiesOfTaskCalls,
    NotifiesFarFromInject, FarIsFree, OnceForEachObserver, EmissionWashes, FoldsEventsAlone,
)  # fmt: skip
GUARD: tuple[Any, ...] = (
    SkipsSubtasks, KeepsOldGates, IgnoresAnswers, MalformedDropsGates, LosesPoliciesAtRestart, BlankDropsGuards,
    NoGuardsBeforeRules, RemembersApproval, TiresUnderLoad, GatesOffOnChains, SilenceSpillsOver, FirstWordWins,
    ForgesApprovals,
)  # fmt: skip
RIGHT: tuple[Any, ...] = (AsksMore, Stumbles, SkipsBackgroundTasks)
DOUBTFUL: tuple[Any, ...] = (PutsOff, PutsOffToRules)
