"""Bodies with policies, good and bad, by what is special about them: core and harness must say the same of each."""

from __future__ import annotations


def block(text: str) -> str:
    return f"# Rules\nBe kind.\n```yaml policies\n{text}\n```\nMore rules.\n"


def policies(*items: str) -> str:
    return block("policies:\n" + "\n".join(f"  - {{{item}}}" for item in items))


_GATE = "gate: g, on: tool.before, answer: ask"
_SEES = "observer: o, on: prompt, action: {notify: seen}"

#: Well-formed, though some hold no policies.
GOOD: dict[str, str] = {
    "blank": "",
    "only words": "Be kind.",
    "another fence": "```yaml\npolicies: [nonsense]\n```",
    "a fence that is indented": " ```yaml policies\nnot: one\n ```",
    "an empty list": block("policies: []"),
    "comments": block("# nothing yet\npolicies: [] # none"),
    "a gate": policies(_GATE),
    "an observer": policies(_SEES),
    "both": policies(_GATE, _SEES),
    "two blocks": policies(_GATE) + policies(_SEES),
    "spaces behind the fences": "```yaml policies  \npolicies: []\n```\t",
    "lines that end as on Windows": policies(_GATE).replace("\n", "\r\n"),
    "a list of types": policies("observer: o, on: [ready, 'file.*'], action: {inject: look}"),
    "conditions of every kind": policies(_GATE + ", when: {command: ['rm *', x], subtask: false, n: 3, f: -1.5}"),
    "state with two bounds": policies(_SEES + ", state: {calls: {at_least: 1, at_most: 3}, ignored: {exactly: 0}}"),
    "a cooldown": policies(_SEES + ", cooldown_s: 0.5"),
    "a task that says nothing": policies("observer: o, on: prompt, action: {prepare: }"),
    "a task that says all": policies(
        "observer: o, on: prompt, action: {prepare: {duration_s: 2, cost: .5, calls: 3, touches: a/b.txt}}"
    ),
    "a broken glob is a glob": policies(_GATE + ", when: {command: 'rm ['}"),
    "an anchor": block("policies: [{observer: o, on: &t prompt, action: {notify: x}, when: {type: *t}}]"),
}

#: Malformed.
BAD: dict[str, str] = {
    "a block without an end": "```yaml policies\npolicies: []\n",
    "a second block without an end": policies(_GATE) + "```yaml policies\npolicies: []",
    "an empty block": block(""),
    "no YAML": block("policies: ["),
    "two documents": block("policies: []\n---\npolicies: []"),
    "a tag": block("policies: !list []"),
    "a key twice": block("policies: []\npolicies: []"),
    "a list for a block": block("- gate: g"),
    "another key beside": block("policies: []\nversion: 1"),
    "another key": block("policy: []"),
    "nothing for policies": block("policies:"),
    "a mapping for policies": block("policies: {gate: g}"),
    "a text for a policy": block("policies: [g]"),
    "neither gate nor observer": policies("on: prompt, action: {notify: x}"),
    "gate and observer": policies("gate: g, observer: o, on: tool.before, answer: ask"),
    "an id twice": policies(_GATE, _GATE),
    "an id of a gate and an observer": policies(_GATE, "observer: g, on: prompt, action: {notify: x}"),
    "an id twice, in two blocks": policies(_SEES) + policies(_SEES),
    "an empty id": policies("gate: '', on: tool.before, answer: ask"),
    "a number for an id": policies("gate: 7, on: tool.before, answer: ask"),
    "a gate on anything": policies("gate: g, on: '*', answer: ask"),
    "a gate on a reply": policies("gate: g, on: [tool.before, reply], answer: ask"),
    "a gate without on": policies("gate: g, answer: ask"),
    "a gate without an answer": policies("gate: g, on: tool.before"),
    "another answer": policies("gate: g, on: tool.before, answer: maybe"),
    "an action for a gate": policies(_GATE + ", action: {notify: x}"),
    "an answer for an observer": policies(_SEES + ", answer: ask"),
    "an observer without on": policies("observer: o, action: {notify: x}"),
    "on of an empty list": policies("observer: o, on: [], action: {notify: x}"),
    "an observer without an action": policies("observer: o, on: prompt"),
    "two actions": policies("observer: o, on: prompt, action: {notify: x, inject: y}"),
    "another action": policies("observer: o, on: prompt, action: {run: x}"),
    "an empty notice": policies("observer: o, on: prompt, action: {notify: ''}"),
    "a number to inject": policies("observer: o, on: prompt, action: {inject: 3}"),
    "a text for a task": policies("observer: o, on: prompt, action: {prepare: all}"),
    "another key of a task": policies("observer: o, on: prompt, action: {prepare: {writes: x}}"),
    "a cost below nothing": policies("observer: o, on: prompt, action: {prepare: {cost: -1}}"),
    "half a call": policies("observer: o, on: prompt, action: {prepare: {calls: 1.5}}"),
    "a truth value of calls": policies("observer: o, on: prompt, action: {prepare: {calls: true}}"),
    "a number of a file": policies("observer: o, on: prompt, action: {prepare: {touches: 3}}"),
    "nothing for when": policies(_GATE + ", when: "),
    "a field of nothing": policies(_GATE + ", when: {command: }"),
    "a field of an empty list": policies(_GATE + ", when: {command: []}"),
    "a field of a mapping": policies(_GATE + ", when: {command: {is: rm}}"),
    "no number in when": policies(_GATE + ", when: {n: .nan}"),
    "another count": policies(_GATE + ", state: {tears: {at_least: 1}}"),
    "a number for bounds": policies(_GATE + ", state: {calls: 3}"),
    "no bounds": policies(_GATE + ", state: {calls: {}}"),
    "another bound": policies(_GATE + ", state: {calls: {more_than: 1}}"),
    "a bound below nothing": policies(_GATE + ", state: {calls: {at_least: -1}}"),
    "a cooldown below nothing": policies(_GATE + ", cooldown_s: -1"),
    "a cooldown without end": policies(_GATE + ", cooldown_s: .inf"),
    "a cooldown that overflows": policies(_GATE + ", cooldown_s: 1e300"),
    "a text for a cooldown": policies(_GATE + ", cooldown_s: long"),
    "another key of a policy": policies(_GATE + ", why: because"),
    "an alias bomb": block(
        "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\npolicies: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]"
    ),
    "a nest": block("policies: " + "[" * 30 + "]" * 30),
    "one bad policy among good ones": policies(_GATE, _SEES, "observer: p"),
}
