"""Job statistics that ``dcgmi stats -j`` printed, one record for each GPU.

DCGM prints indexes and local times, and zeros where it sampled nothing. The index becomes a
UUID through an inventory, the time an instant through the host's zone, and what was never
measured becomes null: never 0, never a guess.
"""

from tallystick.collectors.dcgm.collect import DcgmOptions, collect_dcgm

__all__ = ["DcgmOptions", "collect_dcgm"]
