"""Small disks: laying a tmpfs over a directory that is furnished, so that its contents stand there as before.

A tmpfs gives whole pages to each file, so a budget of bytes is kept in pages: a file of one byte costs a page.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fleetbeat.engines.real.means.mounts import bind, mount_disk, unmount

PAGE = os.sysconf("SC_PAGE_SIZE")


def pages(size: int) -> int:
    """Pages that a file of so many bytes takes."""
    return -(-size // PAGE)


def disk_over(directory: Path, size: int, aside: Path) -> None:
    """A disk of `size` bytes of its own over a directory; `aside` is the name of a directory that is made for a moment.

    Raises `OSError`.
    """
    found = directory.stat()
    aside.mkdir(mode=0o700)
    try:
        mount_disk(aside, size, found.st_uid, found.st_mode & 0o7777)
        try:
            copy(directory, aside)
            bind(aside, directory)
        finally:
            unmount(aside)
    finally:
        aside.rmdir()


def part_over(directory: Path, part: Path) -> None:
    """Lays the part of a shared disk over a directory. Raises `OSError`."""
    found = directory.stat()
    part.mkdir(mode=0o700)
    os.chown(part, found.st_uid, found.st_gid)
    part.chmod(found.st_mode & 0o7777)
    copy(directory, part)
    bind(part, directory)


def copy(source: Path, target: Path) -> None:
    """The contents of a directory with owners and modes, links as links. Raises `OSError`."""
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        to = target / entry.name
        found = entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            to.symlink_to(os.readlink(entry.path))
        elif entry.is_dir():
            to.mkdir()
            copy(Path(entry.path), to)
        elif entry.is_file():
            shutil.copyfile(entry.path, to)
        else:
            continue
        os.chown(to, found.st_uid, found.st_gid, follow_symlinks=False)
        if not entry.is_symlink():
            os.chmod(to, found.st_mode & 0o7777)
