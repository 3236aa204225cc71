"""Conformance: an agent held against the specification, and one engine held against another.

`rows`, `expect`, `stage` and `suite` play PROTOCOL's table against an agent, in simulation and on real files. `sides`,
`calibrate`, `compare` and `ks` lay a simulated scenario and its real runs side by side. Nothing here asks an agent's
program what is right: all is judged from histories.
"""
