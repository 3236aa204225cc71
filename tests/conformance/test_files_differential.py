"""Random sequences of calls by several processes, made on both sides: every answer and every errno must be equal, and
so must the trees, the bytes and the inodes behind the open handles at the end.

Three processes of three users in a jail where the tests run as root, else of the one user. Directories that are sticky
and writable by all are left out: there the kernel's `fs.protected_*` settings, which the model leaves out, may refuse
more.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.conformance.files_sides import IS_ROOT, OTHER, OWNER, MemorySide, RealSide, jail, outcome

NAMES = "abc"
Call = tuple[Any, ...]

ONE = [f"/{a}" for a in NAMES]
TWO = [f"{path}/{a}" for path in ONE for a in NAMES]
paths = st.sampled_from(ONE * 6 + TWO * 3 + [f"{path}/{a}" for path in TWO for a in NAMES])
#: Links that climb are made in a jail alone.
steps = [*NAMES, "..", "."] if IS_ROOT else [*NAMES, "."]
targets = st.one_of(
    st.lists(st.sampled_from(steps), min_size=1, max_size=3).map("/".join),
    st.sampled_from(["a/", "./", "a/b/", "/a", "/b/c", "/"] if IS_ROOT else ["a/", "./", "a/b/"]),
)
modes = st.sampled_from(["r", "w", "x", "a", "r+", "d"])
bodies = st.binary(max_size=6)
sizes = st.integers(0, 8)
picks = st.integers(0, 7)
processes = st.integers(0, 2)
#: Without root everything stays open to its owner, since the tests themselves must get at it.
OPEN_TO_OWNER = [0o777, 0o755, 0o700, 0o711, 0o722]
CLOSED = [0o644, 0o600, 0o666, 0o444, 0o000, 0o007]
perms = st.sampled_from(OPEN_TO_OWNER + CLOSED * IS_ROOT)

calls = st.one_of(
    st.tuples(st.just("open"), processes, paths, modes, perms),
    st.tuples(st.just("open"), processes, paths, modes, st.just(0o666)),
    st.tuples(st.just("read"), picks, sizes),
    st.tuples(st.just("write"), picks, bodies),
    st.tuples(st.just("truncate"), picks, sizes),
    st.tuples(st.sampled_from(["sync", "close"]), picks),
    st.tuples(st.just("rename"), processes, paths, paths),
    st.tuples(st.just("rename"), processes, paths, paths),
    st.tuples(st.sampled_from(["unlink", "list"]), processes, paths),
    st.tuples(st.just("mkdir"), processes, paths, perms),
    st.tuples(st.just("mkdir"), processes, paths, st.just(0o777)),
    st.tuples(st.just("stat"), processes, paths, st.booleans()),
    st.tuples(st.just("symlink"), paths, targets),
    st.tuples(st.just("chmod"), paths, perms),
)


#: What stands before each sequence, so that its calls find something: directories of two users, files, links.
START: list[Call] = [
    ("mkdir", 1, "/a", 0o777),
    ("chmod", "/a", 0o777),
    ("mkdir", 2, "/a/b", 0o755),
    ("mkdir", 1, "/b", 0o755),
    ("open", 2, "/a/c", "w", 0o666),
    ("write", 0, b"body"),
    ("open", 1, "/b/a", "x", 0o600),
    ("symlink", "/a/a", "b"),
    ("symlink", "/b/c", "../a/c" if IS_ROOT else "c"),
]


class Pair:
    """The two sides, and the handles open on both: (process, handle in memory, real handle)."""

    def __init__(self, root: str) -> None:
        self.memory, self.real = MemorySide(), RealSide(root)
        users = (0, OWNER, OTHER) if IS_ROOT else (None, None, None)
        self.in_memory = [self.memory.process(uid) for uid in users]
        self.in_real = [self.real.process(uid) for uid in users]
        self.open: list[tuple[int, int, int]] = []
        self.both(lambda side: side.chmod("/", 0o777))
        for call in START:
            self.step(call)

    def both(self, call: Callable[[Any], Any]) -> tuple[Any, Any]:
        return outcome(call, self.memory), outcome(call, self.real)

    def ask(self, process: int, name: str, *given: Any, **named: Any) -> tuple[Any, Any]:
        memory, real = self.in_memory[process], self.in_real[process]
        return outcome(getattr(memory, name), *given, **named), outcome(getattr(real, name), *given, **named)

    def step(self, call: Call) -> tuple[Any, Any]:
        name, *given = call
        if name == "open":
            return self.opening(given)
        if name in ("rename", "unlink", "list", "mkdir"):
            return self.ask(given[0], name, *given[1:])
        if name == "stat":
            memory, real = self.ask(given[0], "stat", given[1], follow=given[2])
            return comparable(memory), comparable(real)
        if name in ("symlink", "chmod"):
            if name == "chmod" and self.memory.world.kind(given[0]) == "symlink":
                return None, None  # a link has no bits of its own: the kernel would follow it
            return self.both(lambda side: getattr(side, name)(*given))
        return self.through_handle(name, given)

    def opening(self, given: list[Any]) -> tuple[Any, Any]:
        process, *rest = given
        memory, real = self.ask(process, "open", *rest)
        if isinstance(memory, int) and isinstance(real, int):
            self.open.append((process, memory, real))
            return "opened", "opened"
        return memory, real

    def through_handle(self, name: str, given: list[Any]) -> tuple[Any, Any]:
        if not self.open:
            return None, None
        if name == "steal":
            _, memory, real = self.open[given[1] % len(self.open)]
            stranger = 2 if self.open[given[1] % len(self.open)][0] != 2 else 0
            return outcome(self.in_memory[stranger].read, memory, 1), outcome(
                self.in_real[stranger].read, real + 10_000, 1
            )
        index = given[0] % len(self.open)
        process, memory, real = self.open[index]
        if name == "close":
            del self.open[index]
        memory_call, real_call = getattr(self.in_memory[process], name), getattr(self.in_real[process], name)
        return outcome(memory_call, memory, *given[1:]), outcome(real_call, real, *given[1:])

    def play(self, sequence: list[Call]) -> None:
        for index, call in enumerate(sequence):
            memory, real = self.step(call)
            if memory is not None or call[0] == "close":
                event(f"{call[0]}: {memory if isinstance(memory, str) else 'ok'}")
            assert memory == real, f"call {index} {call}: memory says {memory!r}, the kernel says {real!r}"
        self.compare()

    def compare(self) -> None:
        contents = self.memory.contents()
        assert contents == self.real.contents()
        for process, memory, real in self.open:
            descriptors = self.in_real[process]
            for path in contents:
                held = self.memory.same_inode(None, memory, path)
                assert held == self.real.same_inode(descriptors, real, path), path

    def close(self) -> None:
        for process, _, real in self.open:
            self.in_real[process].close(real)


def comparable(stat: Any) -> Any:
    """All but the inode's number, or the errno."""
    return stat if isinstance(stat, str) else (stat.kind, stat.size, stat.mode, stat.uid)


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def both_sides_agree(sequence: list[Call]) -> None:
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    directory = tempfile.mkdtemp(prefix="fleetbeat-", dir=where)
    try:
        with jail(directory) as root:
            pair = Pair(root)
            try:
                pair.play(sequence)
            finally:
                pair.close()
    finally:
        shutil.rmtree(directory, ignore_errors=not IS_ROOT)


PROFILE = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@settings(PROFILE, max_examples=300)
@given(st.lists(calls, min_size=25, max_size=60))
def test_memory_and_kernel_answer_alike(sequence: list[Call]) -> None:
    both_sides_agree(sequence)


@pytest.mark.slow
@settings(PROFILE, max_examples=5_000)
@given(st.lists(calls, min_size=30, max_size=120))
def test_memory_and_kernel_answer_alike_for_long(sequence: list[Call]) -> None:
    both_sides_agree(sequence)
