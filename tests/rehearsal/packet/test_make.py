"""What a packet says: each number exact, bounded, or unknown with the reason."""

import random
from pathlib import Path

import pytest

from tallystick.rehearsal.packet import packet_files
from tests.evidence.records import (
    Json,
    begun,
    committed,
    ended,
    notice,
    of,
    restored,
    same,
    samples,
    started,
    step,
    verified,
)
from tests.rehearsal.packet.packets import (
    compared,
    declared_as_rehearsal,
    detected,
    fault,
    interrupted,
    packet_of,
    twin,
)


def first(packet: Json) -> tuple[Json, Json]:
    """Give what was detected and restored at the first interruption."""
    one = packet["interruptions"][0]
    return one["detect"], one["restore"]


def value(number: Json) -> object:
    """Give a value that is known."""
    assert "unknown" not in number
    return number["value"]


def why(number: Json) -> str:
    """Give why a value is not known."""
    assert number["value"] is None
    return str(number["unknown"])


def test_an_interruption_without_notice(tmp_path: Path) -> None:
    """Ten steps were lost and came twice; nothing that was saved was passed over."""
    packet = packet_of(tmp_path, *interrupted(), *twin())
    detect, restore = first(packet)

    assert (detect["fault"]["when"], value(detect["ended_by"])) == ("step", "provider")
    assert value(detect["notice_given_seconds"]) == "0.000000"
    assert value(detect["notice_promised_seconds"]) == "120.000000"
    assert value(detect["save_on_notice"]) == "none"
    assert value(detect["detection_seconds"]) == "60.000000"
    assert value(restore["last_valid_checkpoint"]) == {"checkpoint": "c20", "step": 20}
    assert value(restore["restored"]) == {"checkpoint": "c20", "step": 20}
    assert (value(restore["lost_steps"]), value(restore["avoidable_lost_steps"])) == (10, 0)
    assert value(restore["replacement_wait_seconds"]) == "300.000000"
    assert value(restore["until_restored_seconds"]) == "60.000000"
    assert value(restore["until_first_step_seconds"]) == "840.000000"


def test_how_it_ended_and_what_it_cost(tmp_path: Path) -> None:
    """Ten steps twice, an equal result, and sixteen minutes more than the uninterrupted run."""
    packet = packet_of(tmp_path, *interrupted(), *twin())
    finish, reconcile = packet["finish"], packet["reconcile"]

    assert (value(finish["steps_completed"]), value(finish["replayed_steps"])) == (60, 10)
    assert (value(finish["accepted"]), value(finish["attempts"])) == (True, 2)
    assert finish["result"]["value"]["equal"] is True
    assert (reconcile["net"], reconcile["uninterrupted"]["net"]) == ("4.56", "3.60")
    assert value(reconcile["net_difference"]) == "0.96"
    assert value(reconcile["metered_difference"]) == "960.000000"
    assert value(reconcile["metered_ratio"]) == "19/15"


@pytest.mark.parametrize(
    ("saves", "word"),
    [
        ((), "none"),
        (("begun",), "begun"),
        (("begun", "committed"), "committed"),
    ],
)
def test_what_was_done_with_a_notice(tmp_path: Path, saves: tuple[str, ...], word: str) -> None:
    """Given is what the evidence has, whatever was promised."""
    done = {"begun": begun("00:29:30", 30, "c30"), "committed": committed("00:30:30", 30, "c30")}

    packet = packet_of(
        tmp_path, *interrupted(notice("00:29"), *(done[each] for each in saves)), *twin()
    )

    detect, _ = first(packet)
    assert value(detect["notice_given_seconds"]) == "120.000000"
    assert value(detect["save_on_notice"]) == word


def test_a_checkpoint_that_was_passed_over_was_avoidable_loss(tmp_path: Path) -> None:
    """30 was whole, and 20 was restored."""
    packet = packet_of(tmp_path, *interrupted(committed("00:30", 30, "c30")), *twin())

    _, restore = first(packet)
    assert value(restore["last_valid_checkpoint"]) == {"checkpoint": "c30", "step": 30}
    assert value(restore["avoidable_lost_steps"]) == 10


def test_a_checkpoint_that_proved_bad_is_not_the_last_valid_one(tmp_path: Path) -> None:
    """Whenever that was found out."""
    bad = verified("02:00", ok=False, name="c30")

    packet = packet_of(tmp_path, *interrupted(committed("00:30", 30, "c30"), bad), *twin())

    _, restore = first(packet)
    assert value(restore["last_valid_checkpoint"]) == {"checkpoint": "c20", "step": 20}


def test_a_job_that_saved_nothing_has_no_valid_checkpoint(tmp_path: Path) -> None:
    """It starts over, and all is lost."""
    records = [
        declared_as_rehearsal(None),
        *of("a", started(), restored("00:01", 0, None), step("00:20", 20)),
        *of("a", fault("00:31"), ended("00:31", "provider")),
        *of("b", started("00:36"), restored("00:37", 0, None), step("00:50", 20), ended("00:51")),
    ]

    packet = packet_of(tmp_path, *records)

    detect, restore = first(packet)
    assert why(restore["last_valid_checkpoint"]) == "no valid checkpoint was there"
    assert value(restore["restored"]) == {"checkpoint": None, "step": 0}
    assert value(restore["lost_steps"]) == 20
    assert why(detect["notice_promised_seconds"]) == "the plan states no promise"
    assert why(detect["detection_seconds"]) == "nobody says when it was seen"
    assert why(packet["finish"]["result"]) == "the results were not compared"
    assert why(packet["finish"]["accepted"]) == "nobody accepted or rejected it"


def test_what_nobody_stated_is_bounded_or_unknown(tmp_path: Path) -> None:
    """Without a restore the loss has a range, and nothing is called restored."""
    records = [each for each in interrupted() if each["kind"] != "checkpoint.restored"]

    packet = packet_of(tmp_path, *records, *twin())

    _, restore = first(packet)
    assert why(restore["restored"]) == "the next attempt does not say"
    assert isinstance(value(restore["lost_steps"]), dict)
    assert why(restore["avoidable_lost_steps"]) == "what was restored is not stated"


def test_a_run_that_was_given_up_has_nothing_restored(tmp_path: Path) -> None:
    """No attempt followed."""
    records = [each for each in interrupted() if each["body"].get("attempt") != "b"]

    packet = packet_of(tmp_path, *records, *twin())

    _, restore = first(packet)
    assert restore["next_attempt"] is None
    assert why(restore["restored"]) == "no attempt that worked followed"
    assert value(restore["last_valid_checkpoint"]) == {"checkpoint": "c20", "step": 20}


def test_two_clocks_that_differ_give_no_duration(tmp_path: Path) -> None:
    """What was seen before it happened took no time that anybody knows."""
    records = [each for each in interrupted() if each["kind"] != "rehearsal.detected"]

    packet = packet_of(tmp_path, *records, detected("00:30"), *twin())

    detect, _ = first(packet)
    assert why(detect["detection_seconds"]) == (
        "rehearsal.detected is 60.000000 s before rehearsal.fault: two clocks differ"
    )


def test_held_time_makes_ranges(tmp_path: Path) -> None:
    """What telemetry did not see is held under its clause, and the difference has two ends."""
    seen = samples("g1", "00:00", "00:20")

    packet = packet_of(tmp_path, *interrupted(), *twin(), seen, unknown="hold")

    reconcile = packet["reconcile"]
    assert {line["rule_clause"] for line in reconcile["held"]} == {"4.2"}
    assert set(value(reconcile["net_difference"])) == {"at_least", "at_most"}  # type: ignore[call-overload]


def test_without_the_uninterrupted_run_there_is_no_comparison(tmp_path: Path) -> None:
    """Its receipt is not there, and that is why."""
    packet = packet_of(tmp_path, *interrupted())

    assert packet["uninterrupted"] is None
    assert why(packet["reconcile"]["net_difference"]) == "the uninterrupted run has no receipt"


def under_another_name(record: Json) -> Json:
    """Have the job and the rehearsal know attempt ``a`` as another."""
    is_theirs = record["kind"].startswith(("rehearsal.", "checkpoint."))
    if not is_theirs or record["body"].get("attempt") != "a":
        return record
    return {**record, "body": {**record["body"], "attempt": "other"}}


def test_an_attempt_goes_by_all_its_names(tmp_path: Path) -> None:
    """A hook, accounting and the job may know it by different keys."""
    records = [under_another_name(each) for each in interrupted()]

    packet = packet_of(tmp_path, *records, same("other", "a"), *twin())

    detect, restore = first(packet)
    assert detect["fault"]["when"] == "step"
    assert value(restore["last_valid_checkpoint"]) == {"checkpoint": "c20", "step": 20}


def test_a_result_that_differs_is_said_first(tmp_path: Path) -> None:
    """By how much, and what was allowed."""
    records = [each for each in interrupted() if each["kind"] != "rehearsal.result"]

    pages = packet_files(
        packet_of(tmp_path, *records, compared(equal=False, difference="0.5"), *twin())
    )

    for name in ("packet.md", "packet.html"):
        text = pages[name].decode()
        assert "1 interruption; the result differs from the uninterrupted one." in text
        assert "differs from the uninterrupted one by 0.5; allowed was 0" in text


@pytest.mark.parametrize("seed", range(5))
def test_the_order_and_number_of_records_change_nothing(tmp_path: Path, seed: int) -> None:
    """The same evidence is the same packet, byte for byte."""
    records = [*interrupted(notice("00:29")), *twin()]
    shuffled = [*records, *records[::3]]
    random.Random(seed).shuffle(shuffled)  # noqa: S311 (an order, no secret)

    assert packet_files(packet_of(tmp_path, *shuffled)) == packet_files(
        packet_of(tmp_path, *records)
    )


def test_every_number_names_its_evidence(tmp_path: Path) -> None:
    """Digests of records, as on the receipt."""
    detect, restore = first(packet_of(tmp_path, *interrupted(), *twin()))

    for number in (detect["detection_seconds"], restore["lost_steps"], restore["restored"]):
        assert number["evidence"]
        assert all(each.startswith("sha256:") for each in number["evidence"])
