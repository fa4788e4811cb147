"""Slurm: accounting rows, the controller's view of jobs, and hook dumps become evidence."""

from tallystick.collectors.slurm.collect import collect_slurm
from tallystick.collectors.slurm.options import SlurmOptions

__all__ = ["SlurmOptions", "collect_slurm"]
