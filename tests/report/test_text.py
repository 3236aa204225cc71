from __future__ import annotations

import dataclasses
import re
import unicodedata

from tests.history.hand import S, agent, applied, body, end, prompt, rec, rollout, run_record, small
from tests.report.made import hostile, made, report

from fleetbeat.checks.model import Finding, Judgement, PostFate, Verdict
from fleetbeat.cli.output import painter
from fleetbeat.report import text
from fleetbeat.report.data import Ruling
from fleetbeat.report.plain import WIDTH, safe

HARMFUL = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_the_report_ends_in_one_summary_line_that_says_it_all() -> None:
    last = text.render(report()).rstrip("\n").split("\n")[-1]
    assert last == (
        "broken · applied 1, lost 1 · 0 violations, 1 gap, 1 hazard · seed 7 · replay: fleetbeat run by-hand"
    )


def test_the_summary_stays_one_line_however_long_the_replay_command_is() -> None:
    long = dataclasses.replace(report(), replay="fleetbeat run " + "x" * 500)
    assert text.summary(long).endswith("x" * 500)
    assert text.render(long).rstrip("\n").split("\n")[-1] == text.summary(long)


def test_no_character_that_acts_on_a_terminal_reaches_the_text() -> None:
    shown = text.render(hostile())
    assert {unicodedata.category(char) for char in shown.replace("\n", "")} & HARMFUL == set()
    assert "fake" in shown
    assert not any(line.lstrip().startswith("fake") for line in shown.split("\n"))


def test_what_safe_escapes_is_readable_and_ordinary_text_is_left_alone() -> None:
    assert safe("a\x1bb\n\u202e\ud800\x9b") == "a\\x1bb\\x0a\\u202e\\ud800\\x9b"
    assert safe("Grüße, 你好 🙂 100 %") == "Grüße, 你好 🙂 100 %"


def test_lines_fit_the_width_except_for_the_summary_and_unbreakable_words() -> None:
    records, judgement = small(note="a very long note " * 30)
    lines = text.render(made(records, judgement)).rstrip("\n").split("\n")
    assert max(len(line) for line in lines[:-1]) <= WIDTH


def test_every_section_is_there_with_its_numbers() -> None:
    shown = text.render(report())
    for title in (
        "Convergence", "Lag from landed to effective", "Slowest", "Fates of posts", "Posts not applied", "Invariants",
        "Findings", "Faults", "Cost", "Operators' claims", "Targets that did not converge", "Expectations", "Why",
    ):  # fmt: skip
        assert f"\n{title}\n" in shown
    assert "known gap of reference" in shown
    assert "EIO on read (fault flaky)" in shown
    assert "v2/a-1#1 lost: the beat at 5s unlinked it unread" in shown
    assert "a-1 v2 lost: post again: the signal is gone" in shown
    assert "no spawns were observed" in shown


def test_a_section_with_nothing_to_say_is_left_out() -> None:
    bare = made([run_record(), end()], Judgement((), ()), Ruling(0, "held"))
    shown = text.render(bare)
    assert "Convergence" not in shown
    assert "Faults" not in shown
    assert shown.rstrip("\n").split("\n")[-1].startswith("held · no posts · 0 violations, 0 gaps, 0 hazards · seed 7")


def test_many_findings_are_cut_and_the_rest_is_counted() -> None:
    found = tuple(Finding("scope", "violation", "agent", i, f"finding number {i}") for i in range(10))
    judged = Judgement((), (Verdict("scope", "p", "broken", found, 10),))
    shown = text.render(made([run_record(), end()], judged))
    assert [f"finding number {i}" in shown for i in range(5)] == [True, True, True, False, False]
    assert "... and 7 more" in shown


def test_many_posts_of_one_fate_are_cut_and_none_of_another_fate_is_hidden() -> None:
    fates = [PostFate(f"p{i}", "v", f"a-{i}", "op", "stuck") for i in range(9)] + [
        PostFate("q", "v", "b", "op", "lost")
    ]
    shown = text.render(made([run_record(), end()], Judgement(tuple(fates), ())))
    assert "... and 6 more stuck" in shown
    assert "  q lost" in shown


def test_parts_of_the_lag_that_nobody_saw_are_called_not_observed() -> None:
    shown = text.render(made([run_record(), end()], Judgement((applied("p", "a", 0, S),), ())))
    assert shown.count("not observed") >= 3


def test_the_curve_reaches_the_top_only_when_all_targets_have_it() -> None:
    names = [f"a-{i}" for i in range(4)]
    head = [run_record(), rollout("v2", b"two", names), body(b"two", "v2"), *map(agent, names)]
    begin = rec(0, "wave", rollout="v2", wave=1, event="begin", targets=4)
    prompts = [prompt((i + 1) * S, name, b"two") for i, name in enumerate(names)]
    all_of_them = text.render(made([*head, begin, *prompts, end()], Judgement((), ())))
    but_one = text.render(made([*head, begin, *prompts[:-1], end()], Judgement((), ())))
    assert "█| 100 %" in all_of_them
    assert "▆| 75 %" in but_one


def test_long_names_and_descriptions_neither_widen_a_table_nor_lose_the_description() -> None:
    long = "v" * 63
    means = "EIO on every single read of the file .rules by anyone, probability 0.25, after half of the effect"
    head = [run_record(), rollout(long, b"two", ["a-0"]), body(b"two", long), agent("a-0")]
    plan = rec(0, "fault.plan", fault="f" * 63, means=means, on="agents", targets=["a-0"], from_=0, to=None)
    verdict = Verdict("i" * 63, "p", "unknown", (), 0, "r" * 300)
    fates = (applied("p", "a-0", 0, S, version=long), applied("q", "a-0", 0, S))
    shown = text.render(made([*head, plan, end()], Judgement(fates, (verdict,))))
    assert [line for line in shown.split("\n")[:-2] if len(line) > WIDTH] == []
    assert all(word in shown for word in means.split())


def test_colour_wraps_the_plain_text_and_changes_nothing_else() -> None:
    painted = text.render(report(), painter("always", None))
    assert "\x1b[31mbroken\x1b[0m" in painted
    assert re.sub(r"\x1b\[[0-9]+m", "", painted) == text.render(report())
