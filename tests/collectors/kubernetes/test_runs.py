"""Which run a pod belongs to, and what reads the inputs."""

import json
from typing import Any

import pytest

from tallystick.collectors.errors import BadClusterError
from tallystick.collectors.kubernetes import KubernetesOptions, collect_kubernetes
from tallystick.collectors.kubernetes.options import BadNodeCapacityError, read_capacity_rule
from tests.collectors.kubernetes.cluster_objects import (
    bodies,
    codes,
    collect,
    event,
    listed,
    made,
    node,
    pod,
)

Json = dict[str, Any]

JOB = ("Job", "j1")
JOBSET = {"jobset.sigs.k8s.io/jobset-name": "set"}


def runs(*inputs: Any) -> list[str]:
    """Give the runs that attempts are linked to."""
    return [each["run"] for each in bodies(collect(*inputs), "attempt.linked")]


def test_what_is_written_on_the_pod_is_its_run() -> None:
    """A label wins over everything that made it."""
    assert runs(pod(labels={"tallystick.run": "r1"}, owner=JOB)) == ["r1"]


def test_a_label_and_an_annotation_that_differ_are_both_kept() -> None:
    """Rating tells the disagreement."""
    marked = pod(labels={"tallystick.run": "r1"}, annotations={"tallystick.run": "r2"})

    assert runs(marked) == ["r1", "r2"]


def test_what_is_written_on_the_job_counts_for_its_pods() -> None:
    """The nearest owner that says something."""
    job = made("Job", "j1")
    job["metadata"]["labels"] = {"tallystick.run": "r1"}

    assert runs(job, pod(owner=JOB)) == ["r1"]


def test_the_pods_of_a_job_are_one_run() -> None:
    """Named after the UID, since a name comes again."""
    assert runs(pod(owner=JOB), pod(owner=JOB, uid="u2")) == ["k8s:c1:job:j1"] * 2


def test_jobs_that_a_jobset_made_again_are_one_run() -> None:
    """A restart makes new Jobs; the JobSet stays."""
    first, second = (made("Job", uid, owner=("JobSet", "s1")) for uid in ("j1", "j2"))
    pods = (pod(owner=JOB, labels=JOBSET), pod(owner=("Job", "j2"), labels=JOBSET, uid="u2"))

    assert runs(first, second, *pods) == ["k8s:c1:jobset:s1"] * 2


def test_the_uid_on_the_pod_does_without_the_job() -> None:
    """Newer JobSets write it there."""
    labels = JOBSET | {"jobset.sigs.k8s.io/jobset-uid": "s1"}

    assert runs(pod(owner=JOB, labels=labels)) == ["k8s:c1:jobset:s1"]


def test_a_jobset_whose_uid_is_not_at_hand_is_not_guessed() -> None:
    """The Job alone would tear the run apart at each restart."""
    collected = collect(node(), pod(owner=JOB, labels=JOBSET))

    assert bodies(collected, "attempt.linked") == []
    assert codes(collected) == ["run_unknown"]


def test_a_schedule_is_not_a_run() -> None:
    """Each Job that it makes is one."""
    assert runs(made("Job", "j1", owner=("CronJob", "c1")), pod(owner=JOB)) == ["k8s:c1:job:j1"]


def test_a_ray_cluster_stands_for_the_job_that_made_it() -> None:
    """Attempts of a RayJob get a cluster each."""
    cluster = made("RayCluster", "rc1", owner=("RayJob", "rj1"))

    assert runs(cluster, pod(owner=("RayCluster", "rc1"))) == ["k8s:c1:rayjob:rj1"]
    assert runs(made("RayCluster", "rc1"), pod(owner=("RayCluster", "rc1"))) == [
        "k8s:c1:raycluster:rc1"
    ]


def test_a_ray_cluster_that_is_not_at_hand_is_not_guessed() -> None:
    """Whether a RayJob made it is not known."""
    assert runs(pod(owner=("RayCluster", "rc1"))) == []


@pytest.mark.parametrize("owner", [("ReplicaSet", "x"), ("StatefulSet", "x"), None])
def test_what_runs_for_ever_is_no_run(owner: tuple[str, str] | None) -> None:
    """Its pods are attempts of their own."""
    assert runs(pod(owner=owner)) == []


def test_owners_in_a_circle_end_somewhere() -> None:
    """Impossible input does not hang."""
    circle = (made("Job", "j1", owner=("JobSet", "s1")), made("JobSet", "s1", owner=("Job", "j1")))

    assert runs(*circle, pod(owner=JOB)) == ["k8s:c1:jobset:s1"]


def test_the_number_of_a_restart_is_kept() -> None:
    """JobSet deletes what bears it."""
    labels = {"jobset.sigs.k8s.io/restart-attempt": "2"}

    rows = bodies(collect(pod(labels=labels)), "allocation.row")

    assert rows[0]["raw"]["labels"] == labels


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(listed(node(), pod())),
        json.dumps(node()) + "\n" + json.dumps(pod()),
        json.dumps(node(), indent=1) + "\n" + json.dumps(pod(), indent=1),
        json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [pod() | {"kind": None}]}),
        json.dumps(event("ADDED", node())) + "\n" + json.dumps(event("ADDED", pod())),
        json.dumps(event("BOOKMARK", node())) + "\n" + json.dumps(pod()),
    ],
)
def test_inputs_of_every_form_hold_the_pod(data: str) -> None:
    """Lists, documents one after another, lines, events."""
    data = data.replace('"kind": null, ', "").replace(', "kind": null', "")

    assert len(bodies(collect(data.encode()), "allocation.started")) == 1


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "unrecognised_input"),
        (b"[]", "unrecognised_input"),
        (b'{"a": 1}', "unrecognised_input"),
        (b'{"kind": "Pod"', "bad_json"),
        (json.dumps(pod()).encode() + b"\n{cut", "bad_line"),
        (json.dumps(pod()).encode() + b"\n{} x", "trailing_text"),
        (b'{"kind": "Status", "message": "forbidden"}', "source_error"),
        (json.dumps({"type": "ERROR", "object": {"kind": "Status"}}).encode(), "source_error"),
    ],
)
def test_what_cannot_be_read_is_told(data: bytes, code: str) -> None:
    """And what can is collected."""
    assert code in codes(collect(data))


def test_a_cluster_name_must_fit_into_a_key() -> None:
    """It is the call that is wrong."""
    with pytest.raises(BadClusterError):
        collect_kubernetes([], KubernetesOptions(cluster="a b", observed_us=0))


@pytest.mark.parametrize("text", ["a=b", "a=b=cheap", "=b=spot", "a==spot", "a=b=spot=x"])
def test_a_capacity_rule_is_label_value_word(text: str) -> None:
    """Anything else is the caller's mistake."""
    with pytest.raises(BadNodeCapacityError, match="expected LABEL=VALUE=WORD"):
        read_capacity_rule(text)
