"""Sweeps: a scenario over a grid and several seeds, on all cores or on a cluster; what is done is never done again."""

from headend.sweeps.definition import Sweep, read_sweep
from headend.sweeps.experiment import sweep
from headend.sweeps.result import SweepResult

__all__ = ["Sweep", "SweepResult", "read_sweep", "sweep"]
