"""Whose directory and whose name a path is, and which directories are watched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetbeat.engines.real.errors import EngineError
from fleetbeat.engines.real.inotify import CREATE, DELETE, MOVED_FROM, MOVED_TO, NAMES, Kernel
from fleetbeat.engines.real.observe_eyes import Eyes
from fleetbeat.engines.real.observe_teller import Voice
from fleetbeat.engines.real.observe_tree import Tree, parents
from fleetbeat.engines.real.observe_watched import Name, Watched

#: Most directories that are watched in one home, and how deep below the fleet's root they may lie.
MOST, DEEPEST = 2000, 64
#: Beats of so many agents are compared with their own times, or of one in so many more.
SAMPLED = 20


class Places:
    """Paths are fleet-wide; the fleet's root is ""."""

    def __init__(self, kernel: Kernel, eyes: Eyes, voice: Voice) -> None:
        self._tree = Tree(kernel, eyes)
        self._voice = voice
        self._agents: dict[str, Watched] = {}
        self._homes: dict[str, Watched] = {}
        self._above: set[str] = {""}
        self._names: dict[str, Name] = {}
        self._beats: dict[str, Watched] = {}
        self._logs: dict[str, Watched] = {}
        self._counts: dict[str, int] = {}
        self._found: set[str] = set()
        self._furnished: str | None = None
        self._turn = 0

    # --- agents ---

    def prepare(self, home: str) -> None:
        """A home is being furnished: nothing in it is anybody's yet."""
        self._furnished = home
        self._above.update(parents(home))

    def add(self, agent: Watched) -> None:
        """A new agent, and all directories that are in its home. Raises `EngineError` if its home cannot be watched."""
        self._furnished = None
        self._agents[agent.name] = self._homes[agent.home] = agent
        agent.names = [agent.signal(), agent.canonical(), agent.prompt()]
        self._names.update((name.path, name) for name in agent.names)
        self._logs[agent.log_path] = agent
        if agent.beat_path is not None:
            self._beats[agent.beat_path] = agent
        for above in parents(agent.home):
            self._watch(above)
        for _ in self.enter(agent.home):
            pass
        self._found.clear()
        if not self._tree.watches(agent.home):
            why = self._voice.why_blind(agent, self._what(agent, agent.home)) or "no directory"
            raise EngineError(f"observing {agent.name}: its home: got {why}, expected a directory that can be watched")

    def agent(self, name: str) -> Watched:
        return self._agents[name]

    def agents(self) -> Iterable[Watched]:
        return self._agents.values()

    def is_sampled(self, agent: Watched) -> bool:
        """Every beat of few agents, some beats of many."""
        self._turn += 1
        return self._turn % max(1, len(self._agents) // SAMPLED) == 0

    # --- whose ---

    def name_at(self, path: str) -> Name | None:
        return self._names.get(path)

    def beating(self, path: str) -> Watched | None:
        return self._beats.get(path)

    def logging(self, path: str) -> Watched | None:
        return self._logs.get(path)

    def home_of(self, path: str) -> Watched | None:
        """The agent in whose home a path lies, the innermost one."""
        while path:
            if (agent := self._homes.get(path)) is not None:
                return agent
            path = path[: path.rfind("/")]
        return None

    def is_ours(self, path: str) -> bool:
        """A home, a directory on the way to one, or something in a home that is being furnished."""
        home = self._furnished
        is_furniture = home is not None and f"{path}/".startswith(f"{home}/")
        return is_furniture or path in self._homes or path in self._above

    def touched(self, path: str) -> list[Watched]:
        """The agents that have, or could have, names below a directory."""
        if path in self._above or path in self._homes:
            return [agent for home, agent in self._homes.items() if f"{home}/".startswith(f"{path}/")]
        agent = self.home_of(path)
        return [] if agent is None else [agent]

    # --- watches ---

    def path_of(self, watch: int) -> str | None:
        return self._tree.path_of(watch)

    def gone(self, watch: int) -> None:
        self._tree.gone(watch)

    def watches(self, path: str) -> bool:
        return self._tree.watches(path)

    def watch_root(self) -> None:
        self._watch("")

    def drop(self, path: str) -> None:
        self._tree.drop(path)

    def enter(self, path: str) -> Iterator[tuple[str, bool]]:
        """Watches a directory and those in it; yields what stands in them and whether it is a directory."""
        ahead = [path]
        while ahead:
            here = ahead.pop()
            if self._watch(here):
                for found, is_directory in self._tree.entries(here):
                    self._found.add(found)
                    yield found, is_directory
                    if is_directory:
                        ahead.append(found)

    def is_known(self, path: str, mask: int) -> bool:
        """Whether an event says only that something was made that has been found standing already."""
        if self._found and mask & (CREATE | DELETE | MOVED_FROM | MOVED_TO) and path in self._found:
            self._found.discard(path)
            return bool(mask & CREATE)
        return False

    def forget_found(self) -> None:
        self._found.clear()

    def _watch(self, path: str) -> bool:
        agent = self.home_of(path)
        if agent is not None and path.count("/") > DEEPEST:
            self._voice.blind(agent, "further directories", f"more than {DEEPEST} inside each other")
            return False
        if agent is not None and not self._tree.watches(path):
            count = self._counts[agent.name] = self._counts.get(agent.name, 0) + 1
            if count > MOST:
                self._voice.blind(agent, "further directories", f"more than {MOST} in one home")
                return False
        try:
            return self._tree.add(path, NAMES)
        except OSError as error:
            self._voice.blind(agent, self._what(agent, path), error.strerror or str(error))
            return False

    @staticmethod
    def _what(agent: Watched | None, path: str) -> str:
        return f"directory {path if agent is None else agent.relative(path)}"
