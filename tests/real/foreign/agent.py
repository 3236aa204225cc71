"""An agent of somebody else's: it obeys the protocol by its own means and knows nothing of fleetbeat.

    python3 agent.py HOME INTERVAL_S

Asked by files in its home: while `.suspend` is there it beats and leaves signals alone; on `.rebuild` it reads canonical
again, and removes that file when done.
"""

import json
import os
import sys
import time


class Agent:
    def __init__(self, home):
        self.home = home
        self.rules = ""
        self.flush_due = False
        self.loaded_due = False

    def at(self, name):
        return os.path.join(self.home, name)

    def log(self, event, **fields):
        try:
            with open(self.at("logs/events.jsonl"), "a", encoding="utf-8") as log:
                log.write(json.dumps({"type": event, "ts": time.time(), **fields}) + "\n")
        except OSError:
            pass

    def canonical(self):
        """Canonical rules; nothing if they are missing or no text."""
        try:
            return read_text(self.at("system/rules.md"))
        except (FileNotFoundError, UnicodeDecodeError):
            return ""

    def flush(self):
        section = f"<rules>\n{self.rules}\n</rules>\n" if self.rules else ""
        try:
            write_text(self.at("system/system.md"), f"You are an agent.\n\n{section}")
            self.flush_due = False
        except OSError as error:
            self.log("rules_flush_error", error=str(error.errno))
            self.flush_due = True

    def rebuild(self):
        try:
            self.rules = self.canonical()
        except OSError as error:
            self.log("rules_read_error", error=str(error.errno))
            return
        self.flush()

    def beat(self):
        self.show_beat()
        self.answer_rebuild()
        if os.path.exists(self.at(".suspend")):
            return
        if self.flush_due:
            self.flush()
        self.report()
        signal = self.at(".rules")
        if os.path.islink(signal) or not os.path.isfile(signal):
            return
        try:
            body = read_text(signal)
            os.unlink(signal)
        except (OSError, UnicodeDecodeError):
            return
        self.apply(body)

    def show_beat(self):
        try:
            write_text(self.at(".agent.heartbeat"), str(time.time()))
        except OSError:
            pass

    def answer_rebuild(self):
        if os.path.exists(self.at(".rebuild")):
            self.rebuild()
            try:
                os.unlink(self.at(".rebuild"))
            except OSError:
                pass

    def report(self):
        """Logs what was applied, once it is flushed."""
        if self.loaded_due and not self.flush_due:
            self.log("rules_loaded", source=".rules")
            self.loaded_due = False

    def apply(self, body):
        try:
            known = self.canonical()
        except OSError:
            known = ""
        if not body or body == known:
            return
        try:
            write_text(self.at("system/rules.md"), body)
        except OSError as error:
            self.log("rules_write_error", error=str(error.errno))
            return
        self.rules = body
        self.loaded_due = True
        self.flush()
        self.report()


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(home, interval_s):
    agent = Agent(home)
    for name in ("system", "logs"):
        os.makedirs(agent.at(name), exist_ok=True)
    agent.rebuild()
    while True:
        agent.beat()
        time.sleep(interval_s)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
