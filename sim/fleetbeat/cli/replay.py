"""The command that replays a run, as it can be pasted into a shell.

It holds what decides the bytes of the history, as it was typed: the scenario, every `--set`, the seed if one was given,
the engine if it is not the usual one, the case file, the folder of checks, and what was left out. With `--no-bodies`,
values that may hold a rule's text are left out as well, and the command says so.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

LEFT_OUT = "(left out)"
_TEXTS = frozenset({"body", "base64", "rules", "signal_text"})
_MENTIONS = re.compile(r"\b(body|base64|rules|signal_text)\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of `fleetbeat run` that decide what comes out."""

    scenario: str
    sets: tuple[str, ...] = ()
    seed: int | None = None
    engine: str = "des"
    case: str | None = None
    checks: str | None = None
    bodies: bool = True
    ops: bool = True
    root: str | None = None
    keep_root: bool = False
    means: str | None = None
    docker_host: str | None = None
    base: str | None = None


def command(asked: Asked) -> str:
    """The shell-quoted replay command of a run."""
    words = ["fleetbeat", "run"]
    for one in asked.sets:
        words += ["--set", one if asked.bodies else without_text(one)]
    if asked.seed is not None:
        words += ["--seed", str(asked.seed)]
    if asked.engine != "des":
        words += ["--engine", asked.engine]
    options = (
        ("--root", asked.root),
        ("--means", asked.means),
        ("--docker-host", asked.docker_host),
        ("--base", asked.base),
        ("--case", asked.case),
        ("--checks", asked.checks),
    )
    for option, value in options:
        if value is not None:
            words += [option, value]
    words += ["--keep-root"] if asked.keep_root else []
    words += [] if asked.bodies else ["--no-bodies"]
    words += [] if asked.ops else ["--no-ops"]
    words += ["--", asked.scenario] if asked.scenario.startswith("-") else [asked.scenario]
    return joined(words)


def without_text(setting: str) -> str:
    """A `path=value` whose value may hold a rule's text, without it."""
    path, equals, value = setting.partition("=")
    parts = re.split(r"[.\[\]\s]+", path)
    return f"{path}{equals}{LEFT_OUT}" if set(parts) & _TEXTS or _MENTIONS.search(value) else setting


def joined(words: list[str]) -> str:
    """Shell words in one line; control characters become `$'...'`, so that the line pastes and shows safely."""
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    escaped = "".join(_escaped(char) for char in word)
    return f"$'{escaped}'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
