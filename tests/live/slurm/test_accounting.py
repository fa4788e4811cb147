"""Polling a real cluster: what it says late, what it changes, and what it forgets."""

import json
import os
import pwd
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
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
from tests.live.slurm.conftest import PORT
from tests.live.slurm.hooked import HookedCluster

START_US = 1_767_225_600 * SECOND_US
HOUR_US = 3600 * SECOND_US
WRONG = "x"
REST_PORT = PORT + 99


class Polls:
    """A store of its own that is told what the cluster says."""

    def __init__(self, store: OpenStore, accounting: Accounting) -> None:
        self.store = store
        self.poller = Poller(store, accounting, options, "testc", START_US, OVERLAP_US_MIN)

    def poll(self) -> Admission:
        """Poll once."""
        return self.poller.poll()

    def rows(self, job: str) -> list[tuple[str, str]]:
        """Give state and end of each row of a job that was recorded, in order."""
        with self.store.log.reading() as log:
            records = [json.loads(leaf)["record"] for leaf in log.leaves(0, log.size)]
        raws = [each["body"]["raw"] for each in records if each["kind"] == "allocation.row"]
        return [(raw["State"], raw["End"]) for raw in raws if raw.get("JobIDRaw") == job]

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


@contextmanager
def away(cluster: HookedCluster, daemon: str) -> Iterator[None]:
    """Have a daemon away for the length of a block."""
    cluster.kill(daemon, "-TERM")
    try:
        yield
    finally:
        cluster.daemon(daemon)


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
    with away(cluster, "slurmdbd"):
        job = cluster.submit("meanwhile", "sleep 1")
        cluster.wait(job, "COMPLETED")
        with pytest.raises(PollFailedError):
            polls.poll()
    cluster.wait_final(job)

    polls.poll()

    assert [body["ended_by"] for body in polls.bodies("allocation.ended", job)] == ["completed"]


def test_a_last_state_without_an_end_is_not_final(cluster: HookedCluster, polls: Polls) -> None:
    """After an outage a job is COMPLETED before its end is known, and no end is claimed."""
    job = cluster.submit("endless", "sleep 1")
    cluster.wait(job, "RUNNING")
    with away(cluster, "slurmdbd"):
        cluster.wait(job, "COMPLETED")
    states = []

    def is_final() -> bool:
        with suppress(PollFailedError):  # It is just starting.
            polls.poll()
        ends = polls.bodies("allocation.ended", job)
        states.append((polls.rows(job), len(ends)))
        return bool(ends)

    cluster.until(is_final, f"job {job} has no end: {states}")

    # How long it stays so differs from run to run, down to less than a poll.
    assert all(ends == 0 for rows, ends in states if not any(end.isdigit() for _, end in rows))
    assert states[-1][0][-1][1].isdigit()
    assert polls.bodies("allocation.correction", job) == []


def test_polls_do_not_need_the_controller(cluster: HookedCluster, polls: Polls) -> None:
    """Accounting answers while it is away, and what runs is neither over nor lost."""
    job = cluster.submit("headless", "sleep 5")
    cluster.wait(job, "RUNNING")
    polls.poll()
    with away(cluster, "slurmctld"):
        polls.poll()
        while_away = polls.bodies("allocation.ended", job)
    cluster.wait_final(job)

    polls.poll()

    assert while_away == []
    assert [body["ended_by"] for body in polls.bodies("allocation.ended", job)] == ["completed"]
    assert polls.bodies("allocation.correction", job) == []


def test_a_running_job_adds_no_row_a_poll(cluster: HookedCluster, polls: Polls) -> None:
    """Only its elapsed time differs, and that is no news."""
    job = cluster.submit("quiet", "sleep 60")
    cluster.wait(job, "RUNNING")
    for _ in range(4):
        time.sleep(1.1)
        polls.poll()

    rows = polls.rows(job)
    cluster.cancel(job)

    assert rows == [("RUNNING", "Unknown")]


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
    assert body["changed"] == {"DerivedExitCode": ["0:0", "0:3"]}


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
        cluster, "-a", "rest_auth/jwt", f"127.0.0.1:{REST_PORT}", user="nobody", SLURM_JWT="daemon"
    ):
        rest = SlurmRest(f"http://127.0.0.1:{REST_PORT}", user="alice", token=token)
        by_token = attempts(answer(rest, to_us))
        with pytest.raises(PollFailedError, match="authentication error"):
            SlurmRest(f"http://127.0.0.1:{REST_PORT}", user="alice", token=WRONG).window(
                START_US, to_us
            )
        with pytest.raises(PollFailedError, match="does not take the token"):
            SlurmRest(f"http://127.0.0.1:{REST_PORT}").window(START_US, to_us)

    assert len(expected) >= 2
    assert by_socket == expected
    assert by_token == expected


@pytest.fixture
def rest(cluster: HookedCluster, polls: Polls, tmp_path: Path) -> Iterator[SlurmRest]:
    """Run slurmrestd on a unix socket; it answers when the test begins."""
    del polls  # It names the cluster to sacct, and the fixture of the same test uses its store.
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    place = tmp_path / "rest"
    place.mkdir()
    place.chmod(0o777)
    local = f"unix:{place}/socket"
    with rest_server(cluster, "-a", "rest_auth/local", local, user="alice"):
        server = SlurmRest(local)
        answer(server, clock_us() + HOUR_US)
        yield server


def test_slurmrestd_without_a_job_in_the_window_has_answered(rest: SlurmRest) -> None:
    """It calls that an error; a cluster may be idle for hours."""
    source = rest.window(START_US, START_US + HOUR_US)

    assert json.loads(source.data) == {"jobs": []}


def test_a_job_that_slurmrestd_no_longer_knows_does_not_stop_the_polls(
    cluster: HookedCluster, polls: Polls, rest: SlurmRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for by its id, not found, and lost at the second poll."""
    poller = replace(polls.poller, accounting=rest)
    job = cluster.submit("deleted", "sleep 1")
    other = cluster.submit("kept", "sleep 1")
    cluster.wait_final(job)
    cluster.wait_final(other)
    poller.poll()
    cluster.forget(job)
    poller.poll()
    later_us = clock_us() + 61 * SECOND_US
    monkeypatch.setattr(slurm_poll, "clock_us", lambda: later_us)

    poller.poll()

    (body,) = polls.bodies("allocation.correction", job)
    assert body["now"] is None
    assert polls.bodies("allocation.correction", other) == []


def test_another_reader_of_the_same_cluster_corrects_nothing(
    cluster: HookedCluster, polls: Polls, rest: SlurmRest
) -> None:
    """Polls may change from sacct to slurmrestd and back."""
    job = cluster.submit("both", "sleep 1")
    cluster.wait_final(job)
    for accounting in (Sacct(), rest, Sacct()):
        replace(polls.poller, accounting=accounting).poll()

    assert len(polls.rows(job)) == 1
    assert polls.bodies("allocation.correction", job) == []
