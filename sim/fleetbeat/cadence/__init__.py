"""When beat k of an agent happens: pure functions of (seed, agent, life, k). See `make_cadence`."""

from fleetbeat.cadence.make import Cadence, make_cadence

__all__ = ["Cadence", "make_cadence"]
