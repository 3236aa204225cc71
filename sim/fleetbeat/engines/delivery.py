"""One version on its way to one target, the same for every engine that plays operators."""

from __future__ import annotations

from dataclasses import dataclass

from fleetbeat.chance.choices import Choices
from fleetbeat.chance.step import Step
from fleetbeat.scenario.model import Rollout

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#: Polls of one attempt are numbered on from those of the attempt before, by this each.
POLLS = 1_000_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """One version to one target: what is written, how, and how it is verified. Times in ns."""

    version: str
    operator: str
    target: str
    body: bytes
    digest: str
    write: str
    method: str
    verify: str
    uid: int
    perms: int
    chunk: int = 65536
    poll_ns: int = 1_000_000_000
    timeout_ns: int = 0
    retries: int = 0

    @property
    def name(self) -> str:
        """As in post ids: the version and the target, with the operator's name unless it is `op`."""
        prefix = "" if self.operator == "op" else f"{self.operator}:"
        return f"{prefix}{self.version}/{self.target}"


def temporary_of(choices: Choices, home: str, write: str, actor: str, life: int, attempt: int) -> str:
    """What `mktemp` would make up: six letters drawn for this attempt; one fixed name where it is shared."""
    if write == "shared-temp":
        return f"{home}/.rules.tmp"
    bits = choices.bits("mktemp", Step(actor, life, attempt, "mktemp"))
    text = ""
    for _ in range(6):
        bits, index = divmod(bits, len(LETTERS))
        text += LETTERS[index]
    return f"{home}/.rules.{text}"


def delivery_of(rollout: Rollout, target: str, body: bytes, digest: str) -> Delivery:
    """What a rollout brings to one target."""
    return Delivery(
        version=rollout.version,
        operator=rollout.operator,
        target=target,
        body=body,
        digest=digest,
        write=rollout.write,
        method=rollout.write,
        verify=rollout.verify,
        uid=rollout.uid,
        perms=int(rollout.perms, 8),
        chunk=rollout.chunk,
        poll_ns=rollout.poll,
        timeout_ns=rollout.timeout,
        retries=rollout.retries,
    )
