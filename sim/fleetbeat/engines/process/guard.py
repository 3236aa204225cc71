"""Starts one command and sees that it ends: with its harness, however that went. Runs as a file under `python -S`.

    guard.py LEASE SECONDS WORD...

Whoever starts an agent with a command of its own cannot rely on it to look after a lease: this parent does, and kills the
whole process group once the lease file has not changed for that many seconds. It ends as its child ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

LOOK_S = 1.0


def main(lease: str, lasts_s: float, words: list[str]) -> int:
    try:
        child = subprocess.Popen(words)
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode())
        return 127
    signal.signal(signal.SIGTERM, lambda number, frame: child.send_signal(number))
    seen, looks = "", 0
    while True:
        try:
            code = child.wait(LOOK_S)
            break
        except subprocess.TimeoutExpired:
            now = stamp_of(lease)
        looks = 0 if now != seen else looks + 1
        seen = now
        if looks * LOOK_S >= lasts_s:
            os.killpg(0, signal.SIGKILL)
            time.sleep(60)
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def stamp_of(path: str) -> str:
    """What changes when a file is renewed; "" if it is gone."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_mtime_ns} {found.st_ino}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], float(sys.argv[2]), sys.argv[3:]))
