"""Copies of a world are independent, and equal states behave alike."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.files_sides import outcome, read, write

from fleetbeat.files.memory import MemoryFiles, MemoryProcess, Unsynced


def offered(world: MemoryFiles) -> list[Unsynced]:
    """All that a power failure would offer, in order."""
    seen: list[Unsynced] = []

    def keep(change: Unsynced) -> bool:
        seen.append(change)
        return True

    world.power_loss(["/a", "/b"], keep)
    return seen


def a_world() -> MemoryFiles:
    world = MemoryFiles()
    world.make_dirs("/a/system", 1000)
    world.make_dirs("/b", 1000)
    world.put("/a/rules", b"durable", 1000)
    world.symlink("/a/link", "rules")
    world.set_budget("/a", "h1", 100)
    world.set_budget("/b", "h1", 100)
    return world


def busy(world: MemoryFiles) -> MemoryProcess:
    """Leaves open handles, unlinked files, unsynced bytes and entries, a rename between directories."""
    files = world.process()
    handle = files.open("/a/rules", "r+")
    files.read(handle, 3)
    files.unlink("/a/rules")
    write(files, "/a/tmp", b"new")
    files.rename("/a/tmp", "/b/rules")
    return files


def test_a_copy_shares_nothing_with_its_original() -> None:
    world = a_world()
    files = busy(world)
    copy = world.copy()
    before = copy.state()
    assert before == world.state()
    handle = next(iter(world.handles))
    files.write(handle, b"changed!")
    files.unlink("/b/rules")
    files.mkdir("/a/d")
    world.fill("h1")
    world.readonly("/b")
    world.chmod("/a", 0)
    world.power_loss(["/a", "/b"], lambda change: False)
    files.exit()
    assert copy.state() == before
    assert copy.peek("/b/rules") == b"new"
    assert (copy.used("h1"), copy.budget("h1")) == (10, 100)


def test_a_copied_process_keeps_its_handles_positions_and_numbering() -> None:
    world = a_world()
    files = busy(world)
    copy = world.copy()
    twin = copy.processes[files.number]
    handle = next(iter(copy.handles))
    assert twin.read(handle, 9) == files.read(handle, 9) == b"able"
    assert twin.open("/b/rules", "r") == files.open("/b/rules", "r")
    twin.mkdir("/a/new")
    files.mkdir("/a/new")
    assert copy.inode("/a/new") == world.inode("/a/new")
    assert copy.process().number == world.process().number
    assert copy.state() == world.state()
    twin.exit()
    assert not copy.handles
    assert world.handles


def test_a_copy_fails_like_its_original() -> None:
    for kept in ((), ("renamed",), ("removed", "data"), ("created",)):
        world = a_world()
        busy(world)
        copy = world.copy()
        lost = [one.power_loss(["/b"], lambda change: change.kind in kept) for one in (world, copy)]  # noqa: B023
        assert lost[0] == lost[1]
        assert world.state() == copy.state()
        assert (world.used("h1"), world.used("")) == (copy.used("h1"), copy.used(""))


def test_a_copy_goes_on_noting_changes_in_order() -> None:
    world = a_world()
    busy(world)
    copy = world.copy()
    orders = []
    for one in (world, copy):
        files = one.process()
        write(files, "/a/late", b"x")
        orders.append(offered(one))
    assert orders[0] == orders[1]
    assert orders[1][-2:] == [Unsynced("created", "/a/late"), Unsynced("data", "/a/late")]


def test_states_tell_which_of_two_files_of_one_name_was_written_first() -> None:
    states = []
    for first in (0, 1):
        world = a_world()
        files = world.process()
        handles = [files.open("/a/rules", "r+")]
        files.unlink("/a/rules")
        handles.append(files.open("/a/rules", "x"))
        files.write(handles[first], b"x")
        files.write(handles[1 - first], b"x")
        states.append(world.state())
    assert states[0] != states[1]


def test_states_ignore_the_numbers_of_inodes_and_the_order_of_creation() -> None:
    one, two = a_world(), a_world()
    for world, names in ((one, "xy"), (two, "yx")):
        files = world.process()
        for name in names:
            write(files, f"/a/{name}", name.encode())
        world.settle()
    assert one.inode("/a/x") != two.inode("/a/x")
    assert one.state() == two.state()
    assert hash(one.state()) == hash(two.state())


def test_states_differ_by_everything_that_can_still_show() -> None:
    def changed(*calls: str) -> object:
        world = a_world()
        files = world.process()
        for call in calls:
            eval(call, {"world": world, "files": files, "write": write})
        return world.state()

    states = [
        changed(),
        changed("write(files, '/a/rules', b'other')"),
        changed("write(files, '/a/rules', b'other')", "world.settle()"),
        changed("write(files, '/a/rules', b'durable')"),
        changed("files.open('/a/rules')"),
        changed("files.read(files.open('/a/rules'), 1)"),
        changed("files.open('/a/rules', 'a')"),
        changed("files.open('/a/link')"),
        changed("files.unlink('/a/rules')"),
        changed("files.unlink('/a/rules')", "world.settle()"),
        changed("files.open('/a/rules')", "files.unlink('/a/rules')", "world.settle()"),
        changed("files.rename('/a/rules', '/a/r')"),
        changed("files.rename('/a/rules', '/a/r')", "world.settle()"),
        changed("world.chmod('/a/rules', 0o600)"),
        changed("world.chown('/a/rules', 0)"),
        changed("world.pin('/a/rules')"),
        changed("world.readonly('/a')"),
        changed("world.readonly('/a/system')"),
        changed("world.fill('h1')"),
        changed("world.symlink('/a/x', 'rules')"),
        changed("world.symlink('/a/x', 'system')"),
        changed("world.process(0)"),
    ]
    assert len(set(states)) == len(states)


def test_a_state_without_durability_forgets_what_only_a_power_failure_shows() -> None:
    one, two = a_world(), a_world()
    for world, times in ((one, 1), (two, 3)):
        files = world.process()
        for _ in range(times):
            write(files, "/a/s", b"x")
            files.unlink("/a/s")
    assert one.state(durable=False) == two.state(durable=False)
    assert one.state() != two.state()


names = st.sampled_from(["/a/x", "/a/y", "/b/x", "/b/y"])
calls = st.lists(
    st.one_of(
        st.tuples(st.just("put"), names, st.binary(max_size=3)),
        st.tuples(st.just("write"), names, st.binary(max_size=3)),
        st.tuples(st.just("sync"), st.sampled_from(["/a", "/b", "/a/x", "/b/y"])),
        st.tuples(st.just("rename"), names, names),
        st.tuples(st.just("unlink"), names),
        st.tuples(st.just("hold"), names),
        st.tuples(st.just("exit")),
    ),
    max_size=25,
)


def play(world: MemoryFiles, files: MemoryProcess, sequence: list[tuple[object, ...]]) -> None:
    for name, *rest in sequence:
        if name == "put":
            outcome(world.put, *rest, 1000)
        elif name == "write":
            outcome(write, files, *rest)
        elif name == "sync":
            handle = outcome(files.open, *rest)
            if isinstance(handle, int):
                files.sync(handle)
                files.close(handle)
        elif name == "hold":
            outcome(files.open, *rest)
        else:
            outcome(getattr(files, str(name)), *rest)


@settings(derandomize=True, max_examples=200, deadline=None, database=None)
@given(calls, calls, st.integers(0, 2**12 - 1))
def test_power_loss_keeps_the_tree_and_the_disks_consistent(
    before: list[tuple[object, ...]], after: list[tuple[object, ...]], bits: int
) -> None:
    world = a_world()
    files = world.process()
    play(world, files, before)
    copy = world.copy()
    seen: list[object] = []

    def keep(change: object) -> bool:
        seen.append(change)
        return bool(bits >> (len(seen) % 12) & 1)

    shown = {path: world.peek(path) for path in ("/a/x", "/a/y", "/b/x", "/b/y")}
    changed = world.power_loss(["/a", "/b"], keep)
    assert len(set(seen)) == len(seen)
    assert {path for path in shown if world.peek(path) != shown[path]} <= set(changed) <= set(shown)
    assert world.power_loss(["/a", "/b"], lambda change: False) == []
    play(world, files, after)
    files.exit()
    assert world.used("h1") == sum(len(world.peek(path) or b"") for path in ("/a/rules", *shown))
    assert world.used("") == 0
    assert copy.power_loss(["/a", "/b"], lambda change: True) == []
    assert {path: copy.peek(path) for path in shown} == shown
    assert read(copy.process(), "/a/rules") == b"durable"


@settings(derandomize=True, max_examples=200, deadline=None, database=None)
@given(calls, calls)
def test_a_power_loss_that_keeps_nothing_goes_back_to_what_was_settled(
    before: list[tuple[object, ...]], after: list[tuple[object, ...]]
) -> None:
    world = a_world()
    files = world.process()
    play(world, files, before)
    files.exit()
    world.settle()
    settled = world.state()
    shown = {path: world.peek(path) for path in ("/a/x", "/a/y", "/b/x", "/b/y", "/a/rules")}
    play(world, files, [call for call in after if call[0] not in ("sync", "put")])
    files.exit()
    moved = {path for path, body in shown.items() if world.peek(path) != body}
    assert set(world.power_loss(["/a", "/b"], lambda change: False)) == moved
    assert world.state() == settled
