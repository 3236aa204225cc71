from __future__ import annotations

from tests.history.hand import SECRET, V2, S, body, end, log, op, rec, run_record, small

from fleetbeat.history import jsonl
from fleetbeat.history.records import digest
from fleetbeat.history.strip import without_bodies, without_ops


def test_without_ops_takes_out_operations_alone_and_says_so() -> None:
    records, _ = small()
    bare = without_ops(records)
    assert [record.kind for record in bare] == [record.kind for record in records if record.kind != "op"]
    assert bare[0]["observed"] == []
    assert bare[1:] == [record for record in records[1:] if record.kind != "op"]
    assert records[0]["observed"] == ["ops"]


def test_without_bodies_no_text_is_left_and_digests_stay() -> None:
    records, _ = small()
    assert SECRET.encode() in jsonl.dumps(records)
    bare = without_bodies(records)
    assert b"launch" not in jsonl.dumps(bare)
    assert [record["body"] for record in bare if record.kind == "body"] == [digest(b""), digest(V2)]
    assert [record["norm"] for record in bare if record.kind == "body"] == [
        record["norm"] for record in records if record.kind == "body"
    ]


def test_without_bodies_an_undecodable_one_is_gone_too() -> None:
    raw = rec(0, "body", **{**body(b"x\xff", "v2").fields, "base64": "eP8="})
    assert without_bodies([raw])[0]["base64"] is None


def test_without_bodies_logs_keep_identifiers_and_lose_everything_else() -> None:
    entry = log(
        S, "a-0", "rules_loaded", error="ENOSPC", path="/a-0/.rules", n=3, text="two words", deep=[{"k": "line\nbreak"}]
    )
    fields = without_bodies([entry])[0]["fields"]
    assert (fields["error"], fields["path"], fields["n"]) == ("ENOSPC", "/a-0/.rules", 3)
    assert fields["text"] == f"(left out: 9 characters, digest {digest(b'two words')})"
    assert "line" not in str(fields["deep"])


def test_without_bodies_a_body_of_one_word_is_recognised_in_a_log() -> None:
    records = [body(b"swordfish\n", "v2"), log(S, "a-0", "swordfish", text="swordfish")]
    assert b"swordfish" not in jsonl.dumps(without_bodies(records))


def test_without_bodies_a_heartbeats_error_keeps_its_class_alone() -> None:
    ended = rec(S, "heartbeat.end", agent="a-0", life=0, beat=1, error=f"ValueError: bad rule {SECRET!r}")
    assert without_bodies([ended])[0]["error"] == "ValueError"


def test_without_bodies_what_a_process_wrote_is_left_out_of_a_note() -> None:
    note = rec(S, "note", agent="a-0", text="its process ended", told=f"my rule is {SECRET}")
    (bare,) = without_bodies([note])
    assert (bare["text"], SECRET in str(bare)) == ("its process ended", False)
    assert without_bodies([bare]) == [bare]


def test_stripping_twice_changes_nothing_more() -> None:
    records = [run_record(), op(S, "a-0", "stat"), *small()[0][1:-1], end()]
    once = without_bodies(without_ops(records))
    assert without_bodies(without_ops(once)) == once
