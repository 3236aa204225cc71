"""fleetbeat: stress-test rule rollouts over a fleet of agents with jittered heartbeats and injected failures.

This module stays empty of imports: the agent in a container loads `fleetbeat.protocol` with the standard library
alone, and the command line must come up in 0.3 s.
"""

__version__ = "0.1.0"
