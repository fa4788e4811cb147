"""What happens to jobs on a real cluster, and the receipt that follows."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.slurm.hooked import HookedCluster, uuids

pytestmark = pytest.mark.skipif(
    os.environ.get("TALLYSTICK_LIVE") != "required"
    and (os.geteuid() != 0 or shutil.which("slurmctld") is None),
    reason="needs root and Slurm",
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[HookedCluster]:
    """Start a cluster for all stories."""
    made = HookedCluster(Path(tempfile.mkdtemp(prefix="tallystick-slurm-")), 18800)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        made.remove()


def test_a_normal_job(cluster: HookedCluster) -> None:
    """One attempt on the boards that the prolog named, completed by itself."""
    job = cluster.submit("normal", "sleep 2")
    cluster.wait(job, "COMPLETED")
    cluster.wait_final(job)
    cluster.wait_hooks(job, "slurm-epilog", 1)

    receipt = cluster.receipt("normal")

    (attempt,) = receipt.attempts
    assert receipt.ended_by == ["completed"]
    assert len(attempt["gpu_uuids"]) == 2
    assert set(attempt["gpu_uuids"]) <= {*uuids("n1"), *uuids("n2")}
    assert (attempt["gpu_type"], attempt["capacity"]) == ("h100", "spot")
