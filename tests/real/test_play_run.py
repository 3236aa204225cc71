"""Whole runs on real processes: the fates of the simulation, what a history of a real run holds, and how one fails."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.real.ground import ground, scenario, until  # noqa: F401

from fleetbeat.checks import decide, judge
from fleetbeat.engines import ENGINES
from fleetbeat.engines.process import run
from fleetbeat.engines.process.leftovers import processes
from fleetbeat.engines.real import play as playing
from fleetbeat.engines.real.errors import CannotDo, EngineError
from fleetbeat.engines.real.root import FleetRoot
from fleetbeat.history.records import KINDS, Record
from fleetbeat.history.shape import problem
from fleetbeat.report.real import real
from fleetbeat.report.real_text import notes
from fleetbeat.scenario.model import Scenario

FOREIGN = Path(__file__).parent / "foreign"
SHORT = "heartbeat: {interval: 200ms}"
#: Every way to a fate that leaves no chance, within two seconds.
FATES = f"""
name: fates
duration: 2600ms
fleet:
  {SHORT}
  groups:
    - {{name: fine, count: 2}}
    - {{name: dies, count: 2}}
    - {{name: fails, count: 1}}
    - {{name: held, count: 1}}
    - {{name: asleep, count: 1}}
    - {{name: same, count: 1, start: {{rules: "<!-- fleetbeat:v1 -->\\nBe kind.\\n<!-- fleetbeat:v1 -->\\n"}}}}
  lifecycle:
    suspend:
      - {{agents: "asleep-*", from: 400ms, to: 1200ms}}
      - {{agents: "asleep-*", from: 1600ms, to: 2100ms}}
    rebuilds: [{{agents: "fine-*", at: 1700ms, cause: molt}}]
    spawns: [{{at: 1s, name: late, parent: fine-0, hand_down: atomic}}]
faults:
  - {{id: dies, operation: unlink, agents: "dies-*", occurrence: 1, crash: after, restart: 300ms}}
  - {{id: fails, operation: write, agents: "fails-*", error: ENOSPC, effect: partial}}
  - {{id: held, operation: unlink, agents: "held-*", error: EACCES}}
  - {{id: slips, on: operators, operation: rename, path: .rules.*, agents: fine-1, occurrence: 1, error: EIO}}
rollouts:
  - {{version: v1, at: 500ms, targets: all, body: Be kind., verify: disappearance, poll: 100ms, timeout: 400ms, retries: 1}}
  - {{version: v2, at: 1800ms, targets: asleep-0, write: in-place, chunk: 7, body: Be kind and brief.}}
"""


def kinds(records: Sequence[Record]) -> Counter[str]:
    return Counter(record.kind for record in records)


def fates(records: Sequence[Record]) -> dict[str, str]:
    return {fate.post: fate.fate for fate in judge(records).fates}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Record], list[Record]]:
    """The history of one real run and that of the simulation."""
    plan = scenario(tmp_path_factory.mktemp("fates"), FATES)
    return run(plan), ENGINES.engine("des")(plan)


def test_every_post_meets_the_fate_that_it_meets_in_the_simulation(both: tuple[list[Record], list[Record]]) -> None:
    found, expected = map(fates, both)
    assert found == expected
    assert {"applied", "lost", "failed", "unchanged", "superseded"} <= set(found.values())


def test_a_real_run_breaks_what_the_simulation_breaks(both: tuple[list[Record], list[Record]]) -> None:
    def broken(records: list[Record]) -> dict[str, set[str]]:
        verdicts = judge(records).verdicts
        return {
            one.invariant: {finding.kind for finding in one.findings if finding.kind != "hazard"}
            for one in verdicts
            if one.outcome == "broken"
        }

    assert broken(both[0]) == broken(both[1])
    assert not [verdict.reason for verdict in judge(both[0]).verdicts if verdict.outcome == "unknown"]


def test_a_real_history_has_the_shape_of_every_history_and_never_goes_back(
    both: tuple[list[Record], list[Record]],
) -> None:
    records = both[0]
    assert [problem(record.kind, record.fields) for record in records if problem(record.kind, record.fields)] == []
    times = [record.t for record in records]
    assert times == sorted(times)
    assert (records[0]["engine"], list(records[0]["observed"])) == ("process", [])
    assert set(kinds(records)) <= set(KINDS)
    assert kinds(records)["op"] == 0


def test_a_post_begins_and_is_complete_right_after_its_own_change_of_the_name(
    both: tuple[list[Record], list[Record]],
) -> None:
    records = [record for record in both[0] if record.kind in ("signal", "post.begin", "post.complete")]
    for agent in ("fine-0", "fine-1", "asleep-0"):
        mine = [record for record in records if record["agent"] == agent]
        for before, record in pairwise(mine):
            if record.kind == "post.begin":
                assert before.kind == "signal"
                assert before["event"] in ("appeared", "replaced")
    part = [record for record in records if record.get("post") == "v2/asleep-0#1"]
    assert [record.kind for record in part] == ["post.begin", "post.complete"]
    changes = [r for r in records if r.kind == "signal" and r["agent"] == "asleep-0" and part[0].t < r.t <= part[1].t]
    assert [record["event"] for record in changes] == ["changed"] * len(changes)
    assert len(changes) > 3


def test_faults_are_counted_and_each_is_carried_out_by_somebody(both: tuple[list[Record], list[Record]]) -> None:
    counts = {record["fault"]: record for record in both[0] if record.kind == "fault.count"}
    simulated = Counter(record["fault"] for record in both[1] if record.kind == "fault")
    assert {fault: count["means"] for fault, count in counts.items()} == {
        "dies": ["driver"],
        "fails": ["driver"],
        "held": ["driver"],
        "slips": ["harness"],
    }
    for fault in ("dies", "fails", "slips"):
        assert counts[fault]["fired"] == simulated[fault] > 0
    assert abs(counts["held"]["fired"] - simulated["held"]) <= 3
    assert all(count["removed"] and count["fired"] == count["observed"] for count in counts.values())


def test_the_report_says_how_late_it_was_seen_and_the_simulation_says_nothing(
    both: tuple[list[Record], list[Record]],
) -> None:
    part = real(both[0])
    assert part is not None
    measured = {row.what: row for row in part.measured}
    assert measured["observation"].count > 10
    assert 0 <= (measured["observation"].p50 or -1) < 1_000_000_000
    assert real(both[1]) is None


# --- what cannot be done ---


def _foreign(place: Path, command: str, **more: Any) -> Scenario:
    folder = place / "mine"
    folder.mkdir(mode=0o755)
    text = (FOREIGN / "agent.yaml").read_text().replace('[python3, agent.py, "{home}", "{interval}"]', command)
    (folder / "agent.yaml").write_text(text)
    rest = "".join(f"{name}: {value}\n" for name, value in more.items())
    return scenario(place, f"duration: 1s\nfleet: {{agents: 1, agent: {folder}, {SHORT}}}\n{rest}")


def test_an_agent_that_dies_at_start_is_told_with_its_last_lines(ground: Path) -> None:  # noqa: F811
    plan = _foreign(ground, '[sh, -c, "echo no such model >&2; exit 7"]')
    with pytest.raises(EngineError) as failed:
        run(plan)
    assert str(failed.value).splitlines() == [
        "agent a-0: its process died at start (exit code 7), expected it to run; its last lines:",
        "no such model",
    ]
    assert failed.value.records == []
    assert list((ground / f"fleetbeat-{os.getuid()}").iterdir()) == []


def test_an_agent_that_never_beats_is_judged_and_not_waited_for(
    ground: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(playing, "FIRST_BEAT_NS", 100_000_000)
    plan = _foreign(ground, '[sleep, "1000"]', rollouts="[{version: v1, at: 100ms, targets: all, body: Be kind.}]")
    records = run(plan)
    assert fates(records) == {"v1/a-0#1": "indeterminate"}
    assert kinds(records)["beat"] + kinds(records)["beats"] == 0
    (note,) = [record["text"] for record in records if record.kind == "note"]
    assert note.startswith("never beat: got no .agent.heartbeat in its home")
    assert decide(records[0]["expect"], judge(records), records).exit_code == 3


def test_a_process_that_ends_unasked_is_noted_with_its_last_lines_as_data(
    ground: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(playing, "FIRST_BEAT_NS", 100_000_000)
    plan = _foreign(ground, r"""[sh, -c, "printf 'bye \\033[2J\\n'; sleep 0.6; exit 3"]""")
    records = run(plan)
    (end,) = [record for record in records if record.kind == "life.end"]
    assert (end["cause"], end["fault"]) == ("crash", None)
    goes_on = next(one for one in judge(records).verdicts if one.invariant == "beats-go-on")
    (finding,) = goes_on.findings
    assert finding.message.endswith("its process ended unasked, with exit code 3")
    (note,) = [record for record in records if record.kind == "note"]
    assert note["agent"] == "a-0"
    assert note["told"] == "bye \x1b[2J"
    assert "with exit code 3" in note["text"]
    assert r"bye \x1b[2J" in notes(real(records))
    assert "\x1b" not in notes(real(records))


def test_an_agent_with_a_command_of_its_own_obeys_and_is_asked_by_its_signs(ground: Path) -> None:  # noqa: F811
    (ground / "mine").mkdir(mode=0o755)
    for name in ("agent.yaml", "agent.py"):
        (ground / "mine" / name).write_bytes((FOREIGN / name).read_bytes())
    text = f"""
duration: 2s
fleet:
  agents: 1
  agent: {ground / "mine"}
  {SHORT}
  lifecycle:
    suspend: [{{from: 300ms, to: 900ms}}]
    rebuilds: [{{at: 1500ms}}]
rollouts: [{{version: v1, at: 400ms, targets: all, body: Be kind.}}]
"""
    records = run(scenario(ground, text))
    assert fates(records) == {"v1/a-0#1": "applied"}
    effective = next(r.t for r in records if r.kind == "prompt" and not r["blank"] and r["norm"] is not None)
    assert effective > 900_000_000
    (rebuilt,) = [record for record in records if record.kind == "rebuild.end"]
    assert rebuilt["outcome"] == "done"
    broken = {one.invariant for one in judge(records).verdicts if one.outcome == "broken"}
    assert broken == set()


def test_a_case_file_is_refused_before_anything_is_made(ground: Path) -> None:  # noqa: F811
    from fleetbeat.chance.choices import Overrides

    with pytest.raises(CannotDo, match="--case"):
        run(scenario(ground, "fleet: {agents: 1}"), Overrides())
    assert [path.name for path in ground.iterdir()] == ["s.yaml"]


@pytest.mark.parametrize(("latency", "said"), [("{unlink: 50ms}", 1), ("{}", 0)])
def test_a_latency_that_only_a_simulation_plays_is_said_to_be_left_out(
    latency: str,
    said: int,
    ground: Path,  # noqa: F811
) -> None:
    text = f"name: slow\nduration: 300ms\nfleet: {{agents: 1, latency: {latency}}}\nrollouts: []\n"
    found = [record for record in run(scenario(ground, text)) if record.kind == "note"]
    assert [record["text"] for record in found] == [playing.NOT_PLAYED] * said


def test_what_was_observed_is_kept_when_the_run_fails(ground: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/disk/plan-1.json")

    monkeypatch.setattr("fleetbeat.engines.real.play_plans.to_json", _once_then(full))
    text = f"duration: 3s\nfleet: {{agents: 1, {SHORT}, lifecycle: {{crashes: [{{agents: all, at: 500ms, restart: 0s}}]}}}}"
    with pytest.raises(EngineError, match=r"/disk/plan-1.json: got No space left on device") as failed:
        run(scenario(ground, text))
    assert failed.value.records[0].kind == "run"
    assert failed.value.records[-1]["reason"] == "failed"
    assert kinds(failed.value.records)["life.end"] == 1
    assert list((ground / f"fleetbeat-{os.getuid()}").iterdir()) == []


def _once_then(then: Any) -> Any:
    from fleetbeat.protocol.live_plan import to_json

    calls: list[None] = []

    def call(plan: Any) -> str:
        calls.append(None)
        if len(calls) > 1:
            then()
        return to_json(plan)

    return call


@pytest.mark.slow
def test_a_wall_clock_that_steps_back_is_told_and_changes_nothing(
    ground: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    true, hour = time.time_ns, 3600 * 10**9
    begun = time.monotonic()
    monkeypatch.setattr(time, "time_ns", lambda: true() - (hour if time.monotonic() - begun > 1.2 else 0))
    text = f"duration: 2s\nfleet: {{agents: 1, {SHORT}}}\nrollouts: [{{version: v1, at: 1s, targets: all, body: B.}}]"
    records = run(scenario(ground, text))
    (gap,) = [record for record in records if record.kind == "unseen"]
    assert "the machine's clock stepped by -3600.0" in gap["missing"]
    (clock,) = [record for record in records if record.kind == "measured" and record["what"] == "clock"]
    assert abs(clock["max"] - hour) < 10**9
    assert [record.t for record in records] == sorted(record.t for record in records)
    assert decide(records[0]["expect"], judge(records), records).exit_code == 0


def test_what_cannot_be_removed_is_told_with_what_was_observed(
    ground: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def busy(root: FleetRoot) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(root.path / "fleet"))

    monkeypatch.setattr(FleetRoot, "remove", busy)
    with pytest.raises(EngineError, match=r"fleet: got Device or resource busy, expected to be able to rem") as failed:
        run(scenario(ground, f"duration: 300ms\nfleet: {{agents: 1, {SHORT}}}"))
    assert failed.value.records[-1]["reason"] == "duration"


def test_an_interrupted_run_tells_what_it_saw_and_leaves_nothing(ground: Path) -> None:  # noqa: F811
    text = f"duration: 60s\nfleet: {{agents: 2, {SHORT}}}\nrollouts: [{{version: v1, at: 0s, targets: all, body: B.}}]"
    told: list[int] = []

    def progress(now: int) -> None:
        told.append(now)
        if now > 500_000_000:
            os.kill(os.getpid(), signal.SIGINT)

    records = run(scenario(ground, text), None, progress)
    assert records[-1]["reason"] == "interrupted"
    assert records[-1].t < 60_000_000_000
    assert set(fates(records).values()) == {"applied"}
    assert until(lambda: not [one for one in processes() if one[1].startswith(f"{os.getpid()}-")])
    assert list((ground / f"fleetbeat-{os.getuid()}").iterdir()) == []


@pytest.mark.slow
def test_a_root_that_is_kept_holds_the_fleet_and_is_marked(ground: Path) -> None:  # noqa: F811
    text = f"duration: 500ms\nfleet: {{agents: 1, {SHORT}}}"
    run(scenario(ground, text), root=ground / "kept", keep_root=True)
    assert (ground / "kept" / "fleet" / "a-0" / "system" / "system.md").is_file()
    run(scenario(ground, text), root=ground / "gone")
    assert not (ground / "gone").exists()
