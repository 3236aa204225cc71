from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetbeat.scenario import library
from fleetbeat.scenario.library import find, find_agent, scenarios
from fleetbeat.scenario.manifest import load_manifest
from fleetbeat.scenario.mistakes import ScenarioError


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library with two scenarios and one agent, in the working directory's neighbour."""
    for name in ("canary", "two-operators"):
        path = tmp_path / "lib" / "scenarios" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# yaml-language-server: $schema=x\n#\n# What {name} shows.\n# More.\nfleet: {{agents: 1}}\n")
    agent = tmp_path / "lib" / "agents" / "meek" / "agent.yaml"
    agent.parent.mkdir(parents=True)
    agent.write_text("name: meek\n")
    (agent.parent / "program.py").write_text("")
    monkeypatch.setattr(library, "_folders", lambda kind: iter([tmp_path / "lib" / kind, tmp_path / "nothing"]))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def test_scenarios_are_listed_with_what_they_show(shelf: Path) -> None:
    assert [(name, line) for name, (_, line) in scenarios().items()] == [
        ("canary", "What canary shows."),
        ("two-operators", "What two-operators shows."),
    ]


def test_a_scenario_goes_by_its_name_with_or_without_ending(shelf: Path) -> None:
    wanted = shelf / "lib" / "scenarios" / "canary.yaml"
    assert (find("canary"), find("canary.yaml")) == (wanted, wanted)


def test_an_existing_file_wins_over_a_name_and_a_folder_does_not(shelf: Path) -> None:
    Path("canary.yaml").write_text("")
    Path("two-operators").mkdir()
    assert find("canary.yaml") == Path("canary.yaml")
    assert find("two-operators").parent.name == "scenarios"


def test_a_path_is_left_for_loading_to_refuse(shelf: Path) -> None:
    assert [find(name) for name in ("a/b", "b.yaml")] == [Path("a/b"), Path("b.yaml")]


def test_an_unknown_scenario_is_told_with_the_names_that_there_are(shelf: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        find("canarry")
    assert str(caught.value) == (
        "scenario: got 'canarry', expected a scenario's file or one of canary or two-operators (did you mean 'canary'?)"
    )


@pytest.mark.parametrize("name", ["", "x" * 5000, "a\0b", "../x" * 2000])
def test_a_name_that_no_file_can_have_is_no_crash(shelf: Path, name: str) -> None:
    try:
        find(name)
        find_agent(name)
    except ScenarioError:
        pass


def test_an_agent_goes_by_name_or_by_folder(shelf: Path) -> None:
    folder = shelf / "lib" / "agents" / "meek"
    assert find_agent("meek") == folder
    assert find_agent("./lib/agents/meek", shelf).samefile(folder)
    assert find_agent(str(folder)) == folder


def test_an_unknown_agent_is_told(shelf: Path) -> None:
    with pytest.raises(ScenarioError, match=r"did you mean 'meek'\?"):
        find_agent("meak")
    with pytest.raises(ScenarioError, match=r"expected a folder that holds an agent\.yaml"):
        find_agent("./meek", shelf)


def test_the_checkout_is_the_library_when_run_from_one() -> None:
    assert find_agent("reference").parent == Path(__file__).parents[2] / "agents"


@pytest.mark.parametrize("name", list(library.agents()))
def test_each_agent_of_the_library_has_a_manifest_of_its_name(name: str) -> None:
    assert load_manifest(find_agent(name)).name == name


MANIFEST = """\
name: meek
program: brain.py
prompt: {path: out/prompt.md, begin: "<<\\n", end: ">>"}
writes: [".rules", "out/*"]
set_aside: rejected/*
asks: [rebuild]
known_gaps: [whole-body]
"""


def _manifest(tmp_path: Path, text: str) -> Path:
    (tmp_path / "agent.yaml").write_text(text)
    (tmp_path / "brain.py").write_text("")
    return tmp_path


def test_a_manifest_says_what_an_agent_is(tmp_path: Path) -> None:
    manifest = load_manifest(_manifest(tmp_path, MANIFEST))
    assert (manifest.name, manifest.program, manifest.canonical) == ("meek", "brain.py", "system/rules.md")
    assert (manifest.prompt.path, manifest.prompt.begin, manifest.prompt.end) == ("out/prompt.md", "<<\n", ">>")
    assert (manifest.writes, manifest.set_aside) == ((".rules", "out/*"), ("rejected/*",))
    assert (manifest.asks, manifest.known_gaps) == (("rebuild",), ("whole-body",))


def test_a_manifest_has_the_defaults_of_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("")
    manifest = load_manifest(_manifest(tmp_path, "name: meek"))
    assert (manifest.program, manifest.prompt.path, manifest.known_gaps) == ("program.py", "system/system.md", ())


def test_mistakes_of_a_manifest_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_manifest(_manifest(tmp_path, "nam: meek\nasks: [molt]\nprogram: ../x.py\n"), "agent.yaml")
    assert [line.split(", expected")[0] for line in str(caught.value).splitlines()] == [
        "agent.yaml:1:1: name: got nothing",
        "agent.yaml:1:1: nam: got the unknown key 'nam'",
        "agent.yaml:2:8: asks.0: got 'molt'",
        "agent.yaml:3:10: program: got '../x.py'",
    ]


def test_what_a_manifest_means_is_checked_too(tmp_path: Path) -> None:
    text = "name: meek\nknown_gaps: [whole-bodi]\nwrites: [/etc/x, a/../b]\nprompt: {path: /x}\nset_aside: ../x\n"
    with pytest.raises(ScenarioError) as caught:
        load_manifest(_manifest(tmp_path, text), "agent.yaml")
    assert str(caught.value).splitlines() == [
        "agent.yaml:1:1: program: got 'program.py', expected a file in the agent's folder",
        "agent.yaml:2:14: known_gaps.0: got 'whole-bodi', expected an invariant's id (did you mean 'whole-body'?)",
        "agent.yaml:3:10: writes.0: got '/etc/x', expected a path relative to home, without ..",
        "agent.yaml:3:18: writes.1: got 'a/../b', expected a path relative to home, without ..",
        "agent.yaml:4:16: prompt.path: got '/x', expected a path relative to home, without ..",
        "agent.yaml:5:12: set_aside: got '../x', expected a path relative to home, without ..",
    ]


def test_an_agent_with_a_command_needs_no_program(tmp_path: Path) -> None:
    text = "name: own\ncommand: [./run, '{home}', '--as={name}', '{interval}', 'x{}']\nheartbeat: null\nimage: own:1\n"
    (tmp_path / "agent.yaml").write_text(text)
    manifest = load_manifest(tmp_path)
    assert (manifest.is_foreign, manifest.heartbeat, manifest.image) == (True, None, "own:1")
    assert manifest.words("/a-0", "a-0", 1_500_000_000) == ("./run", "/a-0", "--as=a-0", "1.5", "x{}")
    assert manifest.words("/{name}", "a-0", 1)[1] == "/{name}"  # what is filled in is not looked at again


def test_what_an_agent_can_be_asked_may_have_signs(tmp_path: Path) -> None:
    manifest = load_manifest(
        _manifest(tmp_path, "name: meek\nprogram: brain.py\nasks: {rebuild: .again, suspend: .off}\n")
    )
    assert manifest.signs == {"rebuild": ".again", "suspend": ".off"}
    assert "rebuild" in manifest.asks
    assert "refresh" not in manifest.asks
    manifest = load_manifest(_manifest(tmp_path, "name: meek\nprogram: brain.py\nasks: rebuild\n"))
    assert (manifest.asks, manifest.signs, manifest.is_foreign) == (("rebuild",), {}, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("command: ./run {home}", "2:10: command: got './run {home}', expected a list of words, such as"),
        ("command: [run, '{hom}']", "2:16: command.1: got '{hom}', expected no other braces than {home}"),
        ("command: [run, '']", "2:16: command.1: got '', expected a word"),
        ("command: [run]\nprogram: none.py", "3:10: program: got 'none.py', expected a file in the agent's folder"),
        (
            "asks: {molt: .x}\nprogram: brain.py",
            "2:8: asks.molt: got the unknown key 'molt', expected rebuild, suspend",
        ),
        ("asks: {rebuild: 3}\nprogram: brain.py", "2:17: asks.rebuild: got 3, expected text (in quotes)"),
        (
            "asks: {rebuild: ../x}\nprogram: brain.py",
            "2:17: asks.rebuild: got '../x', expected a path relative to home",
        ),
        ("heartbeat: /tmp/x\nprogram: brain.py", "2:12: heartbeat: got '/tmp/x', expected a path relative to home"),
        ("image: ''\nprogram: brain.py", "2:8: image: got '', expected text that is not empty"),
    ],
)
def test_mistakes_about_a_real_agent_say_where_they_stand(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_manifest(_manifest(tmp_path, f"name: meek\n{text}\n"), "agent.yaml")
    assert str(caught.value).startswith(f"agent.yaml:{said}")
    assert len(caught.value.mistakes) == 1


def test_a_folder_without_a_manifest_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_manifest(tmp_path)
    assert str(caught.value) == f"{tmp_path}{os.sep}agent.yaml: got no such file, expected a file"
