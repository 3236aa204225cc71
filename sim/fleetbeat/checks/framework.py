"""The two checks of the event framework over a stream of records, in one pass: memory does not grow with the history.

`World` runs one without a window for histories that are in memory anyhow. Rejected: indexing the framework's records as
`World` does the signal's, which takes a kilobyte for each of a million events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleetbeat.checks.calls import Told
from fleetbeat.checks.guard_not_silenced import INVARIANT as GUARD
from fleetbeat.checks.guard_not_silenced import Guarding
from fleetbeat.checks.model import Invariant, Outcome, Verdict
from fleetbeat.checks.no_self_trigger import INVARIANT as CHAINS
from fleetbeat.checks.no_self_trigger import SelfTrigger

if TYPE_CHECKING:
    from fleetbeat.checks.kept import Kept
    from fleetbeat.history.records import Record

#: Kinds of records that say something of the framework, `unseen` aside, which says it of the signal as well.
FRAMEWORK = frozenset(
    ("workload", "policies", "core.begin", "core.rules", "event", "judged", "verdict", "ran", "action")
)
#: How an `unseen` record begins that leaves the gates in force unknown.
UNSEEN_RULES = "the text of its rules"
#: Events and actions that are remembered when nothing else is said.
WINDOW = 262_144


class Streamed:
    """Both checks. `feed` takes the records of a history in order, the signal's among them; `verdicts` may be asked for at
    any time. `window`: of how many events and actions the causes are known; None: of all."""

    def __init__(self, window: int | None = WINDOW) -> None:
        self.self_trigger = SelfTrigger(window)
        self.guarding = Guarding(self.self_trigger.chains, window)
        self._readers = {
            "event": self._event,
            "action": self._action,
            "judged": self._judged,
            "verdict": self._verdict,
            "ran": self._ran,
            "core.rules": self._rules,
            "core.begin": self._begin,
            "workload": self._workload,
            "policies": self._policies,
            "unseen": self._unseen,
        }

    def feed(self, record: Record) -> None:
        reader = self._readers.get(record.kind)
        if reader is not None:
            reader(record)

    def verdicts(self) -> tuple[Verdict, Verdict]:
        """no-self-trigger and guard-not-silenced, of what was fed so far."""
        chains, guards = self.self_trigger, self.guarding
        return (
            _verdict(CHAINS, chains.kept, chains.chains.begun, chains.missing()),
            _verdict(GUARD, guards.kept, guards.examined, guards.missing()),
        )

    def _event(self, record: Record) -> None:
        fields = record.fields
        agent, id, what, session = fields["agent"], fields["id"], fields["type"], fields["session"]
        self.self_trigger.event(agent, id, record.t, what, session, fields.get("cause"))
        if fields.get("dangerous"):
            self.guarding.before(agent, id, record.t, Told(what, fields["origin"], session, fields["fields"]))
        elif what == "answer" and fields.get("cause") is None:  # one that the core emits is not the user's
            told = fields["fields"]
            if isinstance(call := told.get("call"), int):
                self.guarding.answered(agent, call, str(told.get("answer")))

    def _action(self, record: Record) -> None:
        one = record.fields
        action, policy, session = one["action"], one["policy"], one["session"]
        self.self_trigger.action(one["agent"], one["id"], record.t, action, policy, session, one.get("cause"))

    def _judged(self, record: Record) -> None:
        one = record.fields
        self.guarding.judged(one["agent"], one["call"], one["gate"], one["answer"])

    def _verdict(self, record: Record) -> None:
        one = record.fields
        self.guarding.verdict(one["agent"], one["call"], record.t, one.get("verdict"))

    def _ran(self, record: Record) -> None:
        self.guarding.ran(record.fields["agent"], record.fields["call"], record.t)

    def _rules(self, record: Record) -> None:
        self.guarding.rules(record["agent"], record.get("norm"), record["malformed"])
        self.self_trigger.put_off.rules(record["agent"], record.get("norm"), record["malformed"])

    def _begin(self, record: Record) -> None:
        self.guarding.began(record["agent"])

    def _workload(self, record: Record) -> None:
        self.guarding.guards(record["guards"])

    def _policies(self, record: Record) -> None:
        if record.get("error") is None:
            self.guarding.policies(record["norm"], record["gates"])
            self.self_trigger.put_off.policies(record["norm"], record.get("observers") or ())

    def _unseen(self, record: Record) -> None:
        if record.get("agent") is not None and record["missing"].startswith(UNSEEN_RULES):
            self.guarding.unseen(record["agent"], record["missing"])
            self.self_trigger.put_off.rules(record["agent"], None)


def _verdict(invariant: Invariant, kept: Kept, examined: int, missing: str | None) -> Verdict:
    findings = kept.findings()
    outcome: Outcome = "broken" if findings else "unknown" if missing is not None else "held"
    reason = missing or ""
    return Verdict(invariant.id, invariant.promise, outcome, findings, examined, reason, kept.more)
