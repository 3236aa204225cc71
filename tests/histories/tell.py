"""Whole stories that several tests tell, and what tests ask of a judged one."""

from __future__ import annotations

from tests.histories.build import Story, shown, without_ops

from fleetbeat.checks import Finding, Judgement, PostFate, Verdict, judge
from fleetbeat.history.records import Record

V1, V2 = "v1/a-0#1", "v2/a-0#1"


def fate_of(story: Story | list[Record], post: str = V1) -> PostFate:
    records = story.history() if isinstance(story, Story) else story
    return next(fate for fate in judge(records, checks=()).fates if fate.post == post)


def fates_of(story: Story) -> dict[str, str]:
    return {fate.post: fate.fate for fate in judge(story.history(), checks=()).fates}


def verdict(story: Story, invariant: str) -> Verdict:
    """The verdict on one invariant; taking the operation records out must not change it."""
    records = story.history()
    found = _verdict(judge(records), invariant)
    assert _verdict(judge(without_ops(records)), invariant) == found, shown(records)
    assert found.outcome != "unknown", found.reason
    return found


def _verdict(judgement: Judgement, invariant: str) -> Verdict:
    return next(one for one in judgement.verdicts if one.invariant == invariant)


def only(story: Story, invariant: str, kind: str, cause: str) -> Finding:
    """The one finding on an invariant, which must have this class and cause."""
    found = verdict(story, invariant)
    assert len(found.findings) == 1, f"{found.findings}\n{shown(story.history())}"
    finding = found.findings[0]
    assert (finding.kind, finding.cause) == (kind, cause), f"{finding}\n{shown(story.history())}"
    assert found.outcome == ("held" if kind == "hazard" else "broken")
    return finding


def silent(story: Story, invariant: str, examined: bool = True) -> Verdict:
    """No finding on an invariant, although (unless told otherwise) the check had something to look at."""
    found = verdict(story, invariant)
    assert not found.findings, f"{found.findings}\n{shown(story.history())}"
    assert (found.examined > 0) is examined, f"examined {found.examined}\n{shown(story.history())}"
    return found


def started(rules: str | None = "v0") -> Story:
    """One agent, booted at 0 with some rules, idle beats up to 3s."""
    return Story(rules).boot(0, rules).idle(1, 2)


def lost_update() -> Story:
    """v2 lands in the middle of the beat that reads v1: v1 is applied, v2 is unlinked unread."""
    story = started().posts(2.5, V1, "v1")
    story.beat(3, 3.5, number=3).op(3.05, "read", body="v1").posts(3.1, V2, "v2", over=True)
    return story.op(3.2, "unlink").vanished(3.2).applies(3.3, "v1").idle(4.5, 10)


def applied() -> Story:
    """v1 posted, read, applied, logged."""
    return started().posts(2.5, V1, "v1").consumes(3, "v1").idle(4, 10)


def in_place(body: str | bytes = "v1 whole v1", begin: float = 2.9, complete: float | None = 3.2) -> Story:
    """An in-place writer of v1 that truncates, then writes; told up to its completion."""
    story = started().planned(begin - 0.01, V1, body, write="in-place").signal(begin, "appeared").begin(begin, V1)
    if complete is not None:
        story.signal(complete, "changed").complete(complete, V1).ended(complete, V1)
    return story
