"""Rights: what the kernel refuses to a real process of the agent's user, in the window, and what it grants afterwards."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real.means_stage import MS, RealStage, need, need_root, of_this_machine, planned, scenario_of

AGENT, WRITER = 4242, 0
ROLLOUT = {"version": "v", "at": "1s", "targets": "all", "body": "x", "uid": WRITER}
CAT, RM, MV, TOUCH = "/bin/cat", "/bin/rm", "/bin/mv", "/bin/touch"


class Play:
    """One agent's home, and processes of the two users. `as_agent` says what a program said on standard error."""

    def __init__(self, root: Path, fault: dict[str, Any], **more: Any) -> None:
        fleet = {"agents": 2, "uid": AGENT, **more.pop("fleet", {})}
        fault = {"id": "f", "agents": "a-0", "from": "100ms", "to": "200ms", **fault}
        scenario = scenario_of(fleet=fleet, faults=[fault], **more)
        self.stage = RealStage(root, scenario)
        for name in ("a-0", "a-1"):
            home = self.stage.home(name)
            for path in (home, home / "system", home / "logs"):
                os.chown(path, AGENT, AGENT)
        self.home, self.other = self.stage.home("a-0"), self.stage.home("a-1")
        self.stage.play(planned(scenario, on=of_this_machine()))
        self._began = False

    def open_window(self) -> None:
        self.stage.until(self.stage.faults, "the fault")
        assert self.stage.now() >= 100 * MS

    def close_window(self) -> None:
        self.stage.until(lambda: self.stage.now() > 250 * MS, "the end of the window")

    def post(self, home: Path, uid: int = WRITER) -> None:
        """As a writer does: a temporary in the home, renamed."""
        script = 'umask 077; cd "$1" && echo body > .rules.tmp && mv -f .rules.tmp .rules'
        subprocess.run(["/bin/sh", "-c", script, "sh", str(home)], user=uid, group=uid, check=True, timeout=20)

    def as_agent(self, *words: str) -> str:
        done = subprocess.run(
            words, user=AGENT, group=AGENT, capture_output=True, text=True, timeout=20, env={"LC_ALL": "C"}
        )
        return done.stderr.strip().rpartition(": ")[2] if done.returncode else "ok"

    def count(self) -> dict[str, Any]:
        assert self.stage.plan is not None
        return self.stage.plan.counts()[0]


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory that other users can pass through, as pytest's own cannot be."""
    need_root()
    need(of_this_machine().mount_why)
    with tempfile.TemporaryDirectory(prefix="fleetbeat-test-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory) / "run"


def test_a_post_is_unreadable_from_its_first_instant_and_readable_after_the_window(root: Path) -> None:
    play = Play(root, {"operation": "read", "error": "EACCES"})
    play.post(play.home, AGENT)
    assert play.as_agent(CAT, f"{play.home}/.rules") == "ok"
    play.open_window()
    assert play.as_agent(CAT, f"{play.home}/.rules") == "Permission denied"  # the one that lay there
    play.post(play.home, AGENT)
    assert play.as_agent(CAT, f"{play.home}/.rules") == "Permission denied"  # and one that came
    play.post(play.other, AGENT)
    assert play.as_agent(CAT, f"{play.other}/.rules") == "ok"
    play.close_window()
    assert play.as_agent(CAT, f"{play.home}/.rules") == "ok"
    play.post(play.home, AGENT)
    assert play.as_agent(CAT, f"{play.home}/.rules") == "ok"
    play.stage.close()
    assert play.count() == {
        "fault": "f", "means": ["permissions"], "planned": 1, "fired": 1, "observed": 1, "removed": True
    }  # fmt: skip


def test_a_sticky_home_answers_eperm_to_unlink_and_lets_the_agent_make_files(root: Path) -> None:
    play = Play(root, {"operation": "unlink", "error": "EPERM"}, rollouts=[ROLLOUT])
    play.open_window()
    play.post(play.home)
    assert play.as_agent(RM, "-f", f"{play.home}/.rules") == "Operation not permitted"
    assert play.as_agent(TOUCH, f"{play.home}/.new") == "ok"
    play.close_window()
    assert play.as_agent(RM, "-f", f"{play.home}/.rules") == "ok"


def test_a_fenced_home_answers_eacces_to_unlink_and_lets_the_writer_write(root: Path) -> None:
    play = Play(root, {"operation": "unlink", "error": "EACCES"}, rollouts=[ROLLOUT])
    play.open_window()
    play.post(play.home)
    assert play.as_agent(RM, "-f", f"{play.home}/.rules") == "Permission denied"
    assert play.as_agent(TOUCH, f"{play.home}/system/new") == "ok"
    play.close_window()
    assert play.as_agent(RM, "-f", f"{play.home}/.rules") == "ok"
    found = play.home.stat()
    assert (found.st_uid, found.st_mode & 0o7777) == (AGENT, 0o755)
    assert os.listxattr(play.home) == []


def test_canonical_is_closed_to_its_agent_and_given_back_as_it_was(root: Path) -> None:
    fault = {"operation": "open", "path": "system/rules.md", "error": "EACCES"}
    play = Play(root, fault, fleet={"start": {"rules": "old"}})
    canonical = play.home / "system" / "rules.md"
    canonical.write_text("old")
    os.chown(canonical, AGENT, AGENT)
    canonical.chmod(0o640)
    play.open_window()
    assert play.as_agent(CAT, str(canonical)) == "Permission denied"
    assert play.as_agent("/bin/sh", "-c", f"echo x > {canonical}") == "Permission denied"
    assert play.as_agent(TOUCH, f"{play.home}/system/system.md") == "ok"
    play.close_window()
    found = canonical.stat()
    assert (found.st_uid, found.st_mode & 0o777, canonical.read_text()) == (AGENT, 0o640, "old")


def test_rights_are_given_back_if_the_run_ends_within_the_window(root: Path) -> None:
    play = Play(root, {"operation": "unlink", "error": "EPERM", "to": None}, rollouts=[ROLLOUT])
    play.open_window()
    assert play.home.stat().st_mode & 0o1000
    play.stage.close()
    assert play.home.stat().st_uid == AGENT
    assert not play.home.stat().st_mode & 0o1000


def test_a_signal_that_lies_there_in_vain_is_told_again_and_again(root: Path) -> None:
    """As the simulation tells of each beat: what was long in the way must not look as if nothing had been."""
    fault = {"operation": "unlink", "error": "EPERM", "to": "400ms"}
    play = Play(root, fault, rollouts=[ROLLOUT], fleet={"heartbeat": {"interval": "50ms"}})
    play.open_window()
    play.stage.until(lambda: play.stage.now() > 150 * MS, "a moment")
    assert len(play.stage.faults()) == 1
    play.post(play.home)
    play.stage.until(lambda: play.stage.now() > 450 * MS, "the end of the window")
    told = [fault["t"] for fault in play.stage.faults()]
    assert 3 <= len(told) <= 9
    assert told[-1] >= 400 * MS
    assert play.count()["fired"] == 1


def test_a_link_that_the_agent_put_there_is_not_followed(root: Path) -> None:
    """Root takes rights from files of somebody who may swap them: what is elsewhere must keep its own."""
    play = Play(root, {"operation": "read", "error": "EACCES"})
    victim = root / "victim"
    victim.write_text("x")
    victim.chmod(0o644)
    (play.home / ".rules").symlink_to(victim)
    play.open_window()
    assert victim.stat().st_mode & 0o777 == 0o644
    play.close_window()
    assert victim.stat().st_mode & 0o777 == 0o644


def test_a_home_that_was_swapped_for_a_link_is_refused(root: Path) -> None:
    play = Play(root, {"operation": "unlink", "error": "EPERM"}, rollouts=[ROLLOUT])
    victim = root / "victim"
    victim.mkdir(mode=0o700)
    os.chown(victim, AGENT, AGENT)
    play.home.rename(root / "aside")
    play.home.symlink_to(victim)
    with pytest.raises(OSError):
        play.open_window()
    assert (victim.stat().st_uid, victim.stat().st_mode & 0o7777) == (AGENT, 0o700)


def test_what_was_taken_is_given_back_whatever_stands_at_its_name_then(root: Path) -> None:
    """Canonical is renamed away in the window: its rights go back to it, and not to what took its name."""
    fault = {"operation": "open", "path": "system/rules.md", "error": "EACCES"}
    play = Play(root, fault, fleet={"start": {"rules": "old"}})
    canonical, moved = play.home / "system" / "rules.md", play.home / "system" / "moved"
    canonical.write_text("old")
    os.chown(canonical, AGENT, AGENT)
    play.open_window()
    canonical.rename(moved)
    canonical.write_text("other")
    play.close_window()
    assert moved.stat().st_uid == AGENT
    assert canonical.stat().st_uid == 0
