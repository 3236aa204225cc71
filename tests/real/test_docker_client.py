"""Which engine is talked to, and what is said where none can be: no engine, no permission, an old one, one elsewhere."""

from __future__ import annotations

import json
import os
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from fleetbeat.cli.errors import code_of
from fleetbeat.engines.docker import doctor_facts
from fleetbeat.engines.docker.client import connect, sockets
from fleetbeat.engines.real.errors import EngineError


@contextmanager
def _engine(path: Path, version: dict[str, Any], info: dict[str, Any] | None = None) -> Iterator[str]:
    """Something at a socket that answers as an engine would."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = json.dumps(version if self.path.endswith("/version") else info or {}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def address_string(self) -> str:
            return "socket"

        def log_message(self, *_: object) -> None:
            return

    server = socketserver.ThreadingUnixStreamServer(str(path), Answers)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"unix://{path}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _refused(host: str | None = None) -> str:
    with pytest.raises(EngineError) as caught:
        connect(host)
    assert code_of(caught.value) == 4
    return str(caught.value)


def test_a_socket_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    told = _refused(f"unix://{tmp_path}/none.sock")
    assert f"{tmp_path}/none.sock" in told
    assert "got no socket there, expected an engine that runs" in told


def test_a_socket_where_nobody_listens_is_told_from_a_missing_one(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with _engine(path, {}):
        pass
    assert path.exists()
    assert "got nobody listening" in _refused(f"unix://{path}")


@pytest.mark.skipif(os.getuid() == 0, reason="root may use any socket")
def test_no_permission_says_how_to_get_it(tmp_path: Path) -> None:
    with _engine(tmp_path / "s", {"ApiVersion": "1.41"}) as host:
        (tmp_path / "s").chmod(0)
        assert "got no permission on its socket, expected to be root or in the socket's group" in _refused(host)


def test_a_refusal_of_the_kernel_is_said_in_words_whoever_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("socket.socket.connect", refuse)
    assert "got no permission on its socket" in _refused(f"unix://{tmp_path}/s")


def test_an_old_engine_is_refused_with_its_version(tmp_path: Path) -> None:
    with _engine(tmp_path / "s", {"Version": "19.03.15", "ApiVersion": "1.40"}) as host:
        told = _refused(host)
    assert "19.03.15" in told
    assert "expected Docker 20.10 (API 1.41) or newer" in told


def test_an_engine_older_than_the_sdk_takes_is_refused_in_the_same_words(tmp_path: Path) -> None:
    with _engine(tmp_path / "s", {"Version": "1.6", "ApiVersion": "1.18"}) as host:
        assert "expected Docker 20.10 (API 1.41) or newer" in _refused(host)


def test_something_else_at_the_socket_is_not_taken_for_an_engine(tmp_path: Path) -> None:
    with _engine(tmp_path / "s", {"hello": "world"}) as host:
        assert "expected" in _refused(host)


def test_podman_is_known_as_podman_and_as_rootless(tmp_path: Path) -> None:
    version = {"Version": "4.9.3", "ApiVersion": "1.41", "Components": [{"Name": "Podman Engine"}]}
    with _engine(tmp_path / "s", version, {"SecurityOptions": ["name=seccomp", "name=rootless"]}) as host:
        facts = doctor_facts(host)
    assert (facts.server, facts.version, facts.rootless, facts.why) == ("Podman", "4.9.3", True, None)


@pytest.mark.parametrize("host", ["tcp://10.0.0.1:2375", "ssh://somebody@elsewhere", "http://10.0.0.1"])
def test_an_engine_elsewhere_is_not_talked_to_because_a_variable_names_it(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it was talked to")

    monkeypatch.setenv("DOCKER_HOST", host)
    monkeypatch.setattr("socket.socket.connect", never)
    told = _refused()
    assert f"DOCKER_HOST: got '{host}', expected an engine of this machine" in told
    assert f"--docker-host {host}" in told


def test_a_socket_that_a_variable_names_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _engine(tmp_path / "s", {"Version": "26.1", "ApiVersion": "1.45"}) as host:
        monkeypatch.setenv("DOCKER_HOST", host)
        facts = doctor_facts()
    assert (facts.host, facts.server, facts.api, facts.why) == (host, "Docker", "1.45", None)


def test_podman_s_socket_of_the_user_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "podman").mkdir()
    (tmp_path / "podman/podman.sock").touch()
    assert f"unix://{tmp_path}/podman/podman.sock" in list(sockets())


def test_without_any_socket_it_is_said_what_was_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetbeat.engines.docker.client.sockets", lambda: iter(()))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    assert "got no socket of Docker or Podman" in _refused()
