"""Text from agents, scenarios and files, made safe to show: on a terminal, in XML, in one line.

Escaped: control characters (C0 with tab and newline, DEL, C1), what turns or hides text (bidirectional controls, zero
width, tags), line and paragraph separators, lone surrogates and noncharacters. The list is fixed here and not taken
from `unicodedata`, whose categories change with the Python version, so every version gives the same bytes. Nothing is
undone later: an escape in a report is for reading, the history holds the original.
"""

from __future__ import annotations

import re
import textwrap

WIDTH = 100

_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\ufdd0-\ufdef\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    + "]"
)


def _escape(match: re.Match[str]) -> str:
    point = ord(match.group())
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def safe(text: object) -> str:
    """The text in one line with everything harmful escaped as Python would write it."""
    return _HARMFUL.sub(_escape, str(text))


def safe_lines(text: object) -> str:
    """As `safe`, and newlines stay."""
    return "\n".join(safe(line) for line in str(text).split("\n"))


def cut(text: str, width: int) -> str:
    """The text in at most `width` characters; `...` where something was cut off."""
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."


def item(text: str, indent: str = "  ") -> str:
    """A paragraph of a list, wrapped to the report's width; words longer than a line (paths) stay whole."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 gap`, `3 gaps`."""
    return f"{count} {one if count == 1 else many or one + 's'}"
