"""What cannot all be true is said, and what can is not."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tallystick.app.contradictions import clocks_of_producers, contradictions
from tallystick.app.doctor import check_store
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.leaf import leaf_bytes
from tests.app.stores import told_store
from tests.evidence.records import Json, admitted, by, ended, moment_us, of, started, step

HOOK = "slurm-hook/n"
ROW = "slurm-accounting/c1"


def said(*records: Json) -> list[tuple[str, str]]:
    """Say what contradicts itself among some records."""
    return list(contradictions(admitted(records)))


def story(start: str, end: str, attempt: str, gpus: str) -> Sequence[Json]:
    """Have an attempt of its own run hold some GPUs for a time."""
    body = {"run": attempt, "gpus": gpus}
    return (started(start, attempt=attempt, **body), *of(attempt, ended(end)))


def test_one_gpu_in_two_allocations_at_once_is_said() -> None:
    """With both attempts and the time in which both held it."""
    found = said(*story("00:00", "02:00", "a", "g1 g2"), *story("01:00", "03:00", "b", "g2 g3"))

    until = "from 2026-03-01T01:00:00.000000Z to 2026-03-01T02:00:00.000000Z"
    assert found == [("gpus", f"g2 was held by a and by b {until}")]


def test_a_gpu_that_was_handed_on_is_none() -> None:
    """One attempt may begin in the moment in which the other ends."""
    assert said(*story("00:00", "02:00", "a", "g1"), *story("02:00", "03:00", "b", "g1")) == []


def test_a_long_allocation_meets_every_shorter_one_within_it() -> None:
    """Also the one that begins after another has ended."""
    found = said(
        *story("00:00", "10:00", "a", "g1"),
        *story("01:00", "02:00", "b", "g1"),
        *story("03:00", "04:00", "c", "g1"),
    )

    assert [message.partition(" from ")[0] for _, message in found] == [
        "g1 was held by a and by b",
        "g1 was held by a and by c",
    ]


def hooked(*calls: str) -> list[Json]:
    """Have accounting know an attempt on a node, and some of the node's hooks."""
    made = {
        "prolog": by(HOOK, started("00:00:01")),
        "epilog": by(HOOK, ended("01:00:01", "unknown")),
    }
    return [by(ROW, started()), by(ROW, ended()), *(made[call] for call in calls)]


def test_both_hooks_are_nothing_to_say() -> None:
    """That is how it should be."""
    assert said(*hooked("prolog", "epilog")) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("prolog", "a has a prolog and no epilog on n"),
        ("epilog", "a has an epilog and no prolog on n"),
    ],
)
def test_one_hook_without_the_other_is_said(call: str, message: str) -> None:
    """The node failed, or the hook did."""
    assert said(*hooked(call)) == [("hooks", message)]


def test_an_attempt_that_still_runs_needs_no_epilog() -> None:
    """Its end is still to come."""
    assert said(by(ROW, started()), by(HOOK, started("00:00:01"))) == []


def others(*times: tuple[str, str]) -> list[Json]:
    """Have the node's hooks see other attempts."""
    seen = []
    for start, end in times:
        key = f"b{start}"
        seen.append(by(HOOK, started(start, attempt=key, run=key, gpus=f"g{start}")))
        seen += [by(HOOK, each) for each in of(key, ended(end))]
    return seen


def test_an_attempt_that_no_hook_saw_is_said_while_there_are_hooks() -> None:
    """Attempts before and after it had theirs."""
    found = said(
        by(ROW, started("01:00")),
        by(ROW, ended("02:00")),
        *others(("00:00", "00:30"), ("03:00", "04:00")),
    )

    assert found == [("hooks", "a has neither prolog nor epilog on n, which had hooks then")]


def test_an_attempt_before_hooks_were_installed_is_nothing_to_say() -> None:
    """The first that is heard of a node's hooks comes later."""
    assert said(*hooked(), *others(("03:00", "04:00"))) == []


def test_a_cluster_without_hooks_is_nothing_to_say() -> None:
    """Accounting alone is a way to work."""
    assert said(*hooked()) == []


def test_a_prolog_before_the_start_means_two_clocks() -> None:
    """A node cannot begin what the scheduler has not started."""
    found = said(by(ROW, started("00:01")), by(HOOK, started("00:00:50")))

    said_of = "the prolog on n saw a start 10 s too early"
    assert found == [("clock", f"{said_of}: its clock and the scheduler's are apart")]


def test_a_second_apart_is_the_resolution_of_accounting() -> None:
    """Whole seconds are no contradiction."""
    assert said(by(ROW, started("00:00:01")), by(HOOK, started("00:00:00.5"))) == []


@pytest.mark.parametrize(("recorded", "found"), [("23:58", 1), ("23:59:30", 0)])
def test_what_was_seen_after_it_was_recorded_is_said(recorded: str, found: int) -> None:
    """The log cannot take what has not happened."""
    leaf = leaf_bytes(canonical_bytes(started()), moment_us(recorded))

    assert len(list(clocks_of_producers([leaf]))) == found


@pytest.mark.parametrize(
    ("later", "found"),
    [
        ("00:01", []),
        ("00:01:02", []),
        ("00:00:55", ["the clock of 'w' jumped by 5 s while 'b' reported"]),
        ("00:02", ["the clock of 'w' jumped by 60 s while 'b' reported"]),
    ],
)
def test_a_clock_that_jumped_while_a_job_reported_is_said(later: str, found: list[str]) -> None:
    """The monotonic clock of the same writer went on by a minute."""
    minute_us = 60_000_000
    reports = [
        ticking(step("00:00", 1), monotonic_us=5),
        ticking(step(later, 2), monotonic_us=5 + minute_us),
        ticking(step("00:30", 1), boot="another", monotonic_us=7),
    ]
    leaves = [leaf_bytes(canonical_bytes(each), moment_us("23:59")) for each in reports]

    assert [said for _, said in clocks_of_producers(leaves) if "jumped" in said] == found


def ticking(record: Json, monotonic_us: int, boot: str = "b") -> Json:
    """Give a report the clocks and the name of its writer."""
    body = {**record["body"], "monotonic_us": monotonic_us}
    producer = {"name": "w", "boot": boot, "seq": 0}
    return {**record, "observed": record["at"], "producer": producer, "body": body}


def test_the_doctor_says_it_of_a_store(tmp_path: Path) -> None:
    """It is a remark: nothing is damaged."""
    both = (*story("00:00", "02:00", "a", "g1"), *story("01:00", "03:00", "b", "g1"))
    with told_store(tmp_path, story=both) as store:
        found = check_store(store)

    assert found.damages == ()
    assert [check for check, _ in found.remarks] == ["gpus"]
