"""One cluster for all tests of a session; they skip, with a reason, where it cannot be."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.slurm.hooked import HookedCluster

PORT = int(os.environ.get("TALLYSTICK_LIVE_SLURM_PORT", "18800"))
"""The first of a hundred ports, none of which another cluster of this machine uses."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[HookedCluster]:
    """Start a cluster, and the job whose time limit takes longest."""
    is_required = os.environ.get("TALLYSTICK_LIVE") == "required"
    if not is_required and (os.geteuid() != 0 or shutil.which("slurmctld") is None):
        pytest.skip("needs root and Slurm")
    made = HookedCluster(Path(tempfile.mkdtemp(prefix="tallystick-slurm-")), PORT)
    try:
        made.start()
        made.limited = made.submit("limited", "sleep 600", "--time=1", "--nodelist=n2", gpus=1)
        yield made
    finally:
        made.stop()
        made.remove()
