"""Whose act the end of a pod was, and who gave notice of it."""

from typing import Any

import pytest

from tests.collectors.kubernetes.cluster_objects import (
    UID,
    at,
    at_us,
    bodies,
    body,
    codes,
    collect,
    condition,
    event,
    made,
    moment,
    node,
    pod,
    running,
    terminated,
)

Json = dict[str, Any]

PENDING = {"qos.coreweave.cloud/pending-preemption": "true"}
JOB = ("Job", "job-1")


def ended_by(*inputs: Any) -> str:
    """Say who ended the only attempt."""
    return str(body(collect(*inputs), "allocation.ended")["ended_by"])


def disrupted(reason: str, since: str = "01:00", *, kind: str = "DisruptionTarget") -> Json:
    """Make a pod that was killed 30 s after a termination was announced."""
    return pod(
        "Failed",
        terminated("01:00:30", 137),
        conditions=[condition(kind, since, reason)],
        deleted=("01:00:30", 30),
    )


def evicted(since: str, reason: str = "Preempted") -> Json:
    """Make the unit of Kueue that queued the Job."""
    return made("Workload", "wl-1", condition("Evicted", since, reason), owner=JOB)


def test_b49_an_eviction_is_not_the_end() -> None:
    """Kueue#6122: the container that stops 600 s after the eviction held its GPUs until then."""
    inputs = (node(), evicted("01:00"), pod("Failed", terminated("01:10", 143), owner=JOB))

    collected = collect(*inputs)

    assert moment(collected, "allocation.ended") == "01:10"
    assert moment(collected, "allocation.notice") == "01:00"
    assert body(collected, "allocation.notice")["by"] == "scheduler"
    assert body(collected, "allocation.ended")["ended_by"] == "scheduler"


def test_b53_a_stale_condition_is_no_interruption() -> None:
    """KEP-3329: a pod that was to be disrupted, was not, and succeeded is complete."""
    stale = condition("DisruptionTarget", "12:00", "PreemptionByScheduler")

    done = pod("Succeeded", terminated("12:30"), conditions=[stale])

    assert ended_by(node(), done) == "completed"


def test_a_pod_that_used_its_grace_to_leave_cleanly_was_pre_empted() -> None:
    """An exit of 0 after the deletion was asked for is no completion."""
    announced = condition("DisruptionTarget", "12:00", "PreemptionByScheduler")

    left = pod("Succeeded", terminated("12:01"), conditions=[announced], deleted=("12:05", 300))

    assert ended_by(node(), left) == "scheduler"


def test_a_pod_that_is_deleted_after_it_succeeded_is_complete() -> None:
    """Cleaning up is no act against the run."""
    stale = condition("DisruptionTarget", "12:00", "PreemptionByScheduler")
    done = pod("Succeeded", terminated("12:01"), conditions=[stale], deleted=("13:00", 30))

    assert ended_by(node(), done) == "completed"


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (pod("Succeeded", terminated("01:00")), "completed"),
        (pod("Failed", terminated("01:00", 1)), "user"),
        (pod("Failed", terminated("01:00", 137, reason="OOMKilled")), "user"),
        (pod("Failed", terminated("01:00", 143), reason="DeadlineExceeded"), "time_limit"),
        (pod("Failed", terminated("01:00", 137), reason="Preempting"), "scheduler"),
        (pod("Failed", terminated("01:00", 137), reason="NodeLost"), "hardware"),
        (pod("Failed", terminated("01:00", 137), reason="Evicted"), "unknown"),
        (pod("Failed", terminated("01:00", 143), deleted=("01:00:10", 30)), "unknown"),
        (pod("Failed", terminated("01:00", 137, reason="ContainerStatusUnknown")), "unknown"),
        (disrupted("PreemptionByScheduler"), "scheduler"),
        (disrupted("WorkloadEvictedDueToPreempted", kind="TerminationTarget"), "scheduler"),
        (disrupted("WorkloadEvictedDueToNodeFailures", kind="TerminationTarget"), "hardware"),
        (disrupted("WorkloadEvictedDueToDeactivated", kind="TerminationTarget"), "unknown"),
        (disrupted("DeletionByTaintManager"), "unknown"),
        (disrupted("SomethingNew"), "unknown"),
    ],
)
def test_whose_act_the_end_was(value: Json, word: str) -> None:
    """By the reason that the pod states, on a node that says nothing."""
    assert ended_by(node(), value) == word


@pytest.mark.parametrize(
    "reason",
    ["DeletionByTaintManager", "EvictionByEvictionAPI", "DeletionByPodGC", "TerminationByKubelet"],
)
@pytest.mark.parametrize(
    ("host", "word"),
    [
        (node(labels=PENDING), "provider"),
        (node(taints=[{"key": "aws-node-termination-handler/spot-itn"}]), "provider"),
        (node(taints=[{"key": "cloud.google.com/impending-node-termination"}]), "provider"),
        (
            node(taints=[{"key": "aws-node-termination-handler/scheduled-maintenance"}]),
            "maintenance",
        ),
        (node(lost="00:55"), "hardware"),
        (node(lost="02:00"), "unknown"),
    ],
)
def test_the_node_decides_what_the_reason_leaves_open(reason: str, host: Json, word: str) -> None:
    """A notice outranks a loss, and a loss after the end is another story."""
    assert ended_by(host, disrupted(reason)) == word


def test_a_spot_node_that_is_gone_without_notice_tells_nothing() -> None:
    """A reclaim and a failure look the same."""
    gone = [event("DELETED", node(labels={"cloud.google.com/gke-spot": "true"}), seen="00:59")]

    assert ended_by(gone, disrupted("DeletionByPodGC")) == "unknown"


def test_another_node_that_is_gone_broke() -> None:
    """Nobody takes it back on purpose without saying so."""
    gone = [event("DELETED", node(), seen="00:59")]

    assert ended_by(gone, disrupted("DeletionByPodGC")) == "hardware"


def test_a_condition_that_was_overwritten_still_counts() -> None:
    """What any version announced is kept."""
    announced = pod(conditions=[condition("DisruptionTarget", "01:00", "PreemptionByScheduler")])
    last = pod("Failed", terminated("01:00:30", 137), deleted=("01:00:30", 30), version=2)
    inputs = [event("MODIFIED", announced), event("MODIFIED", last)]

    assert ended_by(node(), inputs) == "scheduler"


def test_an_older_version_does_not_take_the_place_of_a_newer() -> None:
    """The order of inputs does not matter where versions say theirs."""
    done, runs = pod("Succeeded", terminated("01:00"), version=9), pod(version=4)

    assert ended_by(node(), done, runs) == "completed"


def test_the_deadline_of_a_job_is_the_time_limit_of_its_pods() -> None:
    """The controller deletes them without a condition."""
    failed = made("Job", "job-1", condition("Failed", "01:00", "DeadlineExceeded"))
    killed = pod("Failed", terminated("01:00:20", 143), owner=JOB, deleted=("01:00:30", 30))

    assert ended_by(node(), failed, killed) == "time_limit"


def test_an_eviction_for_another_reason_is_no_notice() -> None:
    """Only a pre-emption takes GPUs for somebody else."""
    inputs = (node(), evicted("01:00", "PodsReadyTimeout"), pod(owner=JOB))

    collected = collect(*inputs)

    assert bodies(collected, "allocation.notice") == []


def test_an_eviction_before_the_pod_was_another_ones() -> None:
    """The next attempt does not inherit it."""
    collected = collect(node(), evicted("01:00"), pod(owner=JOB, bound="02:00"))

    assert bodies(collected, "allocation.notice") == []


def test_each_eviction_of_a_watch_is_kept() -> None:
    """The API keeps the last one only, the events have both."""
    inputs = [event("MODIFIED", evicted("01:00")), event("MODIFIED", evicted("02:00"))]

    collected = collect(node(), inputs, pod(owner=JOB))

    assert len(bodies(collected, "allocation.notice")) == 2


def test_a_preemption_that_is_pending_is_a_notice_of_at_most_seven_minutes() -> None:
    """Its time is that of the event, and it has no deadline: the window is a maximum."""
    inputs = [event("MODIFIED", node(labels=PENDING), seen="00:50")]

    collected = collect(inputs, pod("Running", running("00:01")))

    assert moment(collected, "allocation.notice") == "00:50"
    notice = body(collected, "allocation.notice")
    assert (notice["by"], notice["deadline"]) == ("provider", None)
    assert notice["window_max_us"] == 420_000_000


def test_a_notice_without_a_time_is_told_and_not_dated() -> None:
    """A label has no time; --read gives one."""
    collected = collect(node(labels=PENDING), pod())

    assert bodies(collected, "allocation.notice") == []
    assert codes(collected) == ["notice_time_unknown"]


def test_the_time_of_reading_dates_a_notice() -> None:
    """It is when the notice was surely there."""
    collected = collect(node(labels=PENDING), pod(), read_us=at_us("00:50"))

    assert moment(collected, "allocation.notice") == "00:50"


def test_a_notice_after_the_end_is_not_the_attempts() -> None:
    """Who was gone before it was given was not warned."""
    done = pod("Succeeded", terminated("00:40"))

    collected = collect(node(labels=PENDING), done, read_us=at_us("00:50"))

    assert bodies(collected, "allocation.notice") == []


def test_a_taint_with_a_time_dates_its_notice() -> None:
    """The termination handler's own label does too."""
    taint = {"key": "aws-node-termination-handler/spot-itn", "timeAdded": at("00:45")}

    collected = collect(node(taints=[taint]), pod())

    assert moment(collected, "allocation.notice") == "00:45"


def test_the_time_of_an_action_dates_its_notice() -> None:
    """Seconds since the epoch, as the termination handler writes them."""
    labels = {"aws-node-termination-handler/action-time": str(at_us("00:46") // 1_000_000)}
    taint = {"key": "aws-node-termination-handler/spot-itn"}

    collected = collect(node(taints=[taint], labels=labels), pod())

    assert moment(collected, "allocation.notice") == "00:46"


def test_a_rebalance_recommendation_is_no_notice() -> None:
    """It says that a notice has become likelier."""
    key = "aws-node-termination-handler/rebalance-recommendation"
    taint = {"key": key, "timeAdded": at("00:45")}

    collected = collect(node(taints=[taint]), pod())

    assert bodies(collected, "allocation.notice") == []


def test_events_are_kept_beside_and_decide_nothing() -> None:
    """They are lossy, so they are rows."""
    said = {
        "kind": "Event",
        "metadata": {"name": "e1", "uid": "e1"},
        "involvedObject": {"kind": "Pod", "uid": UID},
        "reason": "Preempted",
    }

    collected = collect(node(), said, said, pod("Failed", terminated("01:00", 1)))

    rows = [each["raw"]["kind"] for each in bodies(collected, "allocation.row")]
    assert rows.count("Event") == 1
    assert body(collected, "allocation.ended")["ended_by"] == "user"


def test_the_exit_is_that_of_the_container_that_failed_first() -> None:
    """Those that were killed because of it say nothing."""
    statuses = (terminated("01:01", 137, name="late"), terminated("01:00", 3, name="early"))

    collected = collect(node(), pod("Failed", *statuses))

    assert body(collected, "allocation.ended")["exit_code"] == 3
