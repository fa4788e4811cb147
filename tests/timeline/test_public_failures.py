"""Failures that happened to others in public, each with the answer that would have been right.

They are about checkpoints, recovery and progress; the issue of each is named with it. Where
people spoke of batches or minutes, so do the tests.
"""

from tallystick.core.instant import SECOND_US
from tallystick.core.interval import total_us
from tallystick.timeline.restarts import LimitBreach, restart_limit_breach
from tallystick.timeline.restores import counter_drift, data_replays
from tallystick.timeline.run import RunTimeline
from tallystick.timeline.work_time import ClocksApart, work_time
from tests.evidence.records import (
    Json,
    accepted,
    admitted,
    alive,
    begun,
    committed,
    ended,
    moment_us,
    notice,
    of,
    record,
    rejected,
    restored,
    started,
    step,
    verified,
    waits,
)
from tests.timeline.timelines import codes, draw, lane_text

HOUR_US = 3_600_000_000
EIGHT = " ".join(f"g{n}" for n in range(8))


def steps(times: str, first: int = 1, stride: int = 1) -> list[Json]:
    """Report a step at each time."""
    numbers = range(first, 10**6, stride)
    return [step(at, number, stride) for at, number in zip(times.split(), numbers, strict=False)]


def valid(timeline: RunTimeline) -> int | None:
    """Give the step of the last valid checkpoint."""
    commit = timeline.achievement.last_valid_checkpoint
    return None if commit is None else commit.step


def lost(timeline: RunTimeline, attempt: str = "a") -> tuple[int, int | None]:
    """Give the bounds of the steps that an attempt lost."""
    (found,) = (one for one in timeline.achievement.interruptions if one.attempt == attempt)
    return found.lost_at_least, found.lost_at_most


def gpu_us(timeline: RunTimeline, label: str) -> int:
    """Give the GPU time of one class."""
    return sum(
        total_us((start_us, end_us) for start_us, end_us, name in each.progress if name == label)
        * len(each.attempt.gpus)
        for each in timeline.attempts
    )


def read_on(at: str, consumed: int, batch: int) -> Json:
    """Say where the data went on, and how much of them the restored state had consumed."""
    body = {"attempt": "a", "consumed": consumed, "batch": batch}
    return record("data.positioned", at, body)


def seen_again(*records: Json) -> dict[str, int]:
    """Give the batches that each attempt sees a second time."""
    replays, findings = data_replays(admitted(records).records, {})
    assert not findings
    return {each.attempt: each.seen_again for each in replays}


def test_a_half_written_checkpoint_is_never_the_last_valid_one() -> None:
    """RLinf#1469: 200 was being written when it was killed, so 100 is what there is."""
    run = draw(
        *(started(gpus=EIGHT), restored("00:01", 0, None), step("00:10", 100)),
        *(begun("00:10", 100, "c100"), committed("00:12", 100, "c100"), step("00:20", 200)),
        *(begun("00:20", 200, "c200"), ended("00:21", "hardware")),
        # The restart picks the newest folder and fails to load it.
        *of("b", started("00:30", gpus=EIGHT), alive("00:32"), ended("00:40", "user", exit_code=1)),
        *of("c", started("00:50", gpus=EIGHT), restored("00:52", 100, "c100")),
        *of("c", step("01:00", 200), step("01:10", 300), ended("01:10")),
    )

    assert (valid(run), lost(run)) == (100, (100, 100))
    assert run.achievement.replayed_at_least == 100
    assert run.achievement.interruptions[1].last_step is None
    assert lane_text(run.attempts[1].progress) == "00:30 starting 00:32 unknown 00:40"


def test_a_save_on_notice_that_was_killed_did_not_save() -> None:
    """transformers#27820 and its successors: the notice was used, the save was not committed."""
    run = draw(
        *(started(), restored("00:01", 0, None), step("00:10", 10), committed("00:11", 10, "c10")),
        *(
            step("00:20", 20),
            notice("00:20"),
            begun("00:20", 20, "c20"),
            ended("00:22", "provider"),
        ),
        *of("b", started("00:30"), restored("00:32", 10, "c10"), step("00:40", 20), ended("00:40")),
    )

    assert (valid(run), lost(run)) == (10, (10, 10))
    assert run.attempts[0].attempt.notice_us == 120_000_000
    assert lane_text(run.attempts[0].progress).endswith("00:20 saving 00:22")


def test_a_hung_barrier_is_waiting_of_every_gpu() -> None:
    """Automodel#3261: eight GPUs stood for the 1800 s of the watchdog, which is 4 GPU hours."""
    run = draw(
        *(started("00:00", gpus=EIGHT), restored("00:01", 0, None), step("00:20", 1000)),
        *(committed("00:20", 1000, "c1000"), begun("00:20", 2000, "c2000")),
        ended("00:21", "user", signal=9),
        *of("b", started("01:00", gpus=EIGHT), alive("01:00"), waits("01:00", "collective")),
        *of("b", ended("01:30", "user", signal=6)),
    )

    assert run.achievement.steps_completed == 1000
    assert gpu_us(run, "waiting:collective") == 4 * HOUR_US
    assert valid(run) == 1000
    assert lane_text(run.attempts[1].progress) == "01:00 waiting:collective 01:30"


def test_a_deleted_checkpoint_leaves_nothing_to_recover() -> None:
    """KempnerForge#102: the old one was deleted before the new one was flushed."""
    run = draw(
        *(started(), restored("00:01", 0, None), step("00:10", 1000)),
        *(committed("00:11", 1000, "c1000"), step("00:20", 2000)),
        *(
            begun("00:20", 2000, "c2000", blocking=False),
            verified("00:20:10", ok=False, name="c1000"),
        ),
        *(ended("00:20:30", "user", exit_code=1),),
        *of("b", started("00:30"), restored("00:31", 0, None)),
    )

    assert valid(run) is None
    assert lost(run) == (2000, 2000)
    assert run.achievement.interruptions[0].avoidable_lost == 0
    assert run.attempts[0].attempt.ended_by == "user"


def test_a_completion_of_another_attempt_finishes_no_save() -> None:
    """Megatron-Bridge#5117: what the first attempt had pending came back in the second."""
    run = draw(
        *(started(), restored("00:01", 0, None), step("00:10", 50), begun("00:10", 50, "idx0")),
        ended("00:12", "user", exit_code=1),
        *of("b", started("00:20"), restored("00:21", 0, None), step("00:40", 60)),
        *of("b", begun("00:40", 60, "idx0")),
        committed("00:40:05", 50, "idx0"),
        *of("b", ended("00:41", "hardware")),
    )

    assert valid(run) == 50
    assert lane_text(run.attempts[1].progress).endswith("00:40 saving 00:41")


def test_what_was_not_renamed_does_not_count() -> None:
    """flax#1200: pre-empted between writing and renaming, so there is no commit."""
    run = draw(
        *(started(), restored("00:01", 0, None), step("00:10", 10), committed("00:11", 10, "c10")),
        *(step("00:20", 20), begun("00:20", 20, "c20"), ended("00:21", "scheduler")),
        *of("b", started("00:30"), restored("00:31", 10, "c10"), ended("00:40")),
    )

    assert (valid(run), lost(run)) == (10, (10, 10))


def test_a_counter_that_drifts_is_told_apart() -> None:
    """Lightning#19403: nine updates were made, and each resume counted one more than there were."""
    run = draw(
        *(started(), restored("00:01", 0, None), *steps("00:10 00:11 00:12")),
        *(committed("00:12", 3, "x"), ended("00:20", "user")),
        *of("b", started("00:30"), restored("00:31", 4, "x"), *steps("00:40 00:41 00:42", 5)),
        *of("b", committed("00:42", 7, "y"), ended("00:50", "user")),
        *of("c", started("01:00"), restored("01:01", 8, "y"), *steps("01:10 01:11 01:12", 9)),
        *of("c", ended("01:20")),
    )

    counted = run.achievement.steps_completed
    assert (counted, counter_drift(run)) == (11, 2)
    assert codes(run.findings) == [("restored_ahead", "b"), ("restored_ahead", "c")]
    assert run.achievement.replayed_at_most == 0


def test_resuming_twice_loses_no_steps() -> None:
    """KempnerForge#57: the second resume skipped 10 batches and not 40, so 30 were seen twice."""
    records = (
        *(started(), restored("00:01", 0, None), step("00:10", 30), committed("00:11", 30, "x")),
        *(ended("00:12", "user"), *of("b", started("00:20"), restored("00:21", 30, "x"))),
        *of("b", read_on("00:21", 30, 30)),
        *of("b", step("00:30", 40), committed("00:31", 40, "y"), ended("00:32", "user")),
        *of("c", started("00:40"), restored("00:41", 40, "y"), read_on("00:41", 40, 10)),
        *of("c", ended("00:50")),
    )

    run = draw(*records)

    assert (lost(run, "a"), lost(run, "b")) == ((0, 0), (0, 0))
    assert run.achievement.replayed_at_most == 0
    assert seen_again(*records) == {"b": 0, "c": 30}


def test_a_run_that_is_no_good_was_not_accepted() -> None:
    """entrenar#294: the data began again at row 0, and the run was thrown away at 62k of 155k."""
    records = (
        *(started(), restored("00:01", 0, None), step("00:30", 25_671), committed("00:20", 25_000)),
        ended("00:31", "hardware"),
        *of("b", started("00:40"), restored("00:41", 25_000), read_on("00:41", 25_000, 0)),
        *of("b", step("00:50", 62_000), ended("00:51", "completed", exit_code=0)),
        rejected("01:00"),
    )

    run = draw(*records)

    assert lost(run) == (671, 671)
    assert run.achievement.replayed_at_least == 671
    assert seen_again(*records) == {"b": 25_000}
    assert (run.achievement.accepted, run.achievement.steps_completed) == (False, 62_000)


def test_an_attempt_after_the_result_is_told() -> None:
    """marin#8276: a finished gang came back and held 64 GPUs for three hours."""
    gpus = " ".join(f"g{n}" for n in range(64))
    run = draw(
        *(started("08:00", gpus=gpus), step("13:00", 999), ended("13:00")),
        accepted("13:00"),
        *of("b", started("13:40", gpus=gpus), ended("16:40", "scheduler")),
    )

    assert codes(run.findings) == [("attempt_after_accept", "b")]
    assert (run.achievement.accepted, run.achievement.steps_completed) == (True, 999)
    assert gpu_us(run, "unknown") == 192 * HOUR_US
    assert run.attempts[1].attempt.ended_by == "scheduler"


def test_a_worker_cannot_be_busy_longer_than_its_attempt() -> None:
    """skypilot#1089: by another clock the worker was busy for 660 of 600 seconds, so no share."""
    run = draw(
        *(started("00:10"), restored("00:09:30", 0, None), step("00:15", 5), step("00:20:30", 10)),
        ended("00:20"),
    )

    assert ("event_outside_attempt", "a") in codes(run.findings)
    assert work_time(run) == ClocksApart(
        "a", moment_us("00:10"), moment_us("00:20"), 60 * SECOND_US
    )
    (attempt,) = run.attempts
    assert total_us(span[:2] for span in attempt.progress) == 600_000_000


def test_a_restart_from_the_beginning_was_avoidable() -> None:
    """ray#29099: the metadata named a deleted checkpoint, and storage had a good one at 10."""
    run = draw(
        *(started(), restored("00:01", 0, None), step("00:08", 8), committed("00:08", 8, "c8")),
        *(step("00:10", 10), committed("00:10", 10, "c10"), verified("00:11", ok=False, name="c8")),
        ended("00:12", "hardware"),
        *of("b", started("00:20"), restored("00:21", 0, None), ended("00:30")),
    )

    (interruption,) = run.achievement.interruptions
    assert (valid(run), lost(run), interruption.avoidable_lost) == (10, (10, 10), 10)


def test_a_notice_that_nobody_heeded_saved_nothing() -> None:
    """spd#677: the flag was read at the next step only, and an evaluation was running."""
    run = draw(
        *(started(), restored("00:01", 0, None), step("00:10", 50), committed("00:11", 50)),
        *(step("00:20", 80), notice("00:25"), ended("00:30", "provider")),
        *of("b", started("00:40"), restored("00:41", 50), ended("00:50")),
    )

    assert run.attempts[0].attempt.notice_us == 300_000_000
    assert gpu_us(run, "saving") == 0
    assert lost(run) == (30, 30)


def test_restarts_without_end_are_a_loop() -> None:
    """Megatron-Bridge#5755: the limit of two restarts was not passed on, and there were five."""
    attempts = [
        of(key, started(f"0{n}:00"), alive(f"0{n}:01"), ended(f"0{n}:10", "user"))
        for n, key in enumerate("abcdef")
    ]

    run = draw(*(one for attempt in attempts for one in attempt))

    assert len(run.attempts) == 6
    assert codes(run.findings) == [("restart_loop", "f")]
    breach = restart_limit_breach([each.attempt for each in run.attempts], 2)
    assert breach == LimitBreach(number=3, interrupted="c", attempt="d")


def test_a_negative_time_is_kept_and_told() -> None:
    """CraneSched-FrontEnd#109: the clocks of two machines disagreed."""
    run = draw(started("00:10"), ended("00:09:55", "user"))

    (attempt,) = run.attempts
    assert codes(run.findings) == [("reversed_interval", "a")]
    assert (attempt.attempt.end_us or 0) - attempt.attempt.start_us == -5_000_000
    assert attempt.attempt.held is None
    assert work_time(run) == ClocksApart(
        "a", moment_us("00:10"), moment_us("00:09:55"), 5 * SECOND_US
    )
