"""The search over the event framework: every order of a few events of one agent, within small worlds of the scenario's.

The same hosting, cores and checks as in a run; only the agenda is another one, which lets the search say what comes next.
Rejected: a model of a core, which would prove something about the model.
"""
