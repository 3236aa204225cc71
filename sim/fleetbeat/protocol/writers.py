"""The operator's ways of writing a post, and of looking whether it arrived, as programs of the same vocabulary.

`atomic` is the documented way (a temporary in the target directory, then one rename); `atomic-synced` syncs the file and
the directory as well. The others are what people do instead: `in-place` (truncate and write), `cross-device` (unlink the
target, create it, write in chunks, as `mv` does between file systems) and `shared-temp` (one fixed temporary name for
everybody). A failed command stops the writer; its temporary stays, as the procedure says, for somebody to look at.
Source of the documented way: the rules reference, "Write through Shell". Standard library only.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from fleetbeat.protocol.process import section_of
from fleetbeat.protocol.spelling import decode, read_file, sync_directory, write_file
from fleetbeat.protocol.vocabulary import Op, Rename, Stat, Unlink

Writing = Generator[Op, Any, None]
Looking = Generator[Op, Any, bool]


@dataclass(frozen=True, slots=True)
class Post:
    """What a writer needs: the target's home, the body, the temporary's name, bytes a call and file permissions."""

    home: str
    body: bytes
    temporary: str
    chunk: int
    perms: int

    @property
    def target(self) -> str:
        return f"{self.home}/.rules"


def atomic(post: Post) -> Writing:
    yield from write_file(post.temporary, post.body, post.chunk, "x", post.perms)
    yield Rename(post.temporary, post.target)


def atomic_synced(post: Post) -> Writing:
    yield from write_file(post.temporary, post.body, post.chunk, "x", post.perms, sync=True)
    yield Rename(post.temporary, post.target)
    yield from sync_directory(post.home)


def in_place(post: Post) -> Writing:
    yield from write_file(post.target, post.body, post.chunk, "w", post.perms)


def cross_device(post: Post) -> Writing:
    try:
        yield Unlink(post.target)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
    yield from write_file(post.target, post.body, post.chunk, "x", post.perms)


def shared_temp(post: Post) -> Writing:
    yield from write_file(post.temporary, post.body, post.chunk, "w", post.perms)
    yield Rename(post.temporary, post.target)


WRITERS: dict[str, Callable[[Post], Writing]] = {
    "atomic": atomic,
    "atomic-synced": atomic_synced,
    "in-place": in_place,
    "cross-device": cross_device,
    "shared-temp": shared_temp,
}


@dataclass(frozen=True, slots=True)
class Look:
    """What a verifier needs: the target's home, the text it hopes to find (stripped), and where the section stands."""

    home: str
    wanted: str | None
    prompt: str
    begin: str
    end: str
    chunk: int = 65536


def gone(look: Look) -> Looking:
    """By disappearance: nothing stands at the name. Proves consumption alone, and is offered because people use it."""
    try:
        yield Stat(f"{look.home}/.rules")
    except OSError as error:
        return error.errno == errno.ENOENT
    return False


def canonical_holds(look: Look) -> Looking:
    """By canonical: `system/rules.md` holds the body."""
    return (yield from _text_at(f"{look.home}/system/rules.md", look.chunk)) == look.wanted


def effective_holds(look: Look) -> Looking:
    """By effective: the flushed prompt's protected section holds the body."""
    prompt = yield from _text_at(f"{look.home}/{look.prompt}", look.chunk)
    if prompt is None or look.wanted is None:
        return False
    _, text = section_of(prompt + "\n", look.begin, look.end)
    return text is not None and text.strip() == look.wanted


LOOKS: dict[str, Callable[[Look], Looking]] = {
    "disappearance": gone,
    "canonical": canonical_holds,
    "effective": effective_holds,
}


def _text_at(path: str, chunk: int) -> Generator[Op, Any, str | None]:
    try:
        return decode((yield from read_file(path, chunk))).strip()
    except (OSError, UnicodeDecodeError):
        return None
