"""The fixed words of scenarios that are no part of the model's types."""

from __future__ import annotations

#: The ids of the protocol's invariants. Source: PROTOCOL, "Protocol invariants".
INVARIANTS = (
    "whole-body",
    "no-silent-loss",
    "last-write-wins",
    "consume-before-apply",
    "empty-is-noop",
    "identical-is-noop",
    "write-failure-aborts",
    "canonical-intact",
    "effective-follows",
    "survives-rebuild",
    "one-log-each",
    "beats-go-on",
    "drains",
    "scope",
    "honest-operator",
    "coverage",
)

#: Events of the harness that `expect.sometimes.event` may name; any other word is an event of an agent's log.
HARNESS_EVENTS = ("crash", "restart", "rebuild", "stall", "pause", "spawn", "retry", "timeout", "leftover")
