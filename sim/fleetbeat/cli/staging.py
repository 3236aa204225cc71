"""An output directory that appears whole or not at all.

Files are written to a temporary directory first: a sibling, which is renamed into place, or, where the directory
exists and is empty, one inside it, whose files are moved up (a mount point or the working directory cannot be renamed
over). Whatever stops the writing (an error, ctrl-C, a full disk), what is temporary is removed. The directory is
claimed before the run, so that one that cannot be written to is reported before hours of simulation, not after.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from fleetbeat.cli.errors import Refused
from fleetbeat.cli.output import Unwritable
from fleetbeat.report.plain import safe


class Staging:
    """A context: `claim`, `write` and `place` files, then `commit`. Leaving it without `commit` leaves nothing behind.

    Claiming is a step of its own, inside the context: a signal that strikes right then still cleans up.

    Raises Refused for a path that cannot be an output directory, Unwritable for what the system refuses.
    """

    def __init__(self, target: str) -> None:
        self.target = Path(target)
        self.shown = safe(target)
        self._committed = False
        self._into: bool = False
        self._temporary: Path | None = None
        if not target:
            raise Refused("-o: got an empty name, expected a directory")

    def __enter__(self) -> Staging:
        return self

    def claim(self) -> None:
        """Make the temporary directory."""
        try:
            self._into = self._exists()
            home = self.target if self._into else self.target.parent
            self._temporary = home / f".{self.target.name or 'fleetbeat'}.partial-{os.getpid()}"
            self._temporary.mkdir()
        except OSError as error:
            self._temporary = None
            raise Unwritable.at(self.shown, error) from error

    def _exists(self) -> bool:
        if not os.path.lexists(self.target):
            if not self.target.parent.is_dir():
                raise Refused(f"-o: {self.shown}: got a place in no directory, expected its parent to exist")
            return False
        if not self.target.is_dir():
            raise Refused(f"-o: {self.shown}: got something that is no directory, expected none there or an empty one")
        if any(self.target.iterdir()):
            raise Refused(f"-o: {self.shown}: got a directory that is not empty, expected none there or an empty one")
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._temporary is not None and not self._committed:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def place(self, name: str, make: Callable[[Path], object]) -> None:
        """Let `make` write the file of this name; after a failure the file is gone. Raises Unwritable."""
        assert self._temporary is not None
        path = self._temporary / name
        try:
            make(path)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise Unwritable.at(safe(self.target / name), error) from error
            raise

    def write(self, name: str, text: str) -> None:
        """Write a UTF-8 file; text that UTF-8 cannot hold is escaped. Raises Unwritable."""
        self.place(name, lambda path: path.write_bytes(text.encode("utf-8", "backslashreplace")))

    def commit(self) -> None:
        """Put what was written into place."""
        assert self._temporary is not None
        moved: list[Path] = []
        try:
            if self._into:
                for path in sorted(self._temporary.iterdir()):
                    moved.append(self.target / path.name)
                    path.replace(moved[-1])
                self._temporary.rmdir()
            else:
                self._temporary.rename(self.target)
            self._committed = True
        except BaseException as error:
            for path in moved:
                path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise Unwritable.at(self.shown, error) from error
            raise
