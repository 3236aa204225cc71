"""Philox against the answers published with Random123 (file `kat_vectors`, philox 4x32, 10 rounds)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetbeat.chance.philox import philox4x32, philox64, round_keys
from fleetbeat.chance.vector import philox_words

ONES = 0xFFFFFFFF
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
word = st.integers(0, ONES)


def array_form(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    lanes = [np.array([c, 1, c], dtype=np.uint64) for c in counter]
    words = philox_words(*lanes, [np.uint64(k) for k in round_keys(*key)])
    assert all(int(w[0]) == int(w[2]) for w in words)
    return tuple(int(w[2]) for w in words)


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_all_three_forms_give_the_published_answers(counter, key, answer):
    assert philox4x32(counter, key) == answer
    assert philox64(*counter, round_keys(*key)) == answer[0] | answer[1] << 32
    assert array_form(counter, key) == answer


@given(st.tuples(word, word, word, word), st.tuples(word, word))
def test_the_written_out_and_the_array_form_equal_the_plain_one(counter, key):
    answer = philox4x32(counter, key)
    assert philox64(*counter, round_keys(*key)) == answer[0] | answer[1] << 32
    assert array_form(counter, key) == answer
