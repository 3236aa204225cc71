"""Convergence: when did each target of a version hold it, and which never did.

A target has converged on a version at the first instant, not before its rollout began, at which the agent's flushed
prompt holds the version's text; one that held it already converged at once. This is read from `prompt` records alone,
not from posts: a version that arrived by a retry, a second operator or a rebuild counts. A rollout begins with its
first wave, or else with its first planned post. Rollouts of one version count as one. What parents hand down to
children is nobody's rollout and left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fleetbeat.checks.model import Judgement, PostFate
from fleetbeat.history.records import Record
from fleetbeat.metrics.facts import Facts
from fleetbeat.metrics.next_action import NextAction, next_action
from fleetbeat.metrics.quantile import rank

#: Shares, in percent of the targets, at which the curve is given.
GRID = tuple(range(0, 101, 5))
_STOPPED = (
    "the rollout's plan stopped before its turn",
    NextAction("nothing", "nothing: its plan stopped this version"),
)


@dataclass(frozen=True, slots=True)
class MissingTarget:
    """A target that did not converge: fate of its last post, why, and what may safely be done next."""

    version: str
    agent: str
    post: str | None
    fate: str
    why: str
    action: NextAction


@dataclass(frozen=True, slots=True)
class Convergence:
    """One version. Times in ns since its rollout began; None: that share was never reached.

    `curve`: (percent of targets, ns) on `GRID`. `reached`: targets that ever held it; `at_end`: that hold it in
    the end.
    """

    version: str
    began: int | None
    targets: int
    reached: int
    at_end: int
    p50: int | None
    p90: int | None
    p99: int | None
    p100: int | None
    curve: tuple[tuple[int, int | None], ...]
    blank: bool
    missing: tuple[MissingTarget, ...]


def convergence(facts: Facts, judgement: Judgement) -> tuple[Convergence, ...]:
    """A table row for each version, in the order in which their rollouts began (then by name)."""
    rollouts: dict[str, list[Record]] = {}
    for record in facts.rollouts:
        if record["write"] != "hand-down":
            rollouts.setdefault(record["version"], []).append(record)
    began = {version: _began(facts, version, group) for version, group in rollouts.items()}
    order = sorted(rollouts, key=lambda version: (_or_end(began[version], facts), version))
    posts = _last_posts(facts, judgement)
    norms = {version: _norm(facts, group) for version, group in rollouts.items()}
    targets = {
        version: frozenset(agent for record in group for agent in record["targets"])
        for version, group in rollouts.items()
        if not facts.blank(group[0]["body"])
    }
    posted = {(plan["version"], plan["agent"]): plan.t for plan in facts.plans.values()}
    over = [turn["rollout"] for turn in facts.turns if turn["event"] in ("aborted", "rollback", "died")]
    stopped = frozenset(record["version"] for record in facts.rollouts if record["rollout"] in over)
    context = _Context(facts, posts, began, norms, targets, posted, stopped)
    return tuple(_version(context, version, rollouts[version]) for version in order)


@dataclass(frozen=True, slots=True)
class _Context:
    """`norms`: null for what can never be effective. `targets`: of versions with text, since a blank one undoes nothing.
    `posted`: (version, agent) -> when it was last to be posted there, ns. `stopped`: versions that a plan stopped.
    """

    facts: Facts
    posts: Mapping[tuple[str, str], PostFate]
    began: Mapping[str, int | None]
    norms: Mapping[str, str | None]
    targets: Mapping[str, frozenset[str]]
    posted: Mapping[tuple[str, str], int]
    stopped: frozenset[str]


def _or_end(began: int | None, facts: Facts) -> int:
    return facts.end + 1 if began is None else began


def _norm(facts: Facts, rollouts: Sequence[Record]) -> str | None:
    body = rollouts[0]["body"]
    return None if facts.blank(body) else facts.norm(body)


def _began(facts: Facts, version: str, rollouts: Sequence[Record]) -> int | None:
    names = [record["rollout"] for record in rollouts]
    waves = [wave.t for wave in facts.waves if wave["rollout"] in names and wave["event"] == "begin"]
    plans = [plan.t for plan in facts.plans.values() if plan["version"] == version]
    return min(waves + plans, default=None)


def _last_posts(facts: Facts, judgement: Judgement) -> dict[tuple[str, str], PostFate]:
    """The fate of the last planned post of each (version, agent)."""

    def planned(fate: PostFate) -> tuple[int, int]:
        plan = facts.plans.get(fate.post)
        return (plan.t, plan["attempt"]) if plan else (0, 0)

    ordered = sorted(judgement.fates, key=planned)
    return {(fate.version, fate.agent): fate for fate in ordered}


def _version(context: _Context, version: str, rollouts: Sequence[Record]) -> Convergence:
    facts, norm, began = context.facts, context.norms[version], context.began[version]
    targets = list(dict.fromkeys(agent for record in rollouts for agent in record["targets"]))
    times: list[int] = []
    missing: list[MissingTarget] = []
    at_end = 0
    for agent in targets:
        reached = None if norm is None or began is None else _reached(facts, agent, norm, began)
        now = _effective_at_end(facts, agent)
        holds = norm is not None and now == norm
        at_end += holds
        if reached is not None:
            times.append(reached)
        if reached is None or not (holds or _overtaken(context, version, agent, now)):
            missing.append(_missing(context, version, agent, reached))
    times.sort()
    share = {percent: _time_to(times, len(targets), percent) for percent in (*GRID, 99)}
    return Convergence(
        version, began, len(targets), len(times), at_end, share[50], share[90], share[99], share[100],
        tuple((percent, share[percent]) for percent in GRID), facts.blank(rollouts[0]["body"]), tuple(missing),
    )  # fmt: skip


def _time_to(times: Sequence[int], targets: int, percent: int) -> int | None:
    """ns until `percent` of all targets had converged, None if they never did. `times` ascending."""
    wanted = rank(targets, percent)
    return times[wanted - 1] if wanted <= len(times) else None


def _reached(facts: Facts, agent: str, norm: str, began: int) -> int | None:
    """ns since `began` at which the prompt first held `norm`; 0 if it did already, None if it never did."""
    held = False
    for record in facts.of(agent, "prompt"):
        if record.t > began and held:
            break
        held = record["state"] == "whole" and record.get("norm") == norm
        if held and record.t > began:
            return record.t - began
    return 0 if held else None


def _effective_at_end(facts: Facts, agent: str) -> str | None:
    prompts = facts.of(agent, "prompt")
    return prompts[-1].get("norm") if prompts and prompts[-1]["state"] == "whole" else None


def _overtaken(context: _Context, version: str, agent: str, now: str | None) -> bool:
    """Whether what is effective now is another version that came later: its rollout, or, as a rollback does, its post."""
    if now is None:
        return False
    own = _or_end(context.began[version], context.facts)
    posted = context.posted.get((version, agent), own)
    others = [other for other, norm in context.norms.items() if other != version and norm == now]
    return any(
        _or_end(context.began[other], context.facts) >= own or context.posted.get((other, agent), -1) > posted
        for other in others
    )


def _later(context: _Context, version: str, agent: str) -> str | None:
    """The last version that came to this agent after `version`, or is still to come; None if none is."""
    own = context.posted.get((version, agent), _or_end(context.began[version], context.facts))
    others = [other for other in context.norms if agent in context.targets.get(other, ())]
    after = [(start, other) for other in others if (start := _came(context, other, agent)) is not None and start > own]
    return max(after)[1] if after else None


def _came(context: _Context, version: str, agent: str) -> int | None:
    """When a version was last to be posted to an agent; before that, when its rollout began, unless that was stopped."""
    began = None if version in context.stopped else context.began[version]
    return context.posted.get((version, agent), began)


def _missing(context: _Context, version: str, agent: str, reached: int | None) -> MissingTarget:
    fate = context.posts.get((version, agent))
    why = fate.note if fate else "no post was planned: the rollout stopped or the run ended before its turn"
    if reached is not None:
        why = "; ".join(filter(None, ("it was effective and is no longer", fate.note if fate else "")))
    if fate is None and version in context.stopped:
        why, action = _STOPPED
        return MissingTarget(version, agent, None, "unposted", why, action)
    action = next_action(context.facts, agent, fate, later=_later(context, version, agent))
    return MissingTarget(version, agent, fate.post if fate else None, fate.fate if fate else "unposted", why, action)
