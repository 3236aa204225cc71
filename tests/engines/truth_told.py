"""What the slow oracle keeps of a history: posts, the bytes at a name, and consumptions."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleetbeat.history.records import Record


@dataclass(eq=False)
class Inode:
    """Bytes, each with the post that wrote it. `damaged`: a power failure left bytes that only a reader saw."""

    pieces: list[tuple[int, str | None]] = field(default_factory=list)
    damaged: bool = False


@dataclass(eq=False)
class Told:
    """One post. Places count records. `gone`: how it ceased to stand at the name (replaced, taken, power), "" if it did
    not.
    """

    name: str
    data: bytes
    norm: str
    blank: bool
    begun: int | None = None
    landed_t: int = 0
    complete: int | None = None
    ended: int | None = None
    gone: str = ""
    by: str | None = None
    persisted: int | None = None
    effective: int | None = None


@dataclass(frozen=True)
class Read:
    """A text, as an agent compares it ("?": parts of something), and the posts whose bytes are in it."""

    norm: str
    of: tuple[str, ...]


@dataclass(eq=False)
class Take:
    """One consumption: when, what was read, whose signal was unlinked; then what that beat did.

    `others` may have been read and `owners` unlinked instead, for all that an outside observer knows. `states`: what
    canonical held in turn; `whole`: it was written to the end.
    """

    place: int
    beat: Record | None
    read: Read
    unlinked: str | None
    canonical: str | None
    prompt: str | None
    others: list[Read] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)
    states: list[str | None] = field(default_factory=list)
    whole: bool = False
    flushed: bool = False
    failed: bool = False
    struck: bool = False
    tried: bool = False
    spoke: bool = False
    over: bool = False

    @property
    def cut(self) -> bool:
        return self.beat is None or self.beat["outcome"] == "cut"


#: What to take for granted: of a consumption, by number, what it read and unlinked; at END, what stands
#: at the name; at RESTORED - n, what the n-th power failure left there.
Assumed = dict[int, tuple[Read, "str | None"]]
END, RESTORED = -1, -1
