"""Bodies met in a run, each recorded once, by digest, before it is first mentioned."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from fleetbeat.history.records import compared, digest, norm_of

Report = Callable[[dict[str, Any]], None]


class Bodies:
    def __init__(self) -> None:
        self._seen: dict[bytes, str] = {}
        self._version: dict[str, str | None] = {}

    def see(self, data: bytes, origin: str, report: Report, version: str | None = None) -> str:
        """The body's digest; `report` gets the fields of its `body` record the first time."""
        known = self._seen.get(data)
        if known is not None:
            return known
        name = digest(data)
        text = compared(data)
        self._seen[data] = name
        self._version[name] = version
        blank = text is not None and not text
        report(
            {
                "body": name,
                "norm": None if text is None else norm_of(text),
                "blank": blank,
                "size": len(data),
                "version": version,
                "origin": "start" if blank and origin == "unknown" else origin,
                "text": None if text is None else data.decode("utf-8"),
                "base64": base64.b64encode(data).decode("ascii") if text is None else None,
            }
        )
        return name

    def version_of(self, name: str) -> str | None:
        return self._version.get(name)
