"""Sweeps: a scenario over a grid and seeds, on all cores or a cluster, each point once."""

from headend.sweeps.definition import Sweep, read_sweep
from headend.sweeps.experiment import sweep
from headend.sweeps.result import SweepResult

__all__ = ["Sweep", "SweepResult", "read_sweep", "sweep"]
