"""What happens to jobs on a real cluster, and the receipt that follows."""

import time
from collections.abc import Iterator

import pytest

from tests.live.slurm.hooked import HookedCluster, Receipt, uuids


@pytest.fixture(autouse=True)
def no_node_was_drained(cluster: HookedCluster) -> Iterator[None]:
    """Check after every story that the hooks took no node away."""
    yield
    cluster.heal()
    cluster.until(
        lambda: set(cluster.node_states()) <= {"idle", "mixed", "allocated", "completing"},
        f"nodes are {cluster.node_states()}",
    )


def ended(cluster: HookedCluster, job: str, rows: int = 1, epilogs: int = 1) -> None:
    """Wait until accounting and hooks have said all about a job."""
    cluster.wait_final(job, rows)
    cluster.wait_hooks(job, "slurm-epilog", epilogs)


def is_on_one_node(receipt: Receipt, number: int, count: int) -> bool:
    """Tell whether an attempt has as many boards as it asked for, of one node."""
    boards = set(receipt.gpus[number])
    nodes = [node for node in ("n1", "n2") if boards <= set(uuids(node))]
    return len(nodes) == 1 and len(boards) == count


def test_a_normal_job(cluster: HookedCluster) -> None:
    """One attempt on the boards that the prolog named, watched, and completed by itself."""
    job = cluster.submit("normal", "sleep 6")
    ended(cluster, job)
    cluster.wait_idle()

    receipt = cluster.receipt("normal")

    (attempt,) = receipt.attempts
    assert receipt.ended_by == ["completed"]
    assert is_on_one_node(receipt, 0, 2)
    assert (attempt["gpu_type"], attempt["capacity"]) == ("h100", "spot")
    assert attempt["gpus"] == 2
    assert len(receipt.observed_s) == 2
    assert min(receipt.observed_s) >= 4
    # An earlier job's watch of a board hides that this one's began late.
    assert receipt.reasons <= {"late_watch", "lost_tail", "unexplained"}


def test_an_engine_that_forgot_leaves_the_boards_unobserved(cluster: HookedCluster) -> None:
    """Its restart loses the job's record; the attempt and its boards stay known."""
    job = cluster.submit("forgotten", "sleep 4")
    cluster.wait(job, "RUNNING")
    cluster.wait_hooks(job, "slurm-prolog", 1)
    time.sleep(1)
    cluster.restart_engines()
    ended(cluster, job)
    cluster.wait_idle()

    receipt = cluster.receipt("forgotten")

    assert receipt.ended_by == ["completed"]
    assert is_on_one_node(receipt, 0, 2)
    assert receipt.observed_s == [0, 0]
    assert receipt.dispositions == {"hold"}


def test_without_hooks_the_boards_are_unknown(cluster: HookedCluster) -> None:
    """Accounting alone gives the same attempt with a count of GPUs and nothing seen of them."""
    job = cluster.submit("unseen", "sleep 1")
    ended(cluster, job)

    receipt = cluster.receipt_of_accounting("unseen")

    assert receipt.ended_by == ["completed"]
    assert receipt.gpus == [[]]
    assert receipt.attempts[0]["gpus"] == 2
    assert receipt.reasons == {"no_samples"}
    assert receipt.dispositions == {"hold"}


def test_a_run_is_named_by_the_job_s_environment(cluster: HookedCluster) -> None:
    """The task prolog links the attempt, as the job's user, and the job knows its key."""
    said = cluster.folder / "said"
    said.touch(mode=0o666)
    said.chmod(0o666)
    script = f"echo $TALLYSTICK_ATTEMPT > {said}; sleep 2"
    job = cluster.submit("ignored", script, "--comment=x", "--export=ALL,TALLYSTICK_RUN_ID=named")
    ended(cluster, job)

    receipt = cluster.receipt("named")

    assert receipt.ended_by == ["completed"]
    assert is_on_one_node(receipt, 0, 2)
    assert said.read_text().startswith(f"slurm:testc:{job}@n")


def test_pre_emption_with_requeue(cluster: HookedCluster) -> None:
    """Two attempts of one run: taken back by the scheduler, then cancelled by its user."""
    with cluster.only("n1"):
        job = cluster.submit("preempted", "sleep 120", gpus=4)
        cluster.wait(job, "RUNNING")
        other = cluster.submit("other", "sleep 1", partition="ondemand", user="bob", gpus=4)
        cluster.wait(other, "COMPLETED")
        cluster.wait(job, "RUNNING")
        cluster.wait_hooks(job, "slurm-prolog", 2)
        cluster.cancel(job)
        ended(cluster, job, rows=2, epilogs=2)

    receipt = cluster.receipt("preempted")

    assert receipt.ended_by == ["scheduler", "user"]
    assert [set(each) for each in receipt.gpus] == [set(uuids("n1"))] * 2
    assert receipt.attempts[0]["replacement_wait_seconds"] is not None
    assert "overlapping_attempts" not in receipt.codes


def test_pre_emption_without_requeue(cluster: HookedCluster) -> None:
    """One attempt, taken back, and no other follows."""
    with cluster.only("n1"):
        job = cluster.submit("once", "sleep 120", "--no-requeue", gpus=4)
        cluster.wait(job, "RUNNING")
        other = cluster.submit("other", "sleep 1", partition="ondemand", user="bob", gpus=4)
        cluster.wait(other, "COMPLETED")
        ended(cluster, job)

    receipt = cluster.receipt("once")

    assert receipt.ended_by == ["scheduler"]
    assert receipt.gpus == [uuids("n1")]


def test_a_job_that_its_user_cancels(cluster: HookedCluster) -> None:
    """The end is the user's act, whatever the epilog says."""
    job = cluster.submit("cancelled", "sleep 120")
    cluster.wait(job, "RUNNING")
    cluster.wait_hooks(job, "slurm-prolog", 1)
    cluster.cancel(job)
    ended(cluster, job)

    receipt = cluster.receipt("cancelled")

    assert receipt.ended_by == ["user"]
    assert is_on_one_node(receipt, 0, 2)


def test_an_array_has_an_attempt_for_each_task(cluster: HookedCluster) -> None:
    """Two tasks of one run, side by side."""
    job = cluster.submit("array", "sleep 1", "--array=0-1", gpus=1)
    ended(cluster, job, rows=2)
    cluster.until(lambda: len(list(cluster.epilogs_of_run("array"))) == 2, "epilogs are missing")

    receipt = cluster.receipt("array")

    assert receipt.ended_by == ["completed", "completed"]
    assert [len(each) for each in receipt.gpus] == [1, 1]
    assert set(receipt.gpus[0]).isdisjoint(receipt.gpus[1])


def test_a_het_job_has_an_attempt_for_each_component(cluster: HookedCluster) -> None:
    """Each component has its own allocation."""
    job = cluster.submit(
        "het", "sleep 1", ":", "--gres=gpu:h100:1", "--mem=500", "--comment=tallystick.run=het"
    )
    cluster.wait_final(job)
    cluster.until(lambda: len(list(cluster.epilogs_of_run("het"))) == 2, "epilogs are missing")

    receipt = cluster.receipt("het")

    assert receipt.ended_by == ["completed", "completed"]
    assert sorted(len(each) for each in receipt.gpus) == [1, 2]


def test_a_suspended_job_holds_its_gpus(cluster: HookedCluster) -> None:
    """The time is metered; when it was suspended accounting does not say."""
    # Many short sleeps: a stopped process goes on sleeping, so a long one would hide the pause.
    job = cluster.submit("suspended", "for n in 1 2 3 4 5; do sleep 1; done")
    cluster.wait(job, "RUNNING")
    cluster.command("scontrol", "suspend", job)
    time.sleep(3)
    cluster.command("scontrol", "resume", job)
    ended(cluster, job)

    receipt = cluster.receipt("suspended")

    assert receipt.ended_by == ["completed"]
    assert receipt.seconds(0) >= 6
    assert is_on_one_node(receipt, 0, 2)


def test_a_job_that_gives_a_node_back_is_not_charged_twice(cluster: HookedCluster) -> None:
    """Its row ends as RESIZING; the next states the job's first start again, and is put right."""
    job = cluster.submit("resized", "sleep 8", "--nodes=2", gpus=1)
    cluster.wait(job, "RUNNING")
    time.sleep(3)
    cluster.command("scontrol", "update", f"jobid={job}", "numnodes=1")
    cluster.wait(job, "COMPLETED")
    cluster.wait_idle()
    time.sleep(3)  # Comments come last, and that of the first row may never come.

    receipt = cluster.receipt("resized")

    first, second = receipt.attempts
    assert (first["gpus"], second["gpus"]) == (2, 1)
    assert first["end"] == second["start"]
    assert "overlapping_attempts" not in receipt.codes


def test_an_epilog_that_runs_twice_is_one_end(cluster: HookedCluster) -> None:
    """Slurm may call it again, and nothing is added."""
    with cluster.knob("Epilog.again"):
        job = cluster.submit("twice", "sleep 1")
        ended(cluster, job, epilogs=2)

    receipt = cluster.receipt("twice")

    assert receipt.ended_by == ["completed"]
    assert "end_disagreement" not in receipt.codes - {"end_disagreement"}


def test_tools_that_hang_hold_up_no_job(cluster: HookedCluster) -> None:
    """Prolog and epilog end in time, and the boards are counted."""
    hang = "trap '' TERM\nsleep 600"
    with cluster.tools_are(hang, "nvidia-smi", "dcgmi"):
        job = cluster.submit("hanging", "sleep 1")
        ended(cluster, job)

    receipt = cluster.receipt("hanging")

    assert receipt.ended_by == ["completed"]
    assert receipt.gpus == [[]]
    assert receipt.attempts[0]["gpus"] == 2


def test_a_broken_interpreter_fails_no_job(cluster: HookedCluster) -> None:
    """The receipt has what accounting says, and the environment waits to be collected."""
    with cluster.broken_hooks():
        job = cluster.submit("broken", "sleep 1")
        cluster.wait_final(job)
        cluster.until(lambda: len(cluster.dumps()) >= 4, "no dumps")

    receipt = cluster.receipt("broken")

    assert receipt.ended_by == ["completed"]
    assert receipt.gpus == [[]]


@pytest.mark.parametrize("options", ["size=72k", "ro"])
def test_a_spool_that_takes_nothing_fails_no_job(cluster: HookedCluster, options: str) -> None:
    """A full disk and a read-only one: the receipt has what accounting says."""
    run = f"spool-{options[:2]}"
    with cluster.spools_on(options):
        job = cluster.submit(run, "sleep 1")
        cluster.wait_final(job)
        cluster.wait_idle()

    receipt = cluster.receipt(run)

    assert receipt.ended_by == ["completed"]
    assert receipt.attempts[0]["gpus"] == 2


def test_an_epilog_that_is_killed_costs_its_end_only(cluster: HookedCluster) -> None:
    """Accounting still says when the attempt ended; the doctor says what is missing."""
    with cluster.knob("Epilog.kill"):
        job = cluster.submit("killed", "sleep 1")
        cluster.wait_final(job)
        cluster.wait_idle()

    receipt = cluster.receipt("killed")

    assert receipt.ended_by == ["completed"]
    assert is_on_one_node(receipt, 0, 2)
    key = receipt.attempts[0]["attempt"]
    assert f"{key} has a prolog and no epilog on n" in cluster.tallystick("doctor")


def test_a_prolog_of_the_site_that_fails(cluster: HookedCluster) -> None:
    """Slurm drains the node and holds the job; who ended the attempt is not known."""
    with cluster.only("n1"), cluster.knob("Prolog.exit"):
        job = cluster.submit("refused", "sleep 1")
        cluster.until(lambda: "drain" in cluster.node_states()[0], "the node was not drained")
        cluster.command("scancel", job)
        cluster.wait_final(job)

    receipt = cluster.receipt("refused")

    assert receipt.ended_by == ["unknown"]
    assert receipt.dispositions <= {"hold"}


def test_accounting_that_was_away_loses_nothing(cluster: HookedCluster) -> None:
    """A job that ran wholly while slurmdbd was down is there afterwards."""
    cluster.kill("slurmdbd", "-TERM")
    try:
        job = cluster.submit("away", "sleep 1")
        cluster.wait(job, "COMPLETED")
    finally:
        cluster.daemon("slurmdbd")
    ended(cluster, job)

    receipt = cluster.receipt("away")

    assert receipt.ended_by == ["completed"]
    assert is_on_one_node(receipt, 0, 2)


def test_a_controller_that_was_away_when_a_job_ended(cluster: HookedCluster) -> None:
    """Accounting has the end when the controller came back, the epilog waited for it, too."""
    job = cluster.submit("orphan", "sleep 3")
    cluster.wait(job, "RUNNING")
    cluster.kill("slurmctld", "-TERM")
    time.sleep(5)
    cluster.daemon("slurmctld")
    ended(cluster, job)

    receipt = cluster.receipt("orphan")

    assert receipt.ended_by == ["completed"]
    assert receipt.seconds(0) >= 3


def test_a_node_that_fails(cluster: HookedCluster) -> None:
    """No epilog ever comes; accounting says that the node failed, when it was noticed."""
    job = cluster.submit("lost", "sleep 300", "--no-requeue", "--nodelist=n1")
    cluster.wait(job, "RUNNING")
    cluster.wait_hooks(job, "slurm-prolog", 1)
    cluster.kill("slurmd.n1")
    cluster.kill_steps(job)
    cluster.wait_final(job, limit_s=90)
    cluster.daemon("slurmd", "-N", "n1")

    receipt = cluster.receipt("lost")

    assert receipt.ended_by == ["hardware"]
    assert is_on_one_node(receipt, 0, 2)


def test_a_job_that_reaches_its_time_limit(cluster: HookedCluster) -> None:
    """Submitted before all other stories, since Slurm looks at limits once in a while."""
    cluster.wait_final(cluster.limited, limit_s=150)
    cluster.wait_hooks(cluster.limited, "slurm-epilog", 0)

    receipt = cluster.receipt("limited")

    assert receipt.ended_by == ["time_limit"]
    assert receipt.seconds(0) >= 60
    assert receipt.gpus[0][0] in uuids("n2")
