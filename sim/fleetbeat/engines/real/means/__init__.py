"""The means of faults: what carries a scenario's faults out on real processes and directories, decided before the start.

    plan = plan_means(scenario, specs, manifests, "process", machine())     # raises CannotDo, a line for each fault
    crews_of(..., alone=plan.alone)                                         # who needs a process of its own
    plan.prepare(stage)                  # once: homes are there, nobody watches or runs yet (mounts are made here)
    plan.faults[agent], plan.stalls[agent]                                  # for the plan files of our driver
    plan.prefix(agent, life)             # words before the command of a foreign agent, asked for each life; or ()
    plan.actions                         # timed, in order: the loop calls action.run(stage) at action.at_ns
    plan.started(stage, agent, life)     # after each start of an agent's process, before its go
    plan.look(stage)                     # often (20 ms, and before each record of an end): what the means saw fire
    plan.fired(fault, agent)             # the harness tells what it or the driver saw fire, for the count
    plan.release(stage)                  # at the end, right before the agents are ended
    plan.remove(stage)                   # at the end, after the agents, whatever happened; may be called twice
    plan.counts()                        # fields of the records `fault.count`, after `remove`

The fault model is the scenario's (`engines.injector`). What is drawn is drawn by the same names as in the simulation.
Of several means that do the same the cheapest is taken, in the order of `MEANS`; with `prefer="real"` those by which
the kernel itself refuses come before our driver.
"""

from __future__ import annotations

from fleetbeat.engines.real.means.choose import plan_means as plan_means
from fleetbeat.engines.real.means.machine import machine as machine
from fleetbeat.engines.real.means.model import MEANS as MEANS
from fleetbeat.engines.real.means.model import Action as Action
from fleetbeat.engines.real.means.model import Chosen as Chosen
from fleetbeat.engines.real.means.model import Machine as Machine
from fleetbeat.engines.real.means.model import Stage as Stage
from fleetbeat.engines.real.means.mounts import unmount_below as unmount_below
from fleetbeat.engines.real.means.plan import MeansPlan as MeansPlan
