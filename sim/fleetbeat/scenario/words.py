"""The fixed words of scenarios that are no part of the model's types."""

from __future__ import annotations

#: The ids of the event framework's invariants. Source: PROTOCOL, "The framework's two invariants".
OF_FRAMEWORK = ("no-self-trigger", "guard-not-silenced")

#: The ids of all invariants: the protocol's, then the framework's. Source: PROTOCOL, "Protocol invariants".
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
    *OF_FRAMEWORK,
)

#: Events of the harness that `expect.sometimes.event` may name; any other word is an event of an agent's log.
HARNESS_EVENTS = ("crash", "restart", "rebuild", "stall", "pause", "spawn", "retry", "timeout", "leftover")
