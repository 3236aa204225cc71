"""A report of the hand-made history, and one in which every text that an agent or scenario controls is hostile."""

from __future__ import annotations

from collections.abc import Sequence

from tests.history.hand import V2, S, agent, body, claim, end, fault, log, plan, rec, rollout, run_record, small

from fleetbeat.checks.model import Finding, Judgement, PostFate, Verdict
from fleetbeat.history.records import Record
from fleetbeat.metrics import measure
from fleetbeat.report.data import Report, Ruling, Threshold, build

REPLAY = "fleetbeat run by-hand"
THRESHOLDS = (
    Threshold("converge v2", False, "got 50 % after 10s, expected 100 %"),
    Threshold("sometimes stuck", None, "never reached"),
    Threshold("lag p99", True, "got 2.00s, expected below 3s"),
)
RULING = Ruling(1, "broken", ("no-silent-loss broke",), ("no-silent-loss",), THRESHOLDS)


def made(records: Sequence[Record], judgement: Judgement, ruling: Ruling = RULING, replay: str = REPLAY) -> Report:
    return build(records, judgement, measure(records, judgement), ruling, replay)


def report(ruling: Ruling = RULING) -> Report:
    return made(*small(), ruling)


#: Cursor movement, a title, C1, DEL, newline, a right-to-left override, a lone surrogate, what XML forbids.
EVIL = "\x1b[2J\x1b]0;pwned\x07\x9b31m\x7f\r\nfake · held\u202e\u2028\ud800\x00\ufffe]]>&<\"'"


def hostile() -> Report:
    records = [
        run_record(scenario=EVIL, engine=EVIL, fleetbeat=EVIL),
        rec(0, "host", host=EVIL),
        rollout(EVIL, V2, [EVIL]),
        rec(0, "fault.plan", fault=EVIL, means=EVIL, on="agents", targets=[EVIL], from_=0, to=None),
        body(V2, EVIL),
        agent(EVIL, program=EVIL, known_gaps=["no-silent-loss"]),
        plan(S, f"{EVIL}#1", EVIL, EVIL, V2),
        fault(2 * S, EVIL, EVIL, EVIL, EVIL),
        log(2 * S, EVIL, EVIL, text=EVIL),
        claim(3 * S, "p", EVIL, "done", verify=EVIL),
        end(reason=EVIL),
    ]
    fates = (
        PostFate(f"{EVIL}#1", EVIL, EVIL, EVIL, "lost", EVIL, also=(EVIL,)),
        PostFate("p", EVIL, EVIL, EVIL, "applied", EVIL, completed=S, effective=3 * S),
    )
    finding = Finding("no-silent-loss", "gap", "protocol", S, EVIL, EVIL, (EVIL,))
    verdicts = (
        Verdict("no-silent-loss", EVIL, "broken", (finding,), 1),
        Verdict(EVIL, EVIL, "unknown", (), 0, EVIL),
    )
    ruling = Ruling(1, EVIL, (EVIL,), (EVIL,), (Threshold(EVIL, False, EVIL), Threshold(EVIL, None, EVIL)))
    return made(records, Judgement(fates, verdicts), ruling, EVIL)
