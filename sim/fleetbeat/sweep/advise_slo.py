"""What a cadence must reach and may cost, read from words: `p99 lag < 3s`, `pending < 1% after 10s`, `ops/s < 2000`.

A delivery is a version on its way to one agent: from the first instant at which one of its posts landed there until it is
in effect. Attempts of one version are one delivery, so that posting again does not make the wait look short; one that was
already in effect, blank or set aside on purpose does not count. One that never takes effect (lost, failed, stuck) waits
for ever: it is longer than any lag, and pending at any time. Deliveries that could not be watched for as long as the
question asks, since another version landed or the run ended, are left out, in effect or not: to leave out only those that
were not would flatter a slow cadence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic_core import PydanticCustomError

from fleetbeat.scenario.model import Rollout, Scenario
from fleetbeat.scenario.resolve import agents, body_of, targets
from fleetbeat.scenario.units import format_duration, parse_duration, parse_share
from fleetbeat.sweep.one import METRICS

SECOND = 1_000_000_000
#: What a cadence costs the host that it costs most: name -> meaning.
COSTS = {
    "beats/s": "beats a second",
    "ops/s": "agents' file operations a second",
    "wakes/s": "wake-ups a second (beats and rebuilds)",
    "peak/s": "beats a second while most of them fall together",
    "cpu": "share of one processor (real beats are measured on this host)",
}
_SHARES = ("applied", "at_end", "failed")
_POSTLESS = ("violations", "gaps", "hazards", "failed", "beats", "beats_per_s", "ops_per_s", "wakes_per_s")
_OF_BAD = ("exposure", "exposed", "bad_at_end", "slipped", "stop_after")
_OF_GOOD = ("false_alarms", "finish", "good_p99")
_FRAMEWORK = tuple(METRICS)[tuple(METRICS).index("prepares") :]
_FORM = re.compile(r"\s*(.+?)\s*(<=|>=|<|>)\s*(\S+)(?:\s+after\s+(\S+))?\s*")
_LAG = re.compile(r"(?:p([0-9]+(?:\.[0-9]+)?)|(max|median)) lag|lag_(?:p([0-9]+(?:\.[0-9]+)?)|(max))")
_EXAMPLES = "'p99 lag < 3s', 'pending < 1% after 10s', 'p50 lag of v2 < 1s', or a metric of sweep: 'at_end > 99%'"


class AdviseError(Exception):
    """An objective that cannot be used, here or at all; the message says what was got and what was expected."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One demand. `text`: as given; it is what a run's value is kept under.

    `kind`: lag (value in s; `share`: which quantile), pending (a share; `after_ns`), metric (`name`: of METRICS), or cost
    (`name`: of COSTS). `below`: values must lie below `bound` (or, else, above); `equal`: or at it.
    `unit`: s, share or number: how values are shown.
    """

    text: str
    kind: str
    name: str
    bound: float
    unit: str
    below: bool = True
    equal: bool = False
    share: float = 0.0
    after_ns: int = 0
    version: str | None = None

    @property
    def needs_ns(self) -> int:
        """How long a delivery must have been watched for this question: later ones are left out, met or not."""
        return round(self.bound * SECOND) if self.kind == "lag" else self.after_ns


def parse_slo(text: str) -> Objective:
    """An objective. Raises AdviseError, also for a cost, which has an option of its own."""
    what, below, equal, value, after = _parts("--slo", text)
    version = None
    match = re.fullmatch(r"(.+?) of (\S+)", what)
    if match is not None:
        what, version = match[1], match[2]
    if what in COSTS:
        raise AdviseError(f"--slo {text!r}: got a cost, expected an objective such as {_EXAMPLES}; costs: --max-cost")
    lag = _LAG.fullmatch(what.lower())
    if lag is not None:
        return _lag(text, lag, below, equal, value, after, version)
    if what.lower() == "pending":
        if after is None or not below:
            raise AdviseError(f"--slo {text!r}: got no time after it, expected such as 'pending < 1% after 10s'")
        wait = _duration("--slo", text, after)
        return Objective(
            text, "pending", "pending", _share("--slo", text, value), "share", True, equal, 0, wait, version
        )
    if after is not None or version is not None:
        word = f"of {version}" if version is not None else f"after {after}"
        raise AdviseError(f"--slo {text!r}: got {word!r}, expected it with a lag or pending alone")
    return _metric(text, what, below, equal, value)


def parse_cost(text: str) -> Objective:
    """The most that a cadence may cost. Raises AdviseError."""
    what, below, equal, value, after = _parts("--max-cost", text)
    if what not in COSTS:
        raise AdviseError(f"--max-cost {text!r}: got {what!r}, expected one of {', '.join(COSTS)}{_meant(what, COSTS)}")
    if after is not None or not below:
        raise AdviseError(f"--max-cost {text!r}: got a limit from below or a time, expected such as 'ops/s < 2000'")
    bound = _share("--max-cost", text, value) if what == "cpu" else _number("--max-cost", text, value)
    return Objective(text, "cost", what, bound, "share" if what == "cpu" else "number", True, equal)


def measurable(objectives: Sequence[Objective], scenario: Scenario, calibrated: bool, shift_ns: int = 0) -> None:
    """Raises AdviseError for the first objective that no run of this scenario can tell anything about, and why."""
    for one in objectives:
        flag = "--max-cost" if one.kind == "cost" else "--slo"
        why = _unmeasurable(one, scenario, calibrated, shift_ns)
        if why is not None:
            raise AdviseError(f"{flag} {one.text!r}: not measurable in {scenario.name}: got {why}")


def _unmeasurable(one: Objective, scenario: Scenario, calibrated: bool, shift_ns: int) -> str | None:
    if one.kind == "cost":
        if one.name == "cpu" and not calibrated:
            return "no measured beat, expected --calibrate as well, which plays real ones"
        return None
    if one.kind == "metric" and one.name in _POSTLESS:
        return None
    if one.kind == "metric" and one.name in _FRAMEWORK:
        return None if scenario.workload is not None else "no workload, expected one: this is of the event framework"
    if not scenario.rollouts:
        return "no rollouts, expected one that posts something"
    if one.kind == "metric":
        if one.name in _OF_BAD and not any(rollout.bad for rollout in scenario.rollouts):
            return "no version that is bad, expected a rollout with bad: true"
        if one.name in _OF_GOOD and all(rollout.bad for rollout in scenario.rollouts):
            return "no version that is good, expected a rollout without bad: true"
        return None
    versions = list(dict.fromkeys(rollout.version for rollout in scenario.rollouts))
    if one.version is not None and one.version not in versions:
        return f"no version {one.version!r}, expected one of {', '.join(versions)}{_meant(one.version, versions)}"
    mine = [rollout for rollout in scenario.rollouts if one.version in (None, rollout.version)]
    if not any(body_of(rollout).strip() for rollout in mine):
        return "a blank body, which takes no effect, expected one with text"
    left = scenario.duration - min(rollout.at for rollout in mine) - shift_ns
    had, needed = format_duration(max(0, left)), format_duration(one.needs_ns)
    if left <= one.needs_ns:
        return f"{had} from the rollout to the end of the run, expected more than {needed}: --set duration=..."
    longest = _longest(mine, scenario)
    if longest <= one.needs_ns:
        had = format_duration(longest)
        return f"{had} at most until another version is rolled out to the same agent, expected more than {needed}"
    return None


def _longest(mine: Sequence[Rollout], scenario: Scenario) -> int:
    """For how long, in ns, any agent is left alone with one of these versions, from rollout to rollout or to the end."""
    fleet = agents(scenario)
    meant = [(rollout, frozenset(targets(rollout, fleet))) for rollout in scenario.rollouts]
    longest = 0
    for rollout, some in meant:
        if rollout in mine:
            others = [(one.at, whom) for one, whom in meant if one.version != rollout.version and one.at > rollout.at]
            for name in sorted(some):
                after = min((at for at, whom in others if name in whom), default=scenario.duration)
                longest = max(longest, after - rollout.at)
    return longest


def shown(one: Objective, value: float | None, sign: str = "") -> str:
    """A value of this objective in its unit."""
    if value is None:
        return "-"
    if one.unit == "share":
        return f"{value * 100:{sign}.3g} %"
    return f"{value:{sign}.3g} s" if one.unit == "s" else f"{value:{sign}.4g}"


def bound(one: Objective) -> str:
    """The bound in words: `below 3 s`."""
    return f"{'below' if one.below else 'above'} {shown(one, one.bound)}"


def _parts(flag: str, text: str) -> tuple[str, bool, bool, str, str | None]:
    match = _FORM.fullmatch(text)
    if match is None:
        expected = _EXAMPLES if flag == "--slo" else "'ops/s < 2000'"
        raise AdviseError(f"{flag}: got {text!r}, expected such as {expected}")
    what = " ".join(match[1].split())
    return what, match[2][0] == "<", match[2].endswith("="), match[3], match[4]


def _lag(
    text: str, lag: re.Match[str], below: bool, equal: bool, value: str, after: str | None, version: str | None
) -> Objective:
    if not below or after is not None:
        raise AdviseError(f"--slo {text!r}: got a lag from below or with a time, expected such as 'p99 lag < 3s'")
    number, word = lag[1] or lag[3], lag[2] or lag[4]
    share = float(number) / 100 if number else {"max": 1.0, "median": 0.5}[word]
    if not 0 < share <= 1:
        raise AdviseError(f"--slo {text!r}: got p{number}, expected p1 to p100")
    seconds = _duration("--slo", text, value) / SECOND
    return Objective(text, "lag", "lag", seconds, "s", True, equal, share, 0, version)


def _metric(text: str, what: str, below: bool, equal: bool, value: str) -> Objective:
    if what not in METRICS:
        names = ["pXX lag", "max lag", "pending", *METRICS]
        expected = f"{', '.join(names)}{_meant(what, names)}"
        raise AdviseError(f"--slo {text!r}: got the metric {what!r}, expected one of {expected}")
    if what in _SHARES:
        return Objective(text, "metric", what, _share("--slo", text, value), "share", below, equal)
    if METRICS[what].endswith(", s") or ", s;" in METRICS[what]:
        return Objective(text, "metric", what, _duration("--slo", text, value) / SECOND, "s", below, equal)
    return Objective(text, "metric", what, _number("--slo", text, value), "number", below, equal)


def _duration(flag: str, text: str, value: str) -> int:
    if re.fullmatch(r"[0-9.]+", value):
        raise AdviseError(f"{flag} {text!r}: got {value!r}, expected a time with its unit such as 3s or 250ms")
    try:
        found = parse_duration(value)
    except PydanticCustomError as error:
        raise AdviseError(f"{flag} {text!r}: got {value!r}, expected {error.message()}") from error
    if found <= 0:
        raise AdviseError(f"{flag} {text!r}: got {value!r}, expected a time above 0")
    return found


def _share(flag: str, text: str, value: str) -> float:
    try:
        return parse_share(float(value) if re.fullmatch(r"[0-9.]+", value) else value)
    except (PydanticCustomError, ValueError) as error:
        raise AdviseError(f"{flag} {text!r}: got {value!r}, expected a share such as 1% or 0.01") from error


def _number(flag: str, text: str, value: str) -> float:
    if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?(?:e[0-9]+)?", value.replace(",", "")):
        raise AdviseError(f"{flag} {text!r}: got {value!r}, expected a number")
    return float(value.replace(",", ""))


def _meant(word: str, known: object) -> str:
    close = get_close_matches(word, list(known), 1)  # type: ignore[call-overload]
    return f" (did you mean {close[0]!r}?)" if close else ""
