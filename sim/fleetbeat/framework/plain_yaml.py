"""The plain data of a YAML text, for cores (`Host.yaml`) and for the harness's own reading of policies.

YAML 1.2 as scenarios are read, within limits that suit a rules body: it comes from whoever may write rules.
"""

from __future__ import annotations

from typing import Any

from fleetbeat.scenario.mistakes import Mistake, ScenarioError
from fleetbeat.scenario.yaml12 import Limits, parse

#: A body's policies: 256 KiB, 20 levels, 20,000 values after anchors are expanded.
LIMITS = Limits(size=1 << 18, depth=20, values=20_000)


def plain(text: str) -> Any:
    """The data of one YAML document: texts, numbers, truth values, nulls, lists, mappings with text keys.

    Raises `ValueError`, one line that says where: not YAML, no document or several, a key twice or that is no text, a
    tag, or more than `LIMITS` allow.
    """
    try:
        node, mistakes = parse(text, "policies", LIMITS)
    except ScenarioError as error:
        raise ValueError(_line(error.mistakes[0])) from None
    if mistakes:
        raise ValueError(_line(mistakes[0]))
    return node.plain()


def _line(mistake: Mistake) -> str:
    return " ".join(str(mistake).split())
