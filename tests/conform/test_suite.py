"""The conformance suite, in simulation: the right agents pass it, and each wrong one differs where it is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fleetbeat.conform.played import blamed, played
from fleetbeat.conform.rows import ROWS
from fleetbeat.conform.stage import numbered, stage
from fleetbeat.conform.suite import Result, check
from fleetbeat.conform.suite_words import document, render
from fleetbeat.engines.des import run
from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import find_agent
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.words import INVARIANTS

AGENTS = find_agent("reference").parent
KNOWN = {row.id: row for row in ROWS}

#: The row at which each mutant must differ where its base does not.
CAUGHT_AT = {
    "applies-unconsumed": "unlink-fails",
    "claims-over-unfinished": "read-fails-twice",
    "compares-unstripped": "identical-stripped",
    "dies-of-poison": "not-utf8",
    "drops-claim-early": "dies-in-write",
    "flushes-blank": "blank",
    "flushes-identical": "identical",
    "forgets-claim": "dies-having-taken",
    "forgets-on-rebuild": "rebuild",
    "forgets-the-flush": "flush-fails",
    "keeps-handle": "read-fails",
    "leaves-blank": "blank",
    "lets-stat-escape": "look-fails",
    "logs-twice": "replaced",
    "looks-away": "replaced-twice",
    "looks-seldom": "replaced-twice",
    "merges": "replaced",
    "peeks-for-identical": "overtaken-identical",
    "persists-blank": "blank",
    "prompt-first": "write-fails",
    "reads-before-claim": "overtaken",
    "rebuilds-late": "rebuild",
    "replaces-undecodable": "not-utf8",
    "retries-stale": "write-fails-then-newer",
    "silent-write-failure": "write-fails",
    "skips-directory-sync": "power",
    "skips-file-sync": "power",
    "takes-no-lock": "rebuild-beside",
    "writes-elsewhere": "replaced",
    "writes-in-place": "dies-in-write",
}


def _readme() -> dict[str, tuple[str, list[str]]]:
    """Mutant -> its base agent and what the README says that it breaks."""
    found = re.findall(r"^\| `([\w-]+)` \| (\w+) \| ([\w, *-]+) \|$", (AGENTS / "mutants/README.md").read_text(), re.M)
    return {name: (base, re.findall(r"[a-z-]{4,}", broken)) for name, base, broken in found}


def _answer(folder: Path, row: str) -> Result:
    (result,) = check(folder, run, [KNOWN[row]])
    return result


@pytest.mark.parametrize("name", ["reference", "claim"])
def test_a_right_agent_is_as_specified_in_every_row(name: str) -> None:
    results = check(AGENTS / name, run)
    assert [(result.row, result.why) for result in results if result.answer != "as specified"] == []
    assert [result.row for result in results] == [row.id for row in ROWS]


def test_gaps_that_a_manifest_admits_are_noted_and_the_claim_agent_shows_none() -> None:
    shown = {result.row: result.gaps for result in check(AGENTS / "reference", run) if result.gaps}
    assert shown["overtaken"] == ("no-silent-loss",)
    assert "dies-in-write" in shown
    assert "replaced" not in shown
    assert [result.gaps for result in check(AGENTS / "claim", run) if result.gaps] == []


def test_every_mutant_has_its_row() -> None:
    assert (
        sorted(CAUGHT_AT)
        == sorted(_readme())
        == sorted(path.parent.name for path in AGENTS.glob("mutants/*/program.py"))
    )


@pytest.mark.parametrize("name", CAUGHT_AT)
def test_a_mutant_differs_at_its_row_where_its_base_does_not(name: str) -> None:
    base, broken = _readme()[name]
    row = CAUGHT_AT[name]
    result = _answer(AGENTS / "mutants" / name, row)
    assert result.answer == "differs", result
    assert set(broken) & set(KNOWN[row].invariants), (broken, result)
    assert _answer(AGENTS / base, row).answer == "as specified"


def test_a_gap_that_the_manifest_does_not_admit_differs() -> None:
    """The same program as the reference agent's, by a manifest that promises everything."""
    result = _answer(AGENTS / "mutants" / "flushes-blank", "overtaken")
    assert result.answer == "as specified"  # its base is the claim agent
    result = _answer(AGENTS / "mutants" / "persists-blank", "overtaken")
    assert (result.answer, "no-silent-loss" in result.why[0]) == ("differs", True)


def test_a_row_whose_fault_never_struck_shows_nothing() -> None:
    idle = replace(KNOWN["read-fails"], faults=({"operation": "list", "error": "EIO", "probability": 1},))
    (result,) = check(AGENTS / "reference", run, [idle])
    assert (result.answer, result.why) == ("not observable", ("no fault struck: it made no such operation (list)",))


def test_a_row_that_was_not_watched_shows_nothing() -> None:
    def blind(scenario: Scenario) -> Sequence[Record]:
        records = run(scenario)
        gap = Record(0, "harness", "unseen", {"agent": None, "from": 0, "to": 9 * 10**9, "missing": "signal"})
        return [*records[:-1], gap, records[-1]]

    (result,) = check(AGENTS / "reference", blind, [KNOWN["boot"]])
    assert (result.answer, result.why) == ("not observable", ("not observed: signal",))


@pytest.mark.parametrize(("late", "answer"), [(5, "differs"), (400, "not observable")])
def test_what_differs_on_a_machine_that_is_too_busy_proves_nothing(late: int, answer: str) -> None:
    def busy(scenario: Scenario) -> Sequence[Record]:
        records = run(scenario)
        fields = {"what": "observation", "count": 9, **dict.fromkeys(("p50", "p90", "p99", "max"), late * 10**6)}
        return [*records[:-1], Record(records[-1].t, "harness", "measured", fields), records[-1]]

    wrong, right = check(AGENTS / "mutants" / "leaves-blank", busy, [KNOWN["blank"], KNOWN["replaced"]])
    assert (wrong.answer, right.answer) == (answer, "as specified")


def test_a_newer_post_that_came_too_late_shows_nothing() -> None:
    early = replace(
        KNOWN["overtaken"], posts=(KNOWN["overtaken"].posts[0], {**KNOWN["overtaken"].posts[1], "at": "5s"})
    )
    (result,) = check(AGENTS / "reference", run, [early])
    assert (result.answer, result.why) == ("not observable", ("v2 landed after v1 was taken",))


def test_a_newer_post_that_came_too_soon_shows_nothing() -> None:
    first, second = KNOWN["write-fails-then-newer"].posts
    soon = replace(KNOWN["write-fails-then-newer"], posts=(first, {**second, "at": "1700ms"}))
    (result,) = check(AGENTS / "reference", run, [soon])
    assert (result.answer, result.why) == ("not observable", ("v2 landed before v1 was taken",))


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    together = check(AGENTS / "mutants" / "keeps-handle", run)
    alone = [_answer(AGENTS / "mutants" / "keeps-handle", row.id) for row in ROWS]
    assert together == alone


def test_each_row_names_what_it_watches_and_loads() -> None:
    assert [row.id for row in ROWS if not set(row.invariants) <= set(INVARIANTS)] == []
    assert len(KNOWN) == len(ROWS)
    assert len(stage(AGENTS / "reference", ROWS).fleet.groups) == len(ROWS)


def test_an_agent_without_a_program_is_not_observable_in_simulation(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: mine\ncommand: [run-it]\n")
    results = played(tmp_path, "des", ROWS)
    assert {result.answer for result in results} == {"not observable"}
    assert results[0].why == ("it has no program for simulation (program.py)",)


def test_a_refusal_is_laid_at_the_rows_and_faults_that_it_names() -> None:
    rows = [numbered(KNOWN[name]) for name in ("read-fails", "unlink-fails", "restart", "boot")]
    lines = (
        "fault read-fails.1 (EIO): got a foreign agent",
        "fault unlink-fails.2: no",
        "a crash of restart-0: no",
        "x",
    )
    refused, left = blamed(lines, rows)
    assert refused == {"read-fails": lines[0], "restart": lines[2]}
    assert [fault["id"] for fault in left[1].faults] == ["unlink-fails.1"]  # it can still be played by that one


def test_an_engine_that_refuses_a_row_plays_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def play(scenario: Scenario, overrides: None, progress: None) -> Sequence[Record]:
        calls.append(len(scenario.faults))
        bad = next((fault.id for fault in scenario.faults if fault.operation == "read"), None)
        if bad is not None:
            raise CannotDo(f"engine process: fault {bad} (EIO): this machine cannot")
        return run(scenario)

    monkeypatch.setattr("fleetbeat.engines._Registry.engine", lambda self, name: play)
    found = played(AGENTS / "reference", "process", [KNOWN["read-fails"], KNOWN["unlink-fails"]])
    assert [one.answer for one in found] == ["not observable", "as specified"]
    assert "this machine cannot" in found[0].why[0]
    assert calls == [3, 2]
    monkeypatch.setattr("fleetbeat.engines._Registry.engine", lambda self, name: refuses)
    with pytest.raises(CannotDo, match="nothing here"):
        played(AGENTS / "reference", "process", [KNOWN["boot"]])


def test_a_run_that_was_interrupted_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(scenario: Scenario, overrides: None, progress: None) -> Sequence[Record]:
        return [*run(scenario)[:-1], Record(0, "harness", "end", {"reason": "interrupted"})]

    monkeypatch.setattr("fleetbeat.engines._Registry.engine", lambda self, name: play)
    with pytest.raises(KeyboardInterrupt):
        played(AGENTS / "reference", "process", [KNOWN["boot"]])


def refuses(scenario: Scenario, overrides: None, progress: None) -> Sequence[Record]:
    raise CannotDo("nothing here")


def test_the_table_says_what_differs_and_hides_no_row() -> None:
    rows = [KNOWN["replaced"], KNOWN["blank"]]
    results = check(AGENTS / "mutants" / "logs-twice", run, rows)
    text = render("mine\x1b[2J", "about", rows, {"des": results, "process": results})
    assert "\x1b" not in text
    assert re.search(r"^  replaced +replace the protected section +differs +differs$", text, re.M)
    assert re.search(r"^  blank +body blank +as specified +as specified$", text, re.M)
    assert "rules_loaded was logged 2 times, expected 1" in text
    told = json.loads(document("mine", rows, {"des": results}))
    assert [row["answers"]["des"]["answer"] for row in told["rows"]] == ["differs", "as specified"]
