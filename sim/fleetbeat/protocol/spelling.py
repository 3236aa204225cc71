"""Whole-file reads and writes, spelled with single operations, so that torn reads and truncate-then-crash exist.

Each function is a generator to be used with `yield from` inside a program. All raise `OSError` as the operation did;
a handle that is open at that moment is closed first. Standard library only.
"""

from __future__ import annotations

import errno
from collections.abc import Generator
from typing import Any

from fleetbeat.protocol.vocabulary import Close, Compose, Emit, MakeDir, Op, Open, ReadChunk, Sync, WriteChunk


def read_file(path: str, chunk: int) -> Generator[Op, Any, bytes]:
    """The file's bytes, read in chunks of `chunk` bytes until the end."""
    handle = yield Open(path)
    parts: list[bytes] = []
    try:
        while part := (yield ReadChunk(handle, chunk)):
            parts.append(part)
    except OSError:
        yield from close_quietly(handle)
        raise
    yield Close(handle)
    return b"".join(parts)


def write_all(handle: int, data: bytes, chunk: int) -> Generator[Op, Any, None]:
    """Writes `data` through an open handle, `chunk` bytes a call, going on after short writes."""
    view = memoryview(data)
    done = 0
    while done < len(data):
        done += yield WriteChunk(handle, bytes(view[done : done + chunk]))


def write_file(
    path: str, data: bytes, chunk: int, mode: str = "w", perms: int = 0o644, sync: bool = False
) -> Generator[Op, Any, None]:
    """Opens `path` in `mode` (`w` truncates it, `x` creates it), writes `data`, syncs if asked, closes."""
    handle = yield Open(path, mode, perms)
    try:
        yield from write_all(handle, data, chunk)
        if sync:
            yield Sync(handle)
    except OSError:
        yield from close_quietly(handle)
        raise
    yield Close(handle)


def sync_directory(path: str) -> Generator[Op, Any, None]:
    """Makes the names in the directory `path` durable."""
    handle = yield Open(path, "d")
    try:
        yield Sync(handle)
    except OSError:
        yield from close_quietly(handle)
        raise
    yield Close(handle)


def close_quietly(handle: int) -> Generator[Op, Any, None]:
    try:
        yield Close(handle)
    except OSError:
        pass


def make_directory(path: str) -> Generator[Op, Any, None]:
    """Makes `path` unless it is there."""
    try:
        yield MakeDir(path)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise


def flush_prompt(path: str, chunk: int) -> Generator[Op, Any, None]:
    """Writes the prompt, as its sections stand now, to `path` in place."""
    prompt = yield Compose()
    yield from write_file(path, prompt.encode("utf-8"), chunk)


def log(event: str, **fields: str) -> Generator[Op, Any, None]:
    """Logs one event, best effort."""
    try:
        yield Emit(event, tuple(fields.items()))
    except OSError:
        pass


def decode(data: bytes) -> str:
    """The text that an agent sees: UTF-8 with newline translation. Raises `UnicodeDecodeError`."""
    return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
