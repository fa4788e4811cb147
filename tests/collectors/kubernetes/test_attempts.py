"""Pods become attempts: from when to when, on how many GPUs, of which kind."""

from typing import Any

import pytest

from tallystick.collectors.kubernetes import read_capacity_rule
from tests.collectors.kubernetes.cluster_objects import (
    KEY,
    UID,
    admitted,
    at,
    bodies,
    body,
    codes,
    collect,
    condition,
    event,
    listed,
    moment,
    node,
    pod,
    running,
    terminated,
)

Json = dict[str, Any]


def claimed(name: str = "gpus", device: str = "gpu-0") -> Json:
    """Make an allocated claim of one device."""
    result = {"driver": "gpu.nvidia.com", "pool": "n1", "device": device}
    return {
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team", "name": name, "uid": f"claim-{name}"},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def sliced(uuid: str, device: str = "gpu-0", product: str = "H100") -> Json:
    """Make a slice that describes one device."""
    attributes = {"uuid": {"string": uuid}, "productName": {"string": product}}
    return {
        "kind": "ResourceSlice",
        "metadata": {"name": "slice-1", "uid": "slice-1"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "pool": {"name": "n1"},
            "devices": [{"name": device, "attributes": attributes}],
        },
    }


DRA: Json = {
    "containers": [{"name": "main"}],
    "resourceClaims": [{"name": "gpus", "resourceClaimName": "gpus"}],
}


def dump(*ids: str, read: str | None = "00:30", name: str = "train-0") -> Json:
    """Make what the kubelet said of one pod."""
    devices = [{"resourceName": "nvidia.com/gpu", "deviceIds": list(ids)}]
    given = {"name": name, "namespace": "team", "containers": [{"devices": devices}]}
    stated = {} if read is None else {"read": at(read)}
    return {"node": "n1", "podResources": [given]} | stated


def test_a_pod_that_runs_is_an_open_attempt() -> None:
    """Its start says node, count, type and that nothing tells its capacity; nothing has ended."""
    collected = collect(listed(node(labels={"topology.kubernetes.io/zone": "z1"}), pod()))

    assert body(collected, "allocation.started") == {
        "attempt": KEY,
        "scheduler": "kubernetes",
        "cluster": "c1",
        "job_id": "team/train-0",
        "nodes": ["n1"],
        "gpu_count": 8,
        "gpu_type": "NVIDIA-H100-80GB-HBM3",
        "capacity": "unknown",
        "zone": "z1",
        "said_by": "PodScheduled",
    }
    assert bodies(collected, "allocation.ended") == []
    assert codes(collected) == []


def test_gpus_are_held_from_binding_not_from_the_first_container() -> None:
    """A slow image pull is the attempt's time."""
    collected = collect(node(), pod("Running", running("00:20"), bound="00:05"))

    assert moment(collected, "allocation.started") == "00:05"


@pytest.mark.parametrize(
    ("status", "said_by"),
    [
        ({"startTime": at("00:07")}, "startTime"),
        ({"containerStatuses": [running("00:09")]}, "startedAt"),
    ],
)
def test_without_the_scheduler_the_next_moment_counts_and_is_named(
    status: Json, said_by: str
) -> None:
    """A fallback is stated beside the start."""
    collected = collect(node(), pod(bound=None, status=status))

    assert body(collected, "allocation.started")["said_by"] == said_by


def test_a_pod_that_waits_for_a_node_holds_nothing() -> None:
    """Its row is kept, and there is no start."""
    unbound = condition("PodScheduled", "00:00", "Unschedulable", status="False")

    collected = collect(pod("Pending", node=None, bound=None, conditions=[unbound]))

    assert [record["kind"] for record in collected.records] == ["allocation.row"]
    assert codes(collected) == []


def test_a_bound_pod_without_any_time_has_no_start() -> None:
    """That it held GPUs is told, since when is not."""
    collected = collect(node(), pod("Failed", bound=None))

    assert codes(collected) == ["start_missing"]


def test_a_pod_without_gpus_gives_nothing() -> None:
    """An input of such pods holds nothing of use."""
    collected = collect(listed(node(), pod(gpus="0"), pod(spec={"containers": []}, uid="u2")))

    assert collected.records == []
    assert codes(collected) == ["nothing_collected"]


def test_the_end_is_when_the_last_container_stopped() -> None:
    """Other containers, and the deadline of the deletion, do not count."""
    statuses = (terminated("01:00"), terminated("01:30", name="log"))

    collected = collect(node(), pod("Succeeded", *statuses, deleted=("02:00", 30)))

    assert moment(collected, "allocation.ended") == "01:30"


def test_a_pod_that_is_asked_to_go_has_not_ended() -> None:
    """A container that still runs holds its GPUs past the deletion."""
    collected = collect(node(), pod("Running", running("00:01"), deleted=("01:00", 30)))

    assert bodies(collected, "allocation.ended") == []


def test_a_lost_end_is_told_and_not_made_up() -> None:
    """A pod that failed with a container whose end nobody saw has no end."""
    lost: Json = {"name": "main", "state": {"terminated": {"exitCode": 137, "finishedAt": None}}}

    collected = collect(node(), pod("Failed", lost))

    assert bodies(collected, "allocation.ended") == []
    assert codes(collected) == ["end_missing"]


def test_a_pod_of_a_lost_node_ends_when_it_was_collected() -> None:
    """The garbage collector sets the phase and its condition at one moment."""
    collected_by = condition("DisruptionTarget", "01:10", "DeletionByPodGC")

    collected = collect(
        node(lost="01:00"), pod("Failed", running("00:01"), conditions=[collected_by])
    )

    assert moment(collected, "allocation.ended") == "01:10"
    assert body(collected, "allocation.ended")["ended_by"] == "hardware"


def test_a_deletion_that_was_seen_bounds_the_end() -> None:
    """Where no container says when it stopped, the moment of the event does."""
    events = [event("ADDED", pod()), event("DELETED", pod(version=2), seen="01:20")]

    collected = collect(node(), events)

    assert moment(collected, "allocation.ended") == "01:20"
    assert body(collected, "allocation.ended")["said_by"] == "seen gone"


def test_containers_that_restart_are_one_attempt() -> None:
    """The row says how often; the attempt goes on."""
    again = running("01:00") | {"restartCount": 3}

    collected = collect(node(), pod("Running", again))

    assert len(bodies(collected, "allocation.started")) == 1
    rows = [each["raw"] for each in bodies(collected, "allocation.row")]
    assert rows[0]["containers"][0]["restartCount"] == 3


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 4}}}] * 2}, 8),
        (
            {
                "initContainers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}],
                "containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}],
            },
            8,
        ),
        (
            {
                "initContainers": [
                    {"restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
                ],
                "containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}],
            },
            3,
        ),
        ({"containers": [{"resources": {"requests": {"nvidia.com/gpu": "2"}}}]}, 2),
    ],
)
def test_gpus_are_counted_as_the_scheduler_does(spec: Json, count: int) -> None:
    """Containers add up; an init container's GPUs are given to those that follow."""
    collected = collect(node(), pod(spec=spec))

    assert body(collected, "allocation.started")["gpu_count"] == count


def test_a_count_that_is_no_number_withholds_the_start() -> None:
    """Nothing is guessed."""
    collected = collect(node(), pod(gpus="1k"))

    assert bodies(collected, "allocation.started") == []
    assert codes(collected) == ["gpu_count_unknown"]


def test_an_instance_is_not_its_board() -> None:
    """Instances count one each and have a type of their own."""
    limits = {"nvidia.com/mig-1g.10gb": "2"}

    collected = collect(node(), pod(spec={"containers": [{"resources": {"limits": limits}}]}))

    started = body(collected, "allocation.started")
    assert (started["gpu_count"], started["gpu_type"]) == (
        2,
        "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb",
    )


def test_a_pod_of_an_unknown_node_has_no_type() -> None:
    """The start stands without it, and a finding says so."""
    collected = collect(pod())

    assert "gpu_type" not in body(collected, "allocation.started")
    assert codes(collected) == ["gpu_type_unknown"]


@pytest.mark.parametrize(
    ("labels", "capacity"),
    [
        ({"cloud.google.com/gke-spot": "true"}, "spot"),
        ({"eks.amazonaws.com/capacityType": "SPOT"}, "spot"),
        ({"eks.amazonaws.com/capacityType": "ON_DEMAND"}, "on_demand"),
        ({"karpenter.sh/capacity-type": "reserved"}, "reserved"),
        ({"kubernetes.azure.com/scalesetpriority": "spot"}, "spot"),
        ({"together.ai/compute-class": "preemptible"}, "spot"),
        ({"cloud.google.com/gke-spot": "false"}, "unknown"),
    ],
)
def test_the_capacity_is_what_a_cloud_writes_on_its_nodes(labels: Json, capacity: str) -> None:
    """Each cloud has a label of its own."""
    collected = collect(node(labels=labels), pod())

    assert body(collected, "allocation.started")["capacity"] == capacity


def test_a_coreweave_node_has_the_class_of_its_pool() -> None:
    """The class stands on the pool, and the node names the pool."""
    pool = {"kind": "NodePool", "metadata": {"name": "p1"}, "spec": {"computeClass": "Spot"}}

    collected = collect(pool, node(labels={"compute.coreweave.com/node-pool": "p1"}), pod())

    assert body(collected, "allocation.started")["capacity"] == "spot"


def test_labels_that_contradict_each_other_tell_no_capacity() -> None:
    """Neither is believed."""
    labels = {"cloud.google.com/gke-spot": "true", "karpenter.sh/capacity-type": "on-demand"}

    collected = collect(node(labels=labels), pod())

    assert body(collected, "allocation.started")["capacity"] == "unknown"
    assert codes(collected) == ["capacity_disagrees"]


def test_what_the_caller_declares_outranks_labels() -> None:
    """A site knows what its own labels mean."""
    labels = {"cloud.google.com/gke-spot": "true", "pool": "a"}
    rules = (read_capacity_rule("pool=a=reserved"),)

    collected = collect(node(labels=labels), pod(), capacity=rules)

    assert body(collected, "allocation.started")["capacity"] == "reserved"


def test_the_kubelet_names_the_gpus_of_the_pod_that_held_them_then() -> None:
    """A dump is joined by name and by the moment when it was taken."""
    collected = collect(node(), pod(gpus="1"), dump("GPU-11111111-2222"))

    assert body(collected, "allocation.started")["gpus"] == [
        {"uuid": "GPU-11111111-2222", "node": "n1"}
    ]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (dump("GPU-1", read=None), "time_unknown"),
        (dump("GPU-1", name="other"), "devices_not_joined"),
        (dump("0"), "gpu_unmapped"),
        (dump("GPU-1::0"), "gpu_shared"),
    ],
)
def test_what_the_kubelet_says_is_never_stretched(given: Json, code: str) -> None:
    """A dump without time, of another pod, or of indices maps nothing."""
    collected = collect(node(), pod(gpus="1"), given)

    assert codes(collected) == [code]


def test_a_dump_that_two_pods_could_mean_is_joined_to_none() -> None:
    """A name that came twice within a moment is not decided."""
    collected = collect(node(), pod(gpus="1"), pod(gpus="1", uid="u2"), dump("GPU-1"))

    assert codes(collected) == ["ambiguous_join"]


def test_a_claim_and_its_slice_name_the_gpu() -> None:
    """The claim says which device, the slice which UUID and product that is."""
    collected = collect(listed(node(), pod(spec=DRA), claimed(), sliced("GPU-abc")))

    started = body(collected, "allocation.started")
    assert (started["gpu_count"], started["gpu_type"]) == (1, "H100")
    assert started["gpus"] == [{"uuid": "GPU-abc", "node": "n1"}]


def test_slices_that_disagree_name_no_gpu() -> None:
    """After a reset a device may be another; which one was held is not decided."""
    collected = collect(node(), pod(spec=DRA), claimed(), sliced("GPU-abc"), sliced("GPU-def"))

    assert "gpus" not in body(collected, "allocation.started")
    assert codes(collected) == ["gpu_unmapped"]


def test_a_claim_that_is_not_there_is_told() -> None:
    """Without it nothing says how many GPUs the pod has."""
    collected = collect(node(), pod(spec=DRA))

    assert bodies(collected, "allocation.started") == []
    assert codes(collected) == ["gpu_count_unknown"]


def test_a_claim_that_backs_a_counted_resource_is_not_counted_again() -> None:
    """It only names the device."""
    backed = {"extendedResourceClaimStatus": {"resourceClaimName": "gpus"}}

    collected = collect(node(), pod(gpus="1", status=backed), claimed(), sliced("GPU-abc"))

    started = body(collected, "allocation.started")
    assert (started["gpu_count"], len(started["gpus"])) == (1, 1)


def test_an_annotation_may_name_the_gpus() -> None:
    """What does not look like a UUID is left out."""
    collected = collect(node(), pod(gpus="1", annotations={"tallystick.gpus": "GPU-a1, 0"}))

    assert body(collected, "allocation.started")["gpus"] == [{"uuid": "GPU-a1", "node": "n1"}]


def test_every_record_is_admitted() -> None:
    """What is collected is evidence, without a finding."""
    ended = pod("Failed", terminated("01:00", 1), owner=("Job", "j1"))

    evidence = admitted(collect(node(), ended, dump("GPU-1")))

    assert evidence.findings == ()


def test_secrets_of_a_pod_do_not_go_into_its_row() -> None:
    """Environment and commands are left out; a digest stands for the whole."""
    secret = {"containers": [{"env": [{"name": "KEY", "value": "hunter2"}]}]}
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    secret["containers"][0].update(limits)  # type: ignore[arg-type]

    collected = collect(node(), pod(spec=secret))

    assert "hunter2" not in str(collected.records)
    row = next(each["raw"] for each in bodies(collected, "allocation.row") if "attempt" in each)
    assert row["digest"].startswith("sha256:")


def test_heartbeats_of_a_node_are_no_news() -> None:
    """Versions that differ in them give one row."""
    later = node(version=9)
    later["status"]["conditions"][0]["lastHeartbeatTime"] = at("10:00")

    collected = collect(node(), later, pod())

    rows = [each["raw"] for each in bodies(collected, "allocation.row")]
    assert [row["kind"] for row in rows] == ["Pod", "Node"]


def test_attempts_are_told_apart_by_uid() -> None:
    """A pod that comes again under its name is another attempt."""
    collected = collect(node(), pod(), pod(uid="u2"))

    keys = {each["attempt"] for each in bodies(collected, "allocation.started")}
    assert keys == {KEY, "k8s:c1:u2"}
    assert UID in KEY
