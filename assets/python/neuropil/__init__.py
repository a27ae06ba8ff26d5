"""Neuropil from Python: reads recorded runs, and runs projects.

    import neuropil

    run = neuropil.run("projects/balanced.ron", {"network.n_neurons": 200}, duration="200ms")
    run.spikes.times, run.spikes.lanes      # s, index of the neuron
    run["rate"].values                      # float32, shape (samples, lanes)
    run.parameters()["lif.tau_m"]           # value, unit, step since which it holds

    run = neuropil.open("runs/0007-sugar")  # a run of the window, finished or not

A damaged file raises `RunError` with its place, an error of the program `ProgramError` with its text.
"""

from .checkpoint import Checkpoint
from .edits import Choice, Edit
from .errors import Cancelled, NeuropilError, ProgramError, RunError
from .lines import Individual, Lineage, Lines, Log
from .manifest import Level, Manifest
from .parameters import Parameter
from .program import find_program
from .reader import Run, open
from .runner import Progress, run
from .series import conditions, open_runs, stack
from .sets import ElementSet
from .streams import Rows, Spikes, Stream

__version__ = "0.2.0"

__all__ = [
    "Cancelled",
    "Checkpoint",
    "Choice",
    "Edit",
    "ElementSet",
    "Individual",
    "Level",
    "Lineage",
    "Lines",
    "Log",
    "Manifest",
    "NeuropilError",
    "Parameter",
    "ProgramError",
    "Progress",
    "Rows",
    "Run",
    "RunError",
    "Spikes",
    "Stream",
    "conditions",
    "find_program",
    "open",
    "open_runs",
    "run",
    "stack",
]
