"""Announcements of cloud providers: which are notices, of which attempts, with which deadline."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.notices import NoticeOptions, collect_notices
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.codec import read_line
from tests.evidence.records import as_line, ended, moment, moment_us, started

ACTION = {"action": "terminate", "time": "2026-03-01T00:32:00Z"}
REBALANCE = {"noticeTime": "2026-03-01T00:20:00Z"}
BUS = {
    "detail-type": "EC2 Spot Instance Interruption Warning",
    "time": "2026-03-01T00:29:58Z",
    "detail": {"instance-id": "i-1", "instance-action": "terminate"},
}
AZURE = {
    "EventId": "e1",
    "EventStatus": "Scheduled",
    "EventType": "Preempt",
    "Resources": ["pool_0"],
    "NotBefore": "Sun, 01 Mar 2026 00:30:30 GMT",
}


def collect(*inputs: Any, **options: Any) -> Collected:
    """Collect what was read on node n at 00:30."""
    sources = [
        Source(f"input-{n}", each if isinstance(each, bytes) else json.dumps(each).encode(), n)
        for n, each in enumerate(inputs, start=1)
    ]
    wanted = {"node": "n", "read_us": moment_us("00:30"), "observed_us": 0, **options}
    return collect_notices(sources, NoticeOptions(**wanted))


def notices(collected: Collected) -> list[tuple[str, str, str | None]]:
    """Give attempt, time and deadline of each notice."""
    return [
        (record["body"]["attempt"], record["at"], record["body"]["deadline"])
        for record in collected.records
        if record["kind"] == "allocation.notice"
    ]


def codes(collected: Collected) -> list[str]:
    """Give the codes of the findings, sorted."""
    return sorted(finding.code for finding in collected.findings)


@pytest.mark.parametrize(
    ("answer", "since", "deadline"),
    [
        (ACTION, "00:30", "00:32"),
        (b"2026-03-01T00:32:00Z", "00:30", "00:32"),
        (BUS, "00:29:58", None),
        (b"TRUE", "00:30", None),
        (b'"TRUE"\n', "00:30", None),
        (b"TERMINATE_ON_HOST_MAINTENANCE", "00:30", None),
        ({"DocumentIncarnation": 1, "Events": [AZURE]}, "00:30", "00:30:30"),
        ({"Events": [AZURE | {"EventStatus": "Started", "NotBefore": ""}]}, "00:30", None),
        ({"Events": [AZURE | {"EventType": "Terminate"}]}, "00:30", "00:30:30"),
    ],
)
def test_a_machine_that_will_be_taken_is_a_notice(
    answer: Any, since: str, deadline: str | None
) -> None:
    """Its time is that of the reading where it has none; a deadline is stated, never promised."""
    collected = collect(answer, attempts=("a",), resources=("pool_0", "i-1"))

    stated = None if deadline is None else moment(deadline)
    assert notices(collected) == [("a", moment(since), stated)]
    assert codes(collected) == []


@pytest.mark.parametrize(
    "answer",
    [
        REBALANCE,
        BUS | {"detail-type": "EC2 Instance Rebalance Recommendation"},
        b"MIGRATE_ON_HOST_MAINTENANCE",
        {"Events": [AZURE | {"EventType": "Freeze"}]},
        {"Events": [AZURE | {"EventType": "Terminate", "EventSource": "User"}]},
    ],
)
def test_other_announcements_are_kept_and_are_no_notices(answer: Any) -> None:
    """A warning is not lengthened by what only might happen."""
    collected = collect(answer, attempts=("a",), resources=("pool_0", "i-1"))

    assert [record["kind"] for record in collected.records] == ["provider.signal"]


@pytest.mark.parametrize("answer", [b"FALSE", b"NONE", {"Events": []}])
def test_an_answer_that_nothing_happens_says_nothing(answer: Any) -> None:
    """Alone it is nothing collected."""
    assert codes(collect(answer, attempts=("a",))) == ["nothing_collected"]


def test_the_attempts_that_held_the_node_then_are_found_in_evidence() -> None:
    """Not those that ended before, or began later, or ran elsewhere."""
    story = (
        started("00:00", attempt="before", gpus=None, gpu_count=1),
        ended("00:29", attempt="before"),
        started("00:00", attempt="held", gpus=None, gpu_count=1),
        ended("00:31", attempt="held"),
        started("00:10", attempt="open", gpus=None, gpu_count=1),
        started("00:31", attempt="later", gpus=None, gpu_count=1),
        started("00:00", attempt="elsewhere", gpus=None, gpu_count=1, nodes=["m"]),
    )
    lines = b"\n".join(as_line(each) for each in story)

    collected = collect(lines, ACTION)

    assert [attempt for attempt, _, _ in notices(collected)] == ["held", "open"]
    assert {record["kind"] for record in collected.records} == {
        "provider.signal",
        "allocation.notice",
    }


def test_a_notice_for_nobody_is_told() -> None:
    """It is kept as a signal of the node."""
    collected = collect(ACTION)

    assert codes(collected) == ["notice_not_joined"]
    assert [record["kind"] for record in collected.records] == ["provider.signal"]


def test_an_event_of_another_machine_is_told_and_left_out() -> None:
    """A scale set is told the events of all its machines."""
    collected = collect({"Events": [AZURE]}, attempts=("a",))

    assert collected.records == []
    assert codes(collected) == ["other_resource"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "unrecognised_input"),
        (b"404 - Not Found", "unrecognised_input"),
        (b'{"a": 1}', "unrecognised_input"),
        (b"{cut", "bad_json"),
        (b'{"Events": []} x', "trailing_text"),
        (b'{"schema":"tallystick.evidence/1"}', "bad_record"),
    ],
)
def test_what_cannot_be_read_is_told(data: bytes, code: str) -> None:
    """And stops nothing."""
    assert codes(collect(data)) == [code]


def test_reading_again_gives_the_same_ids() -> None:
    """A poller that saves one answer often, with its time, adds each reading once."""
    first, second = collect(ACTION, attempts=("a",)), collect(ACTION, attempts=("a",))

    assert [r["id"] for r in first.records] == [r["id"] for r in second.records]


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.floats()
KEYS = st.sampled_from(
    ["action", "time", "noticeTime", "detail-type", "detail", "Events", "EventType", "NotBefore"]
) | st.text(max_size=4)
TREES = st.recursive(
    LEAVES | st.sampled_from(["Preempt", "Scheduled", BUS["detail-type"]]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(KEYS, TREES, max_size=5))
def test_any_document_is_survived(value: dict[str, Any]) -> None:
    """And every record that comes of it is evidence."""
    collected = collect(value, attempts=("a",))

    assert collected.records or collected.findings
    for record in collected.records:
        assert read_line(canonical_bytes(record)).id == record["id"]


@given(st.dictionaries(st.sampled_from(sorted([*AZURE, "EventSource"])), TREES))
def test_any_part_of_an_event_may_be_something_else(parts: dict[str, Any]) -> None:
    """Values of the wrong type are absent."""
    collected = collect({"Events": [AZURE | parts]}, attempts=("a",), resources=("pool_0",))

    for record in collected.records:
        assert read_line(canonical_bytes(record)).id == record["id"]


@given(st.text(max_size=30).map(lambda text: f"Sun, {text} GMT"))
def test_any_text_as_a_time_is_survived(text: str) -> None:
    """It is no deadline."""
    collect({"Events": [AZURE | {"NotBefore": text}]}, attempts=("a",), resources=("pool_0",))


def node(**labels: str) -> dict[str, Any]:
    """Give a node of a cluster as kubectl prints it."""
    return {"kind": "Node", "metadata": {"name": "g7", "labels": labels}, "spec": {}}


def test_a_node_that_will_be_preempted_is_a_notice_to_the_job_on_it() -> None:
    """Slurm on such a node only says that it requeued the job; its label says whose act it was."""
    pending = node(**{"qos.coreweave.cloud/pending-preemption": "true"})

    found = collect(pending, as_line(started("00:00")))

    assert notices(found) == [("a", moment("00:30"), None)]
    assert codes(found) == []


@pytest.mark.parametrize("labels", [{}, {"qos.coreweave.cloud/pending-preemption": "false"}])
def test_a_node_without_the_mark_announces_nothing(labels: dict[str, str]) -> None:
    """Being a node is no notice."""
    assert notices(collect(node(**labels), as_line(started("00:00")))) == []
