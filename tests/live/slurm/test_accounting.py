"""Polling a real cluster: what it says late, what it changes, and what it forgets."""

import json
import os
import pwd
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tallystick.app import slurm_poll
from tallystick.app.admit import Admission, clock_us
from tallystick.app.slurm_poll import OVERLAP_US_MIN, Accounting, Poller
from tallystick.app.store import OpenStore
from tallystick.collectors.slurm import SlurmOptions, collect_slurm
from tallystick.collectors.slurm.live.errors import PollFailedError
from tallystick.collectors.slurm.live.rest import SlurmRest
from tallystick.collectors.slurm.live.sacct import Sacct
from tallystick.core.instant import SECOND_US
from tests.app.stores import new_store
from tests.live.slurm.hooked import HookedCluster

START_US = 1_767_225_600 * SECOND_US
HOUR_US = 3600 * SECOND_US
WRONG = "x"


class Polls:
    """A store of its own that is told what the cluster says."""

    def __init__(self, store: OpenStore, accounting: Accounting) -> None:
        self.store = store
        self.poller = Poller(store, accounting, options, "testc", START_US, OVERLAP_US_MIN)

    def poll(self) -> Admission:
        """Poll once."""
        return self.poller.poll()

    def bodies(self, kind: str, job: str) -> list[dict[str, Any]]:
        """Give what the store's records of one kind say of a job."""
        with self.store.log.reading() as log:
            records = [json.loads(leaf)["record"] for leaf in log.leaves(0, log.size)]
        return [
            each["body"]
            for each in records
            if each["kind"] == kind and each["body"].get("attempt", "").split(":")[2:3] == [job]
        ]


def options(observed_us: int) -> SlurmOptions:
    """Declare the test cluster."""
    return SlurmOptions(cluster="testc", timezone="UTC", observed_us=observed_us)


@pytest.fixture
def polls(
    cluster: HookedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Polls]:
    """Make a store that is polled by sacct."""
    monkeypatch.setenv("SLURM_CONF", cluster.slurm_conf)
    with new_store(tmp_path) as store:
        yield Polls(store, Sacct())


def test_a_running_job_is_open_until_it_is_final(cluster: HookedCluster, polls: Polls) -> None:
    """Each poll adds what became known, and a last one adds nothing."""
    job = cluster.submit("open", "sleep 4")
    cluster.wait(job, "RUNNING")
    time.sleep(1)
    polls.poll()
    while_running = len(polls.bodies("allocation.ended", job))
    cluster.wait_final(job)
    polls.poll()

    again = polls.poll()

    assert while_running == 0
    assert [body["ended_by"] for body in polls.bodies("allocation.ended", job)] == ["completed"]
    assert again.counts["accepted"] == 0
    assert polls.bodies("allocation.correction", job) == []


def test_an_outage_of_the_database_costs_time_only(cluster: HookedCluster, polls: Polls) -> None:
    """Polls fail while it is away; afterwards a job that ran meanwhile is there, and final."""
    polls.poll()
    cluster.kill("slurmdbd", "-TERM")
    try:
        job = cluster.submit("meanwhile", "sleep 1")
        cluster.wait(job, "COMPLETED")
        with pytest.raises(PollFailedError):
            polls.poll()
    finally:
        time.sleep(1)
        cluster.daemon("slurmdbd")
    cluster.wait_final(job)

    polls.poll()

    assert [body["ended_by"] for body in polls.bodies("allocation.ended", job)] == ["completed"]


def test_a_row_that_is_edited_afterwards_is_a_correction(
    cluster: HookedCluster, polls: Polls
) -> None:
    """Users and operators may change final rows; the old one stays beside the new one."""
    job = cluster.submit("edited", "sleep 1")
    cluster.wait_final(job)
    polls.poll()
    cluster.command(
        "sacctmgr", "-i", "modify", "job", "where", f"jobid={job}", "set", "DerivedExitCode=3"
    )

    polls.poll()

    (body,) = polls.bodies("allocation.correction", job)
    assert body["reason"] == "the row was final and has changed"


def test_a_row_that_is_deleted_is_lost_at_the_second_poll(
    cluster: HookedCluster, polls: Polls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One poll without it proves nothing."""
    job = cluster.submit("deleted", "sleep 1")
    other = cluster.submit("kept", "sleep 1")
    cluster.wait_final(job)
    cluster.wait_final(other)
    polls.poll()
    cluster.forget(job)
    polls.poll()
    after_one = len(polls.bodies("allocation.correction", job))
    later_us = clock_us() + 61 * SECOND_US
    monkeypatch.setattr(slurm_poll, "clock_us", lambda: later_us)

    polls.poll()

    (body,) = polls.bodies("allocation.correction", job)
    assert after_one == 0
    assert (body["now"], body["reason"]) == (None, "the row is gone")
    assert polls.bodies("allocation.correction", other) == []


def group_of(user: str) -> int:
    """Give the group of a user."""
    return pwd.getpwnam(user).pw_gid


@contextmanager
def rest_server(cluster: HookedCluster, *argv: str, user: str, **variables: str) -> Iterator[None]:
    """Run slurmrestd as a user for the length of a block."""
    server = subprocess.Popen(
        [
            *("setpriv", f"--reuid={user}", f"--regid={group_of(user)}", "--clear-groups"),
            *("/usr/sbin/slurmrestd", "-s", "openapi/dbv0.0.38,openapi/v0.0.38", *argv),
        ],
        env={"PATH": os.environ["PATH"], "SLURM_CONF": cluster.slurm_conf, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        server.kill()
        server.wait()


def attempts(source: Any) -> Counter[str]:
    """Count what the rows of an answer become, as far as both readers know it."""
    found = collect_slurm((source,), options(1)).records
    wanted = ("allocation.started", "allocation.ended")
    return Counter(
        json.dumps(
            [each["kind"], each["at"], each["body"]["attempt"], each["body"].get("ended_by")]
        )
        for each in found
        if each["kind"] in wanted
    )


def answer(rest: SlurmRest, to_us: int) -> Any:
    """Ask until the server is up."""
    for _ in range(50):
        try:
            return rest.window(START_US, to_us)
        except PollFailedError:
            time.sleep(0.2)
    return rest.window(START_US, to_us)


def test_slurmrestd_says_what_sacct_says(cluster: HookedCluster, polls: Polls) -> None:
    """Over a unix socket, and over HTTP with a token: the same attempts with the same times."""
    del polls  # It names the cluster to sacct.
    cluster.wait_final(cluster.submit("rest", "sleep 2"))
    cluster.wait_quiet()
    to_us = clock_us() + HOUR_US
    expected = attempts(Sacct().window(START_US, to_us))
    folder = cluster.folder / "rest"
    folder.mkdir()
    folder.chmod(0o777)
    local = f"unix:{folder}/socket"

    with rest_server(cluster, "-a", "rest_auth/local", local, user="alice"):
        by_socket = attempts(answer(SlurmRest(local), to_us))
    token = cluster.token("alice")
    with rest_server(
        cluster, "-a", "rest_auth/jwt", "127.0.0.1:18899", user="nobody", SLURM_JWT="daemon"
    ):
        rest = SlurmRest("http://127.0.0.1:18899", user="alice", token=token)
        by_token = attempts(answer(rest, to_us))
        with pytest.raises(PollFailedError, match="authentication error"):
            SlurmRest("http://127.0.0.1:18899", user="alice", token=WRONG).window(START_US, to_us)
        with pytest.raises(PollFailedError, match="does not take the token"):
            SlurmRest("http://127.0.0.1:18899").window(START_US, to_us)

    assert len(expected) >= 2
    assert by_socket == expected
    assert by_token == expected
