"""Rows about the signal: is it there, can it be read, can it be taken, is it blank. Beats come at 1 s, 2 s, 3 s, ..."""

from __future__ import annotations

from fleetbeat.conform.expect import (
    canonical_untouched,
    consumed,
    effective,
    fate,
    logged,
    never_effective,
    next_beat,
    no_flush,
    unmoved,
)
from fleetbeat.conform.row import Row, post, strikes

OLD = {"rules": "Answer in the user's language.\nNever guess.\n"}
_LOOK = "is `.rules` a regular file?"
_READ = "read it"
_TAKE = "unlink it"
_BLANK = "body blank"
#: What agents do to own a signal.
TAKING = (("unlink", ".rules"), ("rename", ".rules"))
#: What agents read it by, be it at its place or where they moved it.
READING = (("read", ".rules*"),)

ROWS = (
    Row(
        "nothing-posted", _LOOK, "nothing there: nothing is written, flushed or logged",
        (canonical_untouched, no_flush, logged("rules_loaded", 0, 0), effective("start")),
        start=OLD, invariants=("empty-is-noop", "scope"),
    ),
    Row(
        "directory", _LOOK, "a directory at the name is left alone",
        (unmoved, canonical_untouched, effective("start")),
        start={**OLD, "signal": "directory"}, invariants=("beats-go-on",),
    ),
    Row(
        "symlink", _LOOK, "a symbolic link at the name is left alone, whatever it leads to",
        (unmoved, canonical_untouched, effective("start")),
        start={**OLD, "signal": "symlink", "signal_text": "system/system.md"}, invariants=("whole-body",),
    ),
    Row(
        "look-fails", _LOOK, "any error of the look counts as not there; the next beat looks again",
        (fate("v1", "applied"), effective("v1")),
        start=OLD, faults=strikes("EIO", [("stat", ".rules")]), posts=(post("v1", "1500ms"),),
        invariants=("beats-go-on", "drains"),
    ),
    Row(
        "read-fails", _READ, "the signal stays, nothing is applied; the next beat tries again",
        (fate("v1", "applied"), effective("v1"), next_beat("v1")),
        start=OLD, faults=strikes("EIO", READING), posts=(post("v1", "1500ms"),),
        invariants=("consume-before-apply", "no-silent-loss"),
    ),
    Row(
        "read-fails-twice", _READ, "a newer post that comes in the meantime is applied, and none is lost",
        (fate("v1", "applied", "superseded", "rejected"), fate("v2", "applied"), effective("v2")),
        start=OLD, faults=strikes("EIO", READING, occurrence=[1, 2]),
        posts=(post("v1", "1500ms"), post("v2", "2500ms")), invariants=("no-silent-loss", "last-write-wins"),
    ),
    Row(
        "not-permitted", _READ, "what the agent's user may not read stays or is set aside; a readable one is applied",
        (never_effective("v1"), fate("v2", "applied"), effective("v2")),
        start=OLD, posts=(post("v1", "1500ms", uid=1001), post("v2", "5500ms")), invariants=("consume-before-apply",),
    ),
    Row(
        "not-utf8", _READ, "a body that is not UTF-8 counts as a read failure; a good one that follows is applied",
        (never_effective("v1"), fate("v2", "applied"), effective("v2")),
        start=OLD, posts=(post("v1", "1500ms", base64="/3f/"), post("v2", "5500ms")),
        invariants=("beats-go-on", "whole-body"),
    ),
    Row(
        "cut-in-a-character", _READ, "so does a body that ends inside a character",
        (never_effective("v1"), fate("v2", "applied"), effective("v2")),
        start=OLD, posts=(post("v1", "1500ms", base64="Z3LDvMOf4oI="), post("v2", "5500ms")),
        invariants=("beats-go-on", "whole-body"),
    ),
    Row(
        "half-written", _READ, "half a body is not the agent's to tell; the next whole one is applied",
        (fate("v2", "applied"), effective("v2")),
        start=OLD,
        posts=(
            post("v1", "1500ms", "one\ntwo\nthree\nfour\n", write="in-place", chunk=4, latency={"write": "450ms"}),
            post("v2", "5500ms"),
        ),
        invariants=("beats-go-on",),
    ),
    Row(
        "unlink-fails", _TAKE, "the signal stays, nothing is applied; the next beat tries again",
        (fate("v1", "applied"), effective("v1"), next_beat("v1")),
        start=OLD, faults=strikes("EACCES", TAKING), posts=(post("v1", "1500ms"),),
        invariants=("consume-before-apply",),
    ),
    Row(
        "unlink-never-works", _TAKE, "what cannot be taken is never applied; beats go on",
        (never_effective("v1"), canonical_untouched, effective("start")),
        start=OLD, faults=strikes("EACCES", TAKING, probability=1), posts=(post("v1", "1500ms"),),
        invariants=("consume-before-apply",),
    ),
    Row(
        "blank", _BLANK, "consumed, nothing written, no flush",
        (fate("v1", "empty"), consumed, canonical_untouched, no_flush, effective("start")),
        start=OLD, posts=(post("v1", "1500ms", " \n\t\n"),), invariants=("empty-is-noop", "drains"),
    ),
)  # fmt: skip
