"""Scenarios that tests of this package share."""

from __future__ import annotations

import pytest

from fleetbeat.scenario.load import ScenarioError, load

#: Every section, most fields, the short and the long ways of writing.
FULL = """\
name: full
about: Every section at once.
seed: 7
duration: 1h30m
fleet:
  agent: reference
  core: {program: reference, silence_after: 3, gate_timeout: 1s}
  groups:
    - {name: web, count: 4, hosts: [h0, h1], uid: 1001}
    - name: db
      count: 3
      parent: web-1
      heartbeat: {interval: 2s, jitter: {kind: normal, sd: 100ms}}
      start: {signal: file, signal_text: on}
      boot: 20ms
  heartbeat: {mode: fixed-delay, interval: 1s, jitter: {kind: uniform, low: -10ms, high: 1e-2}, phase: splay, splay: 3s,
    stalls: {per_hour: 1.5, length: {kind: lognormal, median: 2s, sigma: 0.5}}}
  latency: {stat: 10us, read: 3ms, write: {kind: exponential, mean: 5ms}, open: {kind: empirical, values: [1us, 2us]}}
  start: {rules: "old rules\\n"}
  hosts:
    - {name: h0, disk: 64KiB, clock_offset: -3ms, clock_ppm: -12.5}
    - {name: h1}
  lifecycle:
    boot: {value: 5ms}
    suspend: [{agents: web-0..web-2, from: 5s, to: 10s}]
    rebuilds: [{agents: [10%, db-0], at: 30s, cause: refresh}, {every: 5m, beside_beat: true}]
    crashes: [{agents: db-*, at: 20s, restart: 5s}, {hosts: h1, at: 40s, power: true, unsynced: kept}]
    spawns: [{at: 15s, name: late, count: 2, parent: web-0, hand_down: in-place}]
faults:
  - {operation: read, probability: 1%, error: EIO}
  - {id: slow, on: operators, operators: bob, operation: write, delay: 5ms, from: 1s, to: 2s}
  - {operation: write, occurrence: [1, 3], error: ENOSPC, effect: partial, agents: "host:h0"}
  - {per_hour: 0.5, crash: before, power: true, unsynced: random, restart: 10s}
rollouts:
  - {version: v1, at: 10s, targets: all, body: "be kind\\n", verify: effective,
    waves: [{upto: 5%, bake: 30s}, {upto: 100%}]}
  - {version: v2, operator: bob, at: 1m, targets: ["group:web", late-1], base64: "/w==", write: in-place, chunk: 1}
workload:
  sessions: 3
  prompts: {per_hour: 30, think: 5s, bursts: {share: 5%, prompts: 4}}
  turns: {calls: 2, thought: {kind: lognormal, median: 2s, sigma: 1}}
  dangers: {share: 2%, kinds: drop}
  adversary: {agents: web-*, at: 5m, rejects: 9, flood: 50, gates: [{gate: "r*", to: 1m, slow: 9s}, {raises: true}]}
expect:
  broken: whole-body
  hazards: [coverage]
  converge: [{version: v1, within: 5m, share: 99.9%}]
  lag: [{below: 5s}]
  fates: {applied: [3, null], lost: 0}
  sometimes: [{fault: slow}, {event: crash, at_least: 2}]
"""


def mistakes(text: str, *overrides: str) -> list[str]:
    """The lines that loading this text prints."""
    with pytest.raises(ScenarioError) as caught:
        load(text, "x.yaml", overrides)
    assert str(caught.value) == "\n".join(str(mistake) for mistake in caught.value.mistakes)
    return str(caught.value).splitlines()
