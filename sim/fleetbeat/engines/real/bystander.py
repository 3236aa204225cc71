"""A fleet that somebody else started: posting into it by the documented way, and looking how it stands.

Nothing here is a run: no time 0, no history. It is for people who watch real agents come up (`compose/`). No link is
followed, the signal is never opened, and what agents wrote is data.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetbeat.engines.real.observe_eyes import Eyes, TooLong
from fleetbeat.protocol.process import section_of

SIGNAL, CANONICAL, PROMPT, HEARTBEAT = ".rules", "system/rules.md", "system/system.md", ".agent.heartbeat"
BEGIN, END = "<rules>\n", "\n</rules>"
POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class View:
    """How one agent stands. Digests are the first eight digits of SHA-256 of the stripped text; None: there is none."""

    is_pending: bool
    canonical: str | None
    effective: str | None
    is_beating: bool

    def words(self) -> str:
        beats = "beating" if self.is_beating else "no beat"
        pending = ", a signal is pending" if self.is_pending else ""
        return f"{beats}, canonical {self.canonical or 'none'}, effective {self.effective or 'none'}{pending}"


def digest_of(text: bytes) -> str:
    """Of a body as agents compare it: stripped."""
    return hashlib.sha256(text.strip()).hexdigest()[:8]


def agents_in(fleet: Path) -> list[str]:
    """The directories of a fleet, by name, sorted."""
    return [name for name, is_directory in Eyes(fleet).list("/") if is_directory]


def look(fleet: Path, agent: str, silent_s: float = 5.0) -> View:
    """How an agent stands now. `silent_s`: no beat for longer than this counts as none."""
    eyes = Eyes(fleet)
    beat = eyes.look(f"/{agent}/{HEARTBEAT}")
    prompt = _read(eyes, f"/{agent}/{PROMPT}")
    canonical = _read(eyes, f"/{agent}/{CANONICAL}")
    effective = None
    if prompt is not None:
        _, section = section_of(prompt.decode("utf-8", "replace"), BEGIN, END)
        effective = None if section is None else digest_of(section.encode())
    return View(
        is_pending=eyes.look(f"/{agent}/{SIGNAL}") is not None,
        canonical=None if canonical is None else digest_of(canonical),
        effective=effective,
        is_beating=beat is not None and time.time() - beat.st_mtime < silent_s,
    )


def post(fleet: Path, agent: str, body: bytes) -> None:
    """Posts a body by the documented way: a temporary file in the agent's directory, and one rename.

    Raises `OSError`; then the temporary file stays, for somebody to look at.
    """
    temporary = f"{SIGNAL}.{os.getpid():06d}"
    with Eyes(fleet).directory(f"/{agent}") as home:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o644, dir_fd=home)
        try:
            while body:
                body = body[os.write(descriptor, body) :]
        finally:
            os.close(descriptor)
        os.rename(temporary, SIGNAL, src_dir_fd=home, dst_dir_fd=home)


def changes(
    fleet: Path, agents: Sequence[str], for_s: float, is_enough: Callable[[dict[str, View]], bool]
) -> Iterator[tuple[float, str, View]]:
    """Each agent's view at first and whenever it changes: seconds since the beginning, agent, view.

    Ends after `for_s` seconds, or as soon as `is_enough` says so of all views.
    """
    began, known = time.monotonic(), dict[str, View]()
    while True:
        for agent in agents or agents_in(fleet):
            view = look(fleet, agent)
            if known.get(agent) != view:
                known[agent] = view
                yield time.monotonic() - began, agent, view
        if is_enough(known) or time.monotonic() - began >= for_s:
            return
        time.sleep(POLL_S)


def _read(eyes: Eyes, path: str) -> bytes | None:
    try:
        return eyes.read(path)
    except (OSError, TooLong):
        return None
