"""The container engine of this machine, for the comparison with it."""

from __future__ import annotations

from tests.real.conftest import docker_engine

__all__ = ["docker_engine"]
