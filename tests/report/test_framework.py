from __future__ import annotations

import dataclasses
import json as stdlib_json
import unicodedata
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from tests.history.hand import S, agent, body, end, rollout, run_record, small
from tests.metrics.framework_by_hand import (
    action,
    begin,
    call,
    event,
    gate,
    judged,
    observer,
    over,
    policies,
    ran,
    rules,
    wave,
    workload,
)
from tests.metrics.framework_by_hand import verdict as decided
from tests.report.made import EVIL, made

from fleetbeat.checks.model import Finding, Judgement, Link, Verdict
from fleetbeat.history.records import Record, norm_of
from fleetbeat.report import json, junit, text
from fleetbeat.report.data import Report, Ruling
from fleetbeat.report.framework_text import money, thousandths
from fleetbeat.report.plain import WIDTH

NORM = norm_of("bad")
TITLES = ("Framework", "Storm", "Exposure")


def storm(agents: Sequence[str] = ("a", "b"), ids: str = "loop", runs: int = 3, minutes: int = 1) -> list[Record]:
    """Each agent's observer prepares on its own ready event, `runs` times in each minute; one call is put to a user."""
    records = [
        run_record(),
        rollout("v1", b"bad", list(agents), waves=[[name] for name in agents]),
        body(b"bad", "v1"),
        workload(ids),
        policies(NORM, observer(ids, ["prompt", "ready"], "prepare"), gate(ids, "curl *", "ask")),
        *(agent(name) for name in agents),
    ]
    told = [wave(1 + i, "v1", i + 1) for i in range(len(agents))]
    for i, name in enumerate(agents):
        told += [begin(0, name), rules(2 + i, NORM, name), event(2 + i, 1, "prompt", agent=name)]
        told.append(action(2 + i, 2, "prepare", ids, 1, name, 0.25))
        for j in range(runs * minutes):
            t, last = 3 + j * 60 // runs + i, 2 + 2 * j
            told += [event(t, last + 1, "ready", last, name), action(t, last + 2, "prepare", ids, last + 1, name, 0.25)]
        told += [call(1, 9001, "curl x", name), judged(1, 9001, ids, "ask", 7, name), decided(1, 9001, "ask", name)]
        told += [ran(1, 9001, name), over(minutes * 60 + 20, name)]
    return [*records, *sorted(told, key=lambda record: record.t), end((minutes * 60 + 30) * S)]


def finding(*hops: str, t: int = 5) -> Finding:
    links = tuple(
        Link(i, i - 1 if i else None, t, what, "", "s-0", None if i == 0 else i - 1) for i, what in enumerate(hops)
    )
    return Finding("no-self-trigger", "violation", "agent", t, "m", "a", (), links)


def judgement(*findings: Finding, more: int = 0) -> Judgement:
    return Judgement((), (Verdict("no-self-trigger", "p", "broken", findings, 9, more=more),))


def report(records: Sequence[Record] | None = None, judged: Judgement | None = None) -> Report:
    return made(storm() if records is None else records, judgement() if judged is None else judged)


def test_a_report_without_a_workload_has_none_of_the_frameworks_sections() -> None:
    shown = text.render(made(*small()))
    assert not any(f"\n{title}\n" in shown for title in TITLES)


def test_a_report_with_a_workload_has_its_sections_with_their_numbers() -> None:
    shown = text.render(report())
    assert all(f"\n{title}\n" in shown for title in TITLES)
    for line in (
        "Core loop. Built-in guards: rm-rf.",
        "Prepares 8, cost 2.00. Injects 0.",
        "Chains begun by the framework 2: inject 0, prepare 2, emit 0; hops: 50 % 6, 90 % 6, 99 % 6,",
        "Let through: 2 dangerous calls that no gate in force watched.",
        "Self-triggered actions 6: notify 0, inject 0, prepare 6.",
        "Background tasks that should not have been: 6, cost 1.50.",
    ):
        assert line in shown, line


def test_the_storm_names_the_wave_that_should_have_been_stopped() -> None:
    records = [record for record in storm() if record.kind != "wave"]
    late = [wave(1, "v1", 1), wave(40, "v1", 2)]
    told = sorted([*records[:-1], *late], key=lambda record: record.t)
    shown = " ".join(text.render(report([*told, records[-1]])).split())
    assert "Wave 1 of v1 should have been stopped: its agents triggered themselves from 3.00s on, 37.0s before" in shown
    assert "Later waves' agents ran 3 tasks more, cost 0.75." in shown
    assert "should have been stopped" not in text.render(report())
    assert "No wave of v1 gave itself away before the next one began." in text.render(report())


def test_a_rollout_in_one_wave_had_no_later_one_to_hold_back() -> None:
    assert "v1 went out in one wave: there was no later one to hold back." in text.render(report(storm(["a"])))


def test_the_shortest_chain_is_drawn_below_the_findings() -> None:
    long = finding("prompt", "prepare", "ready", "tool.after", "inject")
    short = finding("prompt", "prepare", "ready", "prepare", t=9)
    lines = text.render(report(judged=judgement(long, short))).split("\n")
    at = lines.index("    shortest chain of causes:")
    drawn = "\n".join(lines[at : at + 6])
    assert [word in drawn for word in ("prompt", "ready", "breaks it", "inject")] == [True, True, True, False]
    assert lines[at + 5] == "", "four links, a line each"


def test_findings_that_were_only_counted_are_counted() -> None:
    failing = Ruling(1, "broken", (), ("no-self-trigger",), ())
    made_of = made(storm(), judgement(finding("prompt", "prepare"), more=4791), failing)
    assert (made_of.violations, made_of.verdicts[0].findings_total) == (4792, 4792)
    assert "violation 4792" in text.render(made_of)
    assert "4792 findings" in junit.render(made_of)


def test_a_failed_case_holds_the_shortest_chain_too() -> None:
    failing = Ruling(1, "broken", (), ("no-self-trigger",), ())
    shown = junit.render(made(storm(), judgement(finding("prompt", "prepare", "ready", EVIL)), failing))
    case = ElementTree.fromstring(shown).find("testsuite/testcase[@name='no-self-trigger']/failure")
    assert case is not None
    assert case.text is not None
    assert "shortest chain of causes:" in case.text
    assert [word in case.text for word in ("prompt", "ready", "breaks it", "pwned")] == [True] * 4


@pytest.mark.parametrize("ids", ["loop", "x" * 300])
def test_lines_fit_the_width_however_great_the_numbers_and_long_the_names(ids: str) -> None:
    agents = [f"agent-{i:03}" for i in range(10)]
    records = storm(agents, ids, runs=60, minutes=12)
    lines = text.render(report(records)).rstrip("\n").split("\n")
    wide = [line for line in lines[:-1] if len(line) > WIDTH and "x" * 100 not in line]
    assert wide == []


def test_long_tables_are_cut_and_say_so() -> None:
    shown = text.render(report(storm(minutes=30)))
    assert "  ... and 10 more minutes" in shown
    assert len([line for line in shown.split("\n") if "█" in line]) == 20


def test_no_text_of_a_core_or_a_body_acts_on_a_terminal() -> None:
    evil = finding(EVIL, EVIL)
    shown = text.render(report([*storm([EVIL], EVIL)], judgement(evil)))
    assert {unicodedata.category(char) for char in shown.replace("\n", "")} & {"Cc", "Cf", "Cs", "Zl", "Zp"} == set()
    assert not any(line.lstrip().startswith("fake") for line in shown.split("\n"))


def test_json_holds_the_tables_and_turns_pairs_into_objects() -> None:
    found = stdlib_json.loads(json.render(report(judged=judgement(finding("prompt", "prepare")))))
    framework = found["metrics"]["framework"]
    assert framework["events"]["ready"] == 6
    assert framework["actions"] == {"notify": 0, "inject": 0, "prepare": 8, "emit": 0}
    assert framework["chains"]["self_triggered_actions"]["prepare"] == framework["storm"]["runs"] == 6
    assert framework["calls"]["dangerous"][1]["became"]["allowed"] == framework["calls"]["let_through"] == 2
    assert framework["calls"]["decided"]["ask"] == 2
    assert framework["exposure"][0]["reached"] == 2
    assert [link["what"] for link in found["verdicts"][0]["chain"]] == ["prompt", "prepare"]
    assert stdlib_json.loads(json.render(made(*small())))["metrics"]["framework"] is None


def test_a_workload_in_which_nothing_happened_still_has_its_report() -> None:
    empty = report([run_record(), workload(), agent("a"), end()])
    shown = text.render(empty)
    assert "Chains begun by the framework: none." in shown
    assert "\nStorm\n" not in shown
    assert dataclasses.asdict(empty.metrics)["framework"]["notified"]["per_user_hour"] is None


@pytest.mark.parametrize(
    ("millionths", "shown"), [(0, "0.00"), (4_999, "0.00"), (5_000, "0.01"), (12_500_000, "12.50"), (-250_000, "-0.25")]
)
def test_money_is_shown_to_the_hundredth(millionths: int, shown: str) -> None:
    assert money(millionths) == shown


def test_thousandths_are_cut_and_not_rounded_up() -> None:
    assert (thousandths(56_999), thousandths(99), thousandths(100)) == ("56.9", "0.0", "0.1")
