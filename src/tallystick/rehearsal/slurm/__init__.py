"""The Slurm route: the job is a batch job of a cluster, taken back by requeue or pre-emption."""

from tallystick.rehearsal.slurm.route import SlurmRoute

__all__ = ["SlurmRoute"]
