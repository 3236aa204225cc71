"""The event framework as it is tested: what cores are told and may ask for, policies, sessions, and who caused what.

`vocabulary` is all that a core needs, and needs the standard library alone. `hosting` surrounds one core and records the
causes; `policies` reads the policies of a body for the harness (a core reads them by its own means).
"""
