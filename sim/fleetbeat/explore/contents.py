"""What a file holds, in a word or two: the version that it is, part of one, empty, or a text that nobody posted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fleetbeat.history.records import Record

EMPTY, NONE, START, UNKNOWN, TORN = "empty", "none", "the start text", "a text nobody posted", "torn"


@dataclass(slots=True)
class Contents:
    """Names of bodies by digest, and of compared texts by norm, from the `body` records of a history."""

    bodies: dict[str, str] = field(default_factory=dict)
    norms: dict[str, str] = field(default_factory=dict)
    compared: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[Record]) -> Contents:
        found = cls()
        posted: list[tuple[str, str]] = []
        for record in records:
            if record.kind == "body":
                name = _name(record, posted)
                found.bodies[record["body"]] = name
                if record.get("norm") is not None:
                    found.norms.setdefault(record["norm"], name)
                    found.compared[record["body"]] = record["norm"]
                if record.get("version") and record.get("text"):
                    posted.append((record["version"], record["text"]))
        return found

    def call(self, digest: str, name: str) -> None:
        """From here on this body goes by this name: of versions that share a body, the one that was just read."""
        self.bodies[digest] = name
        if digest in self.compared and name:
            self.norms[self.compared[digest]] = name

    def of_body(self, digest: str | None) -> str:
        """What a file with these bytes holds; None: there is no file."""
        return NONE if digest is None else self.bodies.get(digest, UNKNOWN)

    def of_prompt(self, record: Record) -> str:
        """What a `prompt` record shows in the rules section."""
        if record["state"] == "torn":
            return TORN
        if record["state"] == "missing" or record.get("norm") is None or record.get("blank"):
            return NONE
        return self.norms.get(record["norm"], UNKNOWN)


def _name(record: Record, posted: list[tuple[str, str]]) -> str:
    version = record.get("version")
    if version:
        return f"{version}" if not record["blank"] else f"{version} (blank)"
    if record["size"] == 0:
        return EMPTY
    if record["origin"] in ("start", "edit"):
        return START if record["origin"] == "start" else "an edit"
    text = record.get("text") or ""
    for version, whole in posted:
        if text.strip() and whole.startswith(text):
            return f"part of {version}"
    return UNKNOWN
