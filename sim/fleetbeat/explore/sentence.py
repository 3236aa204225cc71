"""A finding told as one sentence of causes, in the order in which they happened.

    a-0 read rules v1; v2 was renamed over it; the agent unlinked v2 unread and applied v1; v2 is lost

Clauses come from the story's rows: what nobody needs to know (looking, logging that all went well, the landing of what is
read right afterwards) is left out, one actor's clauses are joined, and the last clause says what broke. Rejected: the
finding's own message, which says where and when, not how it came to that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fleetbeat.checks.model import Finding
from fleetbeat.checks.timeline import NONCONFORMING
from fleetbeat.explore.contents import EMPTY, NONE, START, TORN, UNKNOWN
from fleetbeat.explore.story import CANONICAL, PROMPT, SIGNAL, Row, Story, story_of
from fleetbeat.history.records import Record
from fleetbeat.report.plain import safe

#: Clauses of a sentence at most; of longer stories the last ones are told.
MOST_CLAUSES = 9


def tell(records: Sequence[Record], finding: Finding) -> str:
    """One line that says how the finding came about, safe to show."""
    return sentence_of(story_of(records, finding))


def sentence_of(story: Story) -> str:
    """The sentence of a story that was cut out already."""
    clauses = list(_clauses(story))
    if len(clauses) > MOST_CLAUSES:
        clauses = [Clause("", "..."), *clauses[-MOST_CLAUSES:]]
    parts = [*_joined(clauses, story.agent), _outcome(story)]
    return safe("; ".join(part for part in parts if part)) or safe(story.finding.message)


@dataclass(frozen=True, slots=True)
class Clause:
    """`subject` "" for a clause that is a whole sentence of its own."""

    subject: str
    text: str


# --- clauses ---


def _clauses(story: Story) -> Iterator[Clause]:
    rows = story.rows
    read = ""
    for index, row in enumerate(rows):
        if row.role == "writer":
            if (said := _writer(row, rows, index, read)) is not None:
                yield said
            continue
        if row.verb in ("open", "read") and row.file == SIGNAL:
            read = row.content
        told = _TOLD.get(row.verb)
        text = told(row, rows, index, read) if told is not None else ""
        if text:
            yield Clause(_subject(row), text)


def _subject(row: Row) -> str:
    if row.role == "process" and row.file:
        return "that"
    return {"boot": "the boot", "rebuild": f"the {row.cause or 'rebuild'}"}.get(row.role, "the agent")


def _writer(row: Row, rows: Sequence[Row], index: int, read: str) -> Clause | None:
    who = row.actor.split(":", 1)[0]
    if row.verb == "claim":
        how = "nothing" if row.cause == "none" else row.cause
        return Clause(who, f"said done for {row.content}, verified by {how}")
    if row.verb == "fail":
        return Clause(who, f"failed to {row.content} ({row.error})")
    if row.verb == "begin" and row.cause not in NONCONFORMING:
        return Clause("", f"{row.content.removeprefix('part of ')} was renamed into place without all of its bytes")
    if row.verb == "begin":
        return Clause(who, f"began to write {row.content.removeprefix('part of ')} {_how(row.cause)}")
    if row.verb == "write" and row.content == row.over:
        return None
    if row.verb == "write":
        return Clause(who, f"wrote {_the_rest(row.content)}")
    if row.verb == "post" and row.over == NONE:
        sees = ("open", "read", "post")
        later = next((other for other in rows[index + 1 :] if other.file == SIGNAL and other.verb in sees), None)
        if later is not None and later.verb != "post" and later.content == row.content:
            return None
        return Clause("", f"{row.content} was renamed into place")
    if row.verb == "post":
        return Clause("", f"{row.content} was renamed over {'it' if row.over == read else row.over}")
    return None


def _how(write: str) -> str:
    return {"cross-device": "across devices"}.get(write, "in place")


def _the_rest(content: str) -> str:
    return f"more of {content.removeprefix('part of ')}" if content.startswith("part of ") else f"the rest of {content}"


def _read(row: Row, rows: Sequence[Row], index: int, read: str) -> str:
    if row.file == SIGNAL:
        return "found .rules empty" if row.content == EMPTY else f"read rules {row.content}"
    if row.role in ("boot", "rebuild"):
        found = {NONE: "found no canonical", EMPTY: "found canonical empty"}
        return found.get(row.content, f"read {row.content} from canonical")
    return ""


def _take(row: Row, rows: Sequence[Row], index: int, read: str) -> str:
    if row.file != SIGNAL:
        return "removed canonical" if row.file == CANONICAL else ""
    if row.role == "process":
        return f"took {row.content} away from .rules"
    what = row.content
    if (since := _since_read(rows, index)) is not None:
        if not any(other.verb in ("post", "begin") and other.file == SIGNAL for other in since):
            what = "it" if all(other.actor == row.actor or other.verb == "write" for other in since) else what
        elif what != read:
            what = f"{what} unread"
    return f"unlinked {what}" if row.verb == "take" else f"moved {what} to {row.cause}"


def _since_read(rows: Sequence[Row], index: int) -> Sequence[Row] | None:
    """What happened since this beat read the signal, up to a row; None if it had not."""
    row = rows[index]
    had = False
    for start in range(index - 1, -1, -1):
        other = rows[start]
        if (other.file, other.actor, other.number) == (SIGNAL, row.actor, row.number):
            had = had or other.verb == "read"
            if had and other.verb == "open":
                return rows[start + 1 : index]
    return None


def _open(row: Row, rows: Sequence[Row], index: int, read: str) -> str:
    """Told where something was renamed over what was opened before it was read."""
    for other in rows[index + 1 :]:
        if other.verb == "post" and other.file == SIGNAL:
            return f"opened {row.content}"
        if other.actor == row.actor:
            return ""
    return ""


def _truncate(row: Row, rows: Sequence[Row], index: int, read: str) -> str:
    following = rows[index + 1] if index + 1 < len(rows) else None
    if following is not None and following.actor == row.actor and following.verb == "write":
        return ""
    return "emptied canonical" if row.over not in (EMPTY, NONE) else "created canonical, still empty"


def _write(row: Row, rows: Sequence[Row], index: int, read: str) -> str:
    if row.file != CANONICAL:
        return ""
    if row.role == "process":
        return f"left canonical {row.content if row.content == EMPTY else 'with ' + row.content}"
    flushed = _next(rows, index, row.actor, "flush")
    if flushed is not None and flushed.content == row.content:
        return ""
    return f"wrote {row.content} to canonical"


def _flush(row: Row, rows: Sequence[Row], index: int, read: str) -> str:
    content = "no rules" if row.content == NONE else row.content
    if row.role == "process" and row.content == row.over:
        return ""
    wrote = _last(rows, index, row.actor, "write", CANONICAL)
    if row.content == TORN or row.role == "process":
        return f"left the prompt {content if row.content == TORN else 'with ' + content}"
    if row.role == "beat" and wrote is not None and wrote.content == row.content:
        return f"applied {content}"
    return f"flushed {content}"


def _log(row: Row, rows: Sequence[Row], index: int, read: str) -> str:
    return "" if row.content == "rules_loaded" else f"logged {row.content}"


def _fail(row: Row, rows: Sequence[Row], index: int, read: str) -> str:
    what = {SIGNAL: ".rules", CANONICAL: "canonical", PROMPT: "the prompt"}.get(row.file, row.file)
    how = {"partial": ", half done", "after": ", though it was done"}.get(row.effect, "")
    return f"failed to {row.content} {what} ({row.error}{how})"


def _next(rows: Sequence[Row], index: int, actor: str, verb: str) -> Row | None:
    """The actor's next row, if it has this verb."""
    for row in rows[index + 1 :]:
        if row.actor == actor and row.verb not in ("log", "look"):
            return row if row.verb == verb else None
        if row.verb in ("crash", "power"):
            return None
    return None


def _last(rows: Sequence[Row], index: int, actor: str, verb: str, file: str) -> Row | None:
    number = rows[index].number
    found = [
        row
        for row in rows[:index]
        if (row.actor, row.verb, row.file, row.number) == (actor, verb, file, number) and row.role == rows[index].role
    ]
    return found[-1] if found else None


_Told = Callable[[Row, Sequence[Row], int, str], str]
_TOLD: dict[str, _Told] = {
    "open": _open,
    "read": _read,
    "take": _take,
    "move": _take,
    "truncate": _truncate,
    "write": _write,
    "flush": _flush,
    "log": _log,
    "fail": _fail,
    "crash": lambda row, rows, index, read: "crashed",
    "power": lambda row, rows, index, read: "lost power",
    "start": lambda row, rows, index, read: "started again",
    "end": lambda row, rows, index, read: f"ended its heartbeat with {row.error.split(':')[0]}",
}


def _joined(clauses: Sequence[Clause], agent: str) -> Iterator[str]:
    """Clauses of one subject in a row as one part; the agent by its name where it comes first."""
    named = False
    index = 0
    while index < len(clauses):
        subject = clauses[index].subject
        texts = [clauses[index].text]
        index += 1
        while subject and index < len(clauses) and clauses[index].subject == subject:
            texts.append(clauses[index].text)
            index += 1
        said = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
        if subject == "the agent" and not named:
            subject, named = agent, True
        yield f"{subject} {said}" if subject else said


# --- what broke ---


def _outcome(story: Story) -> str:
    finding = story.finding
    said = _OUTCOMES.get(finding.invariant)
    return said(story, finding) if said is not None else finding.message


def _posts(finding: Finding) -> str:
    return ", ".join(map(_version, finding.posts)) or "it"


def _version(post: str) -> str:
    """A post by its version, with its attempt where that is not the first: `v2`, `v2 (attempt 3)`."""
    name, _, attempt = post.rpartition("#")
    version = name.rpartition("/")[0].rpartition(":")[2] or name
    return version if attempt in ("", "1") else f"{version} (attempt {attempt})"


def _held(content: str) -> str:
    return {NONE: "nothing", UNKNOWN: "a text nobody posted", START: START, TORN: "a torn prompt"}.get(content, content)


def _last_files(story: Story) -> tuple[str, str]:
    """What canonical and the prompt hold at the end of the story."""
    files = story.rows[-1].after if story.rows else story.before
    return files.canonical, files.prompt


def _wins(story: Story, finding: Finding) -> str:
    return f"{_held(_last_files(story)[1])} stays effective, not {_posts(finding)}"


def _whole(story: Story, finding: Finding) -> str:
    content = _last_files(story)[1]
    content = _last_files(story)[0] if content in (NONE, START) else content
    return "nobody posted that text" if content != NONE else "nobody posted what was applied"


def _intact(story: Story, finding: Finding) -> str:
    if finding.kind == "hazard":
        return "a crash or a rebuild in between would have lost or torn the rules"
    return "the rules were lost" if "were lost" in finding.message else "the rules were torn"


def _follows(story: Story, finding: Finding) -> str:
    canonical, prompt = _last_files(story)
    return f"the prompt holds {_held(prompt)}, canonical {_held(canonical)}"


def _survives(story: Story, finding: Finding) -> str:
    prompt, lost = _last_files(story)[1], _posts(finding) if finding.posts else START
    if prompt in (NONE, EMPTY):
        return f"{lost} is gone from the prompt"
    return f"{_held(prompt)} took the place of {lost}"


def _after_the_name(finding: Finding) -> str:
    """The finding's message without the agent's name in front."""
    return finding.message.removeprefix(f"{finding.agent}: ")


def _consume(story: Story, finding: Finding) -> str:
    if "the signal was taken" in finding.message:
        return f"{_posts(finding)} is gone from .rules all the same"
    return f"{_posts(finding)} was applied and not consumed"


def _aborts(story: Story, finding: Finding) -> str:
    if "the prompt changed" in finding.message:
        return "the prompt changed though canonical was not written"
    return "rules_write_error was not logged"


def _one_log(story: Story, finding: Finding) -> str:
    said = _after_the_name(finding)
    return (
        said.split(", ", 1)[-1]
        if said.startswith("after ")
        else "rules_loaded was logged before any signal was consumed"
    )


def _drains(story: Story, finding: Finding) -> str:
    beats = re.search(r"in (\d+ runnable beats?)", finding.message)
    return f"{_posts(finding)} was not resolved in {beats[1] if beats else 'time'}, with nothing in the way"


_OUTCOMES: dict[str, Callable[[Story, Finding], str]] = {
    "no-silent-loss": lambda story, finding: f"{_posts(finding)} is lost",
    "last-write-wins": _wins,
    "whole-body": _whole,
    "canonical-intact": _intact,
    "effective-follows": _follows,
    "survives-rebuild": _survives,
    "consume-before-apply": _consume,
    "empty-is-noop": lambda story, finding: f"{_posts(finding)} is blank and should have changed nothing",
    "identical-is-noop": lambda story, finding: (
        f"{_posts(finding)} was effective already and should have changed nothing"
    ),
    "write-failure-aborts": _aborts,
    "one-log-each": _one_log,
    "beats-go-on": lambda story, finding: "it beats no more",
    "drains": _drains,
    "honest-operator": lambda story, finding: f"{_held(_last_files(story)[1])} was effective then",
}
