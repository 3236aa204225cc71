from __future__ import annotations

from tests.history.hand import end, log, rec, run_record

from fleetbeat.history.diff import Change, changes, part


def test_equal_histories_do_not_part_even_if_one_came_from_a_file() -> None:
    a = [run_record(observed=("ops",)), log(1, "a", "e", x=1, y=2), end(9)]
    b = [run_record(observed=["ops"]), log(1, "a", "e", y=2, x=1), end(9)]
    assert part(a, b) is None


def test_the_first_record_that_differs_is_named_with_its_fields() -> None:
    a = [run_record(), log(1, "a", "e"), log(2, "b", "e"), end(9)]
    b = [run_record(), log(1, "a", "e"), log(3, "b", "f"), end(9)]
    parting = part(a, b)
    assert parting is not None
    assert parting.index == 2
    assert parting.fields == (("t", "2", "3"), ("event", '"e"', '"f"'))


def test_an_absent_field_is_told_apart_from_null() -> None:
    parting = part([rec(0, "signal", agent="a", to=None)], [rec(0, "signal", agent="a")])
    assert parting is not None
    assert parting.fields == (("to", "null", None),)


def test_a_history_that_ends_early_parts_where_it_ends() -> None:
    whole = [run_record(), log(1, "a", "e"), end(9)]
    parting = part(whole[:2], whole)
    assert parting is not None
    assert (parting.index, parting.left, parting.right) == (2, None, whole[2])
    assert part([], []) is None


def test_changes_name_what_only_one_side_has() -> None:
    assert changes({"p": "lost", "q": "applied"}, {"p": "applied", "q": "applied", "r": "stuck"}) == (
        Change("p", "lost", "applied"),
        Change("r", None, "stuck"),
    )
