"""What users, models and tools do: the same whatever the core does, with the causes that the harness saw."""

from __future__ import annotations

from typing import Any

import pytest
from tests.framework.worlds import Handle, S, World, allow, saying, workload

from fleetbeat.framework.vocabulary import Event, Host

MS = 1_000_000


def _wishes(world: World) -> dict[tuple[str, int], list[Any]]:
    """What was asked for, by session and number of the prompt: its text, and the calls that followed from it."""
    found: dict[tuple[str, int], list[Any]] = {}
    last: dict[str, int] = {}
    for record in world.of("event"):
        session = record["session"]
        if record["type"] == "prompt":
            last[session] = last.get(session, -1) + 1
            found[session, last[session]] = [record["fields"]["text"]]
        elif record["type"] == "tool.before":
            found[session, last[session]].append((record["fields"]["command"], record["dangerous"]))
    return found


@pytest.mark.parametrize("verdict", ["deny", "ask", None])
def test_users_want_the_same_whatever_the_core_says(verdict: str | None) -> None:
    plan = workload(sessions=2, turns={"calls": [0, 5]}, dangers={"share": 0.3}, prompts={"per_hour": 600})
    free, other = _wishes(World(plan, allow, 300)), _wishes(World(plan, saying(verdict), 300))
    both = sorted(set(free) & set(other))
    assert len(both) > 20
    # turns that were cut by the end of the run hold less
    assert all(one[: len(two)] == two or two[: len(one)] == one for one, two in ((free[k], other[k]) for k in both))
    assert sum(len(free[k]) == len(other[k]) for k in both) >= len(both) - 2


def test_a_turn_is_prompt_calls_one_after_another_and_a_reply() -> None:
    world = World(workload(), allow, 60)
    first = [(r.t, r["type"], r["cause"]) for r in world.of("event")][:6]
    t, (prompt, call, again) = first[0][0], (world.of("event")[i]["id"] for i in (0, 1, 3))
    assert first == [
        (t, "prompt", None),
        (t + 1 * S, "tool.before", prompt),
        (t + 2 * S, "tool.after", call),
        (t + 3 * S, "tool.before", prompt),
        (t + 4 * S, "tool.after", again),
        (t + 5 * S, "reply", prompt),
    ], world.told()


def test_the_rate_of_prompts_and_the_shares_of_calls_are_met() -> None:
    plan = workload(
        sessions=4, prompts={"per_hour": 360, "think": "0s"}, dangers={"share": 0.25}, turns={"thought": "10ms"}
    )
    world = World(plan, allow, 3600)
    prompts, calls = world.events("prompt"), world.events("tool.before")
    assert abs(len(prompts) - 4 * 360) < 150
    assert abs(sum(call["dangerous"] for call in calls) / len(calls) - 0.25) < 0.04
    kinds = {call["fields"]["command"].split()[0] for call in calls if call["dangerous"]}
    assert kinds == {"rm", "curl", "drop", "git"}


def test_a_user_thinks_after_a_reply_and_in_a_burst_does_not() -> None:
    busy = {"per_hour": 3_600_000, "think": "7s"}
    calm = World(workload(prompts=busy), allow, 120)
    gaps = _pauses(calm)
    assert set(gaps) == {7 * S}, calm.told()
    bursts = World(workload(prompts={**busy, "bursts": {"share": 1, "prompts": 4}}), allow, 120)
    assert _pauses(bursts)[:8] == [MS, MS, MS, 7 * S, MS, MS, MS, 7 * S]
    seldom = World(workload(prompts={"per_hour": 20, "bursts": {"share": 1, "prompts": 4}}), allow, 1000)
    assert _pauses(seldom)[:3] == [MS, MS, MS], "the rate is no matter within a burst"


def _pauses(world: World) -> list[int]:
    replies, prompts = world.events("reply"), world.events("prompt")[1:]
    return [prompt.t - reply.t for reply, prompt in zip(replies, prompts, strict=False)]


def test_the_truth_about_danger_is_hidden_from_the_core() -> None:
    seen: list[Event] = []

    def handle(host: Host, event: Event) -> Any:
        seen.append(event)
        return allow(host, event)

    world = World(workload(dangers={"share": 1}), handle, 200)
    assert len(world.of("event", dangerous=True)) > 3
    told = [name for event in seen for name in event.fields]
    assert set(told) == {"text", "tool", "command", "path", "subtask", "call"}


def test_a_call_runs_if_it_is_allowed_and_not_if_it_is_denied_or_nothing_is_said() -> None:
    assert len(World(workload(), saying("allow"), 200).of("ran")) > 4
    for verdict in ("deny", None):
        world = World(workload(), saying(verdict), 200)
        assert len(world.events("tool.before")) > 4
        assert not world.of("ran")
        assert not world.events("tool.after")


@pytest.mark.parametrize(
    ("users", "answer"),
    [
        ({"approve": 1, "reject": 0}, "approve"),
        ({"approve": 0, "reject": 1}, "reject"),
        ({"approve": 0, "reject": 0}, "ignore"),
    ],
)
def test_a_call_that_is_put_to_the_user_waits_for_the_answer_and_runs_only_if_it_is_approved(
    users: dict[str, float], answer: str
) -> None:
    world = World(workload(users={**users, "answer": "3s"}), saying("ask"), 60)
    call = world.events("tool.before")[0]
    said = world.events("answer")[0]
    assert said["fields"] == {"call": call["id"], "answer": answer}
    assert said["cause"] is None
    assert said["origin"] == "user"
    assert said.t == call.t + 3 * S
    ran = world.of("ran", call=call["id"])
    assert [record.t for record in ran] == ([said.t] if answer == "approve" else []), world.told()
    following = world.events("tool.before")[1]
    assert following.t > said.t


def test_an_injected_line_is_the_cause_of_the_rest_of_the_turn_from_the_next_thought_on() -> None:
    lines: list[int] = []

    def handle(host: Host, event: Event) -> Any:
        if event.type == "tool.after" and not lines:
            lines.append(host.inject("p", "look"))
        return allow(host, event)

    world = World(workload(turns={"calls": 3}), handle, 200)
    prompt = world.events("prompt")[0]["id"]
    causes = [record["cause"] for record in (*world.events("tool.before")[:3], world.events("reply")[0])]
    assert causes == [prompt, lines[0], lines[0], lines[0]]
    assert world.events("tool.before")[3]["cause"] == world.events("prompt")[1]["id"]  # a prompt is a fresh start


def test_a_written_file_is_told_to_the_sessions_that_watch_it_as_following_from_the_call() -> None:
    tools = {"search": 0, "read": 0, "shell": 0, "sql": 0, "write": 1}
    world = World(workload(sessions=3, tools=tools, files={"count": 1, "watchers": 2}), allow, 60)
    call = world.events("tool.before")[0]
    told = world.events("file.changed", cause=call["id"])
    assert [(one["session"], one["fields"]) for one in told] == [
        ("s-0", {"path": "notes/0.md"}),
        ("s-1", {"path": "notes/0.md"}),
    ]
    assert all(one["origin"] == "tool" for one in told)
    reads = World(workload(sessions=3, files={"watchers": 3}, tools={**tools, "read": 1, "write": 0}), allow, 60)
    assert not reads.events("file.changed")


def test_a_subtask_makes_its_calls_in_a_session_of_its_own_as_following_from_the_call_that_opened_it() -> None:
    plan = workload(turns={"calls": 1}, subtasks={"share": 1, "calls": 2}, dangers={"share": 0})
    world = World(plan, allow, 30)
    opened, *inner = world.events("tool.before")[:3]
    assert [one["session"] for one in inner] == ["s-0/sub", "s-0/sub"]
    assert [one["cause"] for one in inner] == [opened["id"], opened["id"]]
    assert all(one["fields"]["subtask"] for one in inner)
    assert not opened["fields"]["subtask"]
    after = world.events("tool.after", session="s-0")[0]
    assert after["cause"] == opened["id"]
    assert after.t > inner[1].t


def test_dangerous_calls_come_in_subtasks_too_and_what_is_denied_there_does_not_run() -> None:
    plan = workload(subtasks={"share": 1}, dangers={"share": 0.5}, turns={"calls": 3})
    world = World(plan, lambda host, event: "deny" if event.fields.get("subtask") else "allow", 300)
    inner = world.events("tool.before", session="s-0/sub")
    assert any(one["dangerous"] for one in inner)
    ran = {record["call"] for record in world.of("ran")}
    assert not ran & {one["id"] for one in inner}


def _preparing(task: dict[str, Any], origin: str = "proactive", most: int = 1) -> Any:
    """A core that prepares at the first prompts."""
    count = [0]

    def handle(host: Host, event: Event) -> Any:
        if event.type == "prompt" and count[0] < most:
            count[0] += 1
            host.prepare("p", task, origin=origin)
        return allow(host, event)

    return handle


def test_a_background_task_reads_touches_its_file_and_ends_in_a_ready_event_all_following_from_its_prepare() -> None:
    task = {"duration_s": 9, "cost": 0.5, "calls": 2, "touches": "notes/1.md"}
    world = World(workload(turns={"calls": 0}, files={"watchers": 1}), _preparing(task, "user"), 60)
    act = world.of("action", action="prepare")[0]
    told = [(r.t - act.t, r["type"], r["origin"], r["cause"]) for r in world.of("event") if r["session"] == "s-0/task"]
    first, second = (r["id"] for r in world.events("tool.before", session="s-0/task"))
    assert told == [
        (3 * S, "tool.before", "agent", act["id"]),
        (3 * S, "tool.after", "tool", first),
        (6 * S, "tool.before", "agent", act["id"]),
        (6 * S, "tool.after", "tool", second),
    ], world.told()
    assert {r["fields"]["tool"] for r in world.events("tool.before", session="s-0/task")} <= {"search", "read"}
    changed, ready = world.events("file.changed", cause=act["id"])[0], world.events("ready")[0]
    assert changed["fields"] == {"path": "notes/1.md"}
    assert changed.t == ready.t == act.t + 9 * S
    assert (ready["origin"], ready["cause"], ready["session"]) == ("user", act["id"], "s-0")
    assert ready["fields"]["task"] == act["id"]
    assert ready["fields"]["policy"] == "p"
    assert [r["task"] for r in world.of("task.end")] == [act["id"]]
    assert act["cost"] == 0.5


@pytest.mark.parametrize(
    "task", [{}, {"duration_s": 0}, {"duration_s": "long", "calls": -3, "touches": 5}, {"calls": True}]
)
def test_a_task_of_which_little_or_nonsense_is_said_still_ends_and_takes_a_second_at_least(
    task: dict[str, Any],
) -> None:
    world = World(workload(turns={"calls": 0}), _preparing(task), 60)
    ready = world.events("ready")
    assert len(ready) == 1
    assert ready[0].t - world.of("action")[0].t >= 1 * S
    assert not world.events("tool.before")


def test_a_task_goes_on_through_a_crash_and_is_told_of_after_the_restart() -> None:
    world = World(workload(turns={"calls": 0}), _preparing({"duration_s": 20, "calls": 9}), 120)
    act = world.of("action")[0]
    begun = act.t / S
    cut = World(
        workload(turns={"calls": 0}), _preparing({"duration_s": 20, "calls": 9}), 120, downs=[(begun + 5, begun + 50)]
    )
    end, ready = cut.of("task.end")[0], cut.events("ready")[0]
    assert (end.t, ready.t) == (act.t + 20 * S, act.t + 50 * S), cut.told()
    assert ready["cause"] == act["id"]
    down, up = act.t + 5 * S, act.t + 50 * S
    assert not [r for r in cut.of("event") if down < r.t < up]


def test_a_crash_cuts_turns_and_open_questions_and_users_come_back_afterwards() -> None:
    plan = workload(users={"approve": 1, "reject": 0, "answer": "10s"}, turns={"calls": 1})
    asked = World(plan, saying("ask"), 100).events("tool.before")[0]
    at = asked.t / S
    world = World(plan, saying("ask"), 100, downs=[(at + 2, at + 30)])
    assert not world.events("answer") or world.events("answer")[0]["fields"]["call"] != asked["id"]
    assert not world.of("ran", call=asked["id"])
    later = [r for r in world.events("prompt") if r.t >= asked.t + 30 * S]
    assert later, world.told()
    texts = [r["fields"]["text"] for r in world.events("prompt")]
    assert len(set(texts)) == len(texts)  # the turn that was cut is not begun again


def test_a_crash_takes_a_line_that_no_thought_had_yet() -> None:
    def handling() -> Handle:
        lines: list[int] = []

        def handle(host: Host, event: Event) -> Any:
            if event.type == "prompt" and not lines:
                lines.append(host.inject("p", "look"))
            return allow(host, event)

        return handle

    whole = World(workload(), handling(), 100)
    prompt, line = whole.events("prompt")[0], whole.of("action")[0]["id"]
    assert whole.events("tool.before")[0]["cause"] == line
    world = World(workload(), handling(), 100, downs=[(prompt.t / S + 0.5, prompt.t / S + 1)])
    assert world.events("tool.before")
    assert line not in [r["cause"] for r in world.of("event")], world.told()


def test_some_notifications_are_waved_away_after_a_while_as_a_fresh_start() -> None:
    def handle(host: Host, event: Event) -> Any:
        if event.type == "prompt":
            host.notify("p", "see")
        return allow(host, event)

    plan = {"approve": 1, "reject": 0, "look": "4s"}
    world = World(workload(users={**plan, "dismiss": 1}), handle, 300)
    notice, gone = world.of("action")[0], world.events("dismissed")[0]
    assert gone["fields"] == {"notice": notice["id"]}
    assert gone.t == notice.t + 4 * S
    assert gone["cause"] is None
    assert gone["origin"] == "user"
    some = World(workload(users={**plan, "dismiss": 0.5}, prompts={"per_hour": 720}), handle, 1200)
    share = len(some.events("dismissed")) / len(some.of("action"))
    assert 0.3 < share < 0.7


def test_what_waits_is_bounded_by_what_is_open_however_long_it_goes_on() -> None:
    plan = workload(
        sessions=3,
        prompts={"per_hour": 3600, "think": "0s"},
        turns={"thought": "100ms", "tool_time": "100ms"},
        subtasks={"share": 0.3},
        users={"approve": 0.5, "reject": 0.2, "answer": "1s", "dismiss": 1, "look": "2s"},
    )

    def handle(host: Host, event: Event) -> Any:
        if event.type == "reply":
            host.notify("p", "see")
            host.inject("p", "look")
            host.prepare("p", {"duration_s": 3, "calls": 2})
        return ("allow", "ask")[event.id % 2] if event.type == "tool.before" else None

    short, long = World(plan, handle, 200), World(plan, handle, 2000)
    assert len(long.events("prompt")) > 1000
    assert long.most_waiting <= short.most_waiting + 8 < 60
    assert len(long.hosting._folds) == len(short.hosting._folds)


def test_the_same_names_give_the_same_history() -> None:
    plan = workload(sessions=2, dangers={"share": 0.3}, turns={"thought": {"kind": "exponential", "mean": "1s"}})
    one, two, other = (World(plan, saying("ask"), 200, seed=seed).told() for seed in (1, 1, 2))
    assert one == two != other
