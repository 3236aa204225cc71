"""guard-not-silenced: every gate in force that watches a dangerous call is asked, and the call runs only as they let it.

Gates in force: those built into the core, and those of the last well-formed rules that were in effect, as they were handed
to the core before the call. A gate's `state` and cooldown are its own affair: it is asked all the same, and answers allow.
A core that denies without asking the others passes: it is stricter. Calls that were put to the user and not answered, or
that died with their process, are set aside. A dangerous call that no gate watches breaks nothing (metrics count it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fleetbeat.checks.calls import RANK, Call, Calls, Force, Told, gates_of
from fleetbeat.checks.chains import Chains, Id
from fleetbeat.checks.kept import Kept
from fleetbeat.checks.model import Finding, Invariant, Unknown
from fleetbeat.checks.words import at, listed, several, whose
from fleetbeat.framework.policies import Gate

if TYPE_CHECKING:
    from fleetbeat.checks.world import World

INVARIANT = Invariant(
    "guard-not-silenced",
    "Every dangerous call is judged by every gate in force that watches it, and none runs unless they let it or the user "
    "approves.",
)
#: Characters of a command that a finding tells.
MOST_TOLD = 60
_SAID = {"raised": "raised, which counts as ask", "slow": "was too slow, which counts as ask"}


class Guarding:
    """One pass. `examined`: dangerous calls that some gate watched; `unjudged`: reason -> calls that cannot be judged.

    `chains`: of the same events. `doubt`: why the gates in force are not known until somebody says which they are; "": they
    are, those of the core.
    `kept`: what was found; findings that rest on a kind of fact that was not told are in `kept_by`, by that kind.
    `suspects`: calls of which nobody says whether they are dangerous, and that would break it if they were.
    """

    def __init__(self, chains: Chains, window: int | None = None, doubt: str = "") -> None:
        self.chains = chains
        self.kept = Kept()
        self.kept_by: dict[str, Kept] = {"judged": self.kept, "answer": self.kept}
        self.suspects = 0
        self.examined = 0
        self.doubt = doubt
        self.unjudged: dict[str, int] = {}
        self.forces: dict[str, Force] = {}
        self.calls = Calls(window)
        self._guards: dict[str, Gate] = {}
        self._policies: dict[str, dict[str, Gate]] = {}

    # --- what is in force ---

    def guards(self, gates: Sequence[Mapping[str, Any]]) -> None:
        self._guards = gates_of(gates)

    def policies(self, norm: str, gates: Sequence[Mapping[str, Any]]) -> None:
        self._policies[norm] = gates_of(gates)

    def began(self, agent: str) -> None:
        """A process begins: calls of the one before are settled no more."""
        self._force(agent).life += 1

    def rules(self, agent: str, norm: str | None, malformed: bool) -> None:
        """Other rules are in effect. Malformed policies leave those before in force."""
        if malformed:
            return
        found = {} if norm is None else self._policies.get(norm)
        doubt = "" if found is not None else "the policies of the rules in effect are not recorded"
        self.in_force(agent, {**(found or {}), **self._guards}, doubt)

    def in_force(self, agent: str, gates: Mapping[str, Gate], doubt: str = "") -> None:
        """These gates and no others, from now on. `doubt`: why there may be others."""
        force = self._force(agent)
        force.gates, force.doubt = gates, doubt

    def unseen(self, agent: str, missing: str) -> None:
        """Nobody knows which rules are in effect from now on."""
        self._force(agent).doubt = missing

    def _force(self, agent: str) -> Force:
        force = self.forces.get(agent)
        if force is None:
            force = self.forces[agent] = Force(self._guards)
            force.doubt = self.doubt
        return force

    # --- calls ---

    def before(self, agent: str, id: Id, t: int, told: Told, is_labelled: bool = True) -> None:
        """A dangerous call is handed to the core, or one of which nobody says whether it is."""
        force = self._force(agent)
        gates = force.watching(told)
        if gates or force.doubt:
            self.examined += is_labelled
            command = str(told.fields.get("command") or "")[:MOST_TOLD]
            self.calls.add(Call(agent, id, t, command, gates, force.life, force.doubt, is_labelled), self.forces)

    def judged(self, agent: str, id: Id, gate: str, answer: str) -> None:
        call = self.calls[agent, id]
        if call is not None:
            had = call.answers.get(gate)
            if had not in RANK or (answer in RANK and RANK[answer] > RANK[had]):
                call.answers[gate] = answer

    def verdict(self, agent: str, id: Id, t: int, verdict: str | None) -> None:
        """What the core says. None: nothing, the call does not run."""
        call = self.calls[agent, id]
        if call is None:
            return
        call.settled = verdict not in ("allow", "ask")
        if call.settled:
            return
        means, gate, word = call.strictest()
        if RANK[means] > RANK[str(verdict)]:
            self._broken(call, t, f"{_said(verdict)} although gate {gate} {_SAID.get(word, 'said ' + word)}")
        elif verdict == "ask":
            self._all_asked(call, t, "was put to the user")

    def answered(self, agent: str, id: Id, answer: str) -> None:
        """The user answers a call that was put to them."""
        call = self.calls[agent, id]
        if call is not None:
            call.approved = answer == "approve"
            call.settled = not call.approved

    def ran(self, agent: str, id: Id, t: int) -> None:
        call = self.calls[agent, id]
        if call is None:
            return
        call.settled = True
        means, gate, word = call.strictest()
        said = _SAID.get(word, "said " + word)
        if means == "deny":
            self._broken(call, t, f"ran although gate {gate} {said}")
        elif means == "ask" and not call.approved:
            self._broken(call, t, f"ran although gate {gate} {said}, and nobody approved it", "answer")
        else:
            self._all_asked(call, t, "ran")

    def _all_asked(self, call: Call, t: int, did: str) -> None:
        """Whether every gate was asked about a call that goes through, or may."""
        if unasked := call.unasked:
            gates = f"gate {unasked[0]} was" if len(unasked) == 1 else f"gates {listed(unasked)} were"
            self._broken(call, t, f"{did} although {gates} not asked about it", "judged")
        elif call.doubt and call.is_labelled and not call.told:
            call.told = True
            self.unjudged[call.doubt] = self.unjudged.get(call.doubt, 0) + 1

    def _broken(self, call: Call, t: int, why: str, rests_on: str = "") -> None:
        """`rests_on`: the kind of fact of which there is none, if it is not that facts of this kind are not told at all."""
        if call.told:
            return
        call.told = True
        if not call.is_labelled:
            self.suspects += 1
            return
        kept = self.kept_by.get(rests_on, self.kept)
        if kept.wants(0):
            what = f"dangerous call #{call.id}" + (f" ({call.command})" if call.command else "")
            message = f"{whose(call.agent)}{what} {at(call.t)} {why}"
            finding = Finding(
                INVARIANT.id,
                "violation",
                "agent",
                t,
                message,
                call.agent or None,
                chain=self.chains.causes(call.agent, call.id),
            )
            kept.add(finding, 0)

    def missing(self) -> str | None:
        """Why it cannot be said that the invariant held; None: it can."""
        reasons = [f"{several(count, 'dangerous call')}: {reason}" for reason, count in self.unjudged.items()]
        if self.calls.forgotten:
            reasons.append(f"{several(self.calls.forgotten, 'dangerous call')}: too many at once were not settled")
        return "; ".join(reasons) or None


def _said(verdict: str | None) -> str:
    return "was allowed" if verdict == "allow" else "was put to the user"


def check(world: World) -> Iterator[Finding]:
    framework = world.framework
    if framework is None:
        return
    found = framework.guarding
    world.examined(found.examined)
    world.found_more(found.kept.more)
    yield from found.kept.findings()
    if (reason := found.missing()) is not None and not found.kept.total:
        raise Unknown(reason)
