"""What holds for every input: no crash, admissible records, the same ids again."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.collectors.collected import Source
from tallystick.collectors.kubernetes import KubernetesOptions, collect_kubernetes
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.codec import read_line
from tests.collectors.kubernetes.cluster_objects import (
    condition,
    event,
    listed,
    made,
    node,
    pod,
    terminated,
)

OPTIONS = KubernetesOptions(cluster="c1", observed_us=0)
JOB = ("Job", "j1")
TAINT = {"key": "node.kubernetes.io/unreachable", "timeAdded": "2026-03-01T00:58:00Z"}
SEEDS: list[Any] = [
    listed(node(lost="00:58", taints=[TAINT]), pod(owner=JOB)),
    listed(
        node(labels={"qos.coreweave.cloud/pending-preemption": "true"}),
        made("Workload", "w1", condition("Evicted", "00:30", "Preempted"), owner=JOB),
        pod(
            "Failed",
            terminated("01:00", 1),
            owner=JOB,
            conditions=[condition("DisruptionTarget", "00:59", "DeletionByTaintManager")],
        ),
    ),
    event("DELETED", pod(), seen="01:00"),
    {"podResources": [{"name": "train-0", "namespace": "team", "containers": []}]},
]
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats()
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
_NAMES = """
    Pod Node Event Job JobSet Workload ResourceClaim ResourceSlice NodePool List PodList Status
    RayCluster
"""
KINDS = st.sampled_from(_NAMES.split())
FIELDS = st.sampled_from(
    ["metadata", "spec", "status", "items", "involvedObject", "podResources", "object", "type"]
)


def collected_from(value: Any) -> None:
    """Collect a document, and check what must hold of everything that comes out."""
    source = Source("tree", json.dumps(value).encode())

    collected = collect_kubernetes([source], OPTIONS)

    assert collected.records or collected.findings or value
    for record in collected.records:
        assert read_line(canonical_bytes(record)).id == record["id"]


@given(KINDS, st.dictionaries(FIELDS, TREES, max_size=4))
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_any_tree_of_any_kind_is_survived(kind: str, fields: dict[str, Any]) -> None:
    """Fields of the wrong type are absent."""
    collected_from(fields | {"kind": kind})


@given(st.sampled_from(SEEDS), st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_any_part_of_an_object_may_be_something_else(seed: Any, data: st.DataObject) -> None:
    """An object of the right form with one part replaced."""
    value = json.loads(json.dumps(seed))
    parent: Any = None
    place: Any = None
    current = value
    while isinstance(current, dict | list) and current:
        keys = sorted(current) if isinstance(current, dict) else range(len(current))
        parent, place = current, data.draw(st.sampled_from(list(keys)))
        current = parent[place]
        if data.draw(st.integers(0, 5)) == 0:
            break
    parent[place] = data.draw(TREES)

    collected_from(value)


@given(st.binary(max_size=60))
def test_noise_is_never_an_attempt(noise: bytes) -> None:
    """Bytes at random hold nothing, and a finding says so."""
    collected = collect_kubernetes([Source("noise", noise)], OPTIONS)

    assert collected.records == []
    assert collected.findings


def test_collecting_again_gives_the_same_ids() -> None:
    """The moment of looking is no part of an id."""
    sources = [Source("seed", json.dumps(SEEDS[1]).encode())]
    later = KubernetesOptions(cluster="c1", observed_us=10**15)

    first, second = collect_kubernetes(sources, OPTIONS), collect_kubernetes(sources, later)

    assert [record["id"] for record in first.records] == [r["id"] for r in second.records]
