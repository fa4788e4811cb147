"""The last valid checkpoint of a folder, in stories that really happened and some that may."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tallystick.emit.checkpoint.judge import BY_BYTES, BY_STRUCTURE
from tallystick.emit.checkpoint.survey import EVERYTHING, STRUCTURE, Survey, Watch, survey
from tallystick.emit.checkpoint.verdict import COMPLETE, TORN, UNFINISHED, UNKNOWN, VERIFIED
from tests.emit.checkpoint.made import (
    torch_bytes,
    vouch,
    write_dcp,
    write_lightning,
    write_orbax,
    write_plain,
    write_trainer,
)


def states(found: Survey) -> list[tuple[str, str]]:
    """Give name and state of each, the newest first."""
    return [(each.name, each.state) for each in found.checkpoints]


def last(found: Survey) -> str | None:
    """Name the last valid one."""
    return found.last and found.last.name


def problems(found: Survey) -> dict[str, str | None]:
    """Give what is wrong with each pointer."""
    return {each.name: each.problem for each in found.pointers}


class TestPublicFailures:
    """What others lost work to: RLinf, transformers, KempnerForge, Megatron, flax and Ray."""

    def test_the_newest_folder_is_half_written(self, tmp_path: Path) -> None:
        """RLinf 1469: the job was killed in the save of step 200; 100 is the last valid."""
        write_dcp(tmp_path / "global_step_100")
        write_dcp(tmp_path / "global_step_200")
        (tmp_path / "global_step_200" / ".metadata").unlink()
        (tmp_path / "global_step_200" / "__1_0.distcp").write_bytes(b"PK\x03\x04 half")

        found = survey(tmp_path)

        assert last(found) == "global_step_100"
        assert [each.name for each in found.newer] == ["global_step_200"]
        assert states(found)[0] == ("global_step_200", UNFINISHED)

    def test_a_signal_came_in_the_save_that_another_signal_began(self, tmp_path: Path) -> None:
        """Transformers 27820 and after it: the marker is left, 10 is the last valid."""
        write_trainer(tmp_path / "checkpoint-10", 10)
        folder = tmp_path / "checkpoint-20"
        folder.mkdir()
        (folder / "checkpoint-is-incomplete.txt").write_bytes(b"Checkpoint started")

        found = survey(tmp_path)

        assert last(found) == "checkpoint-10"
        assert found.newer[0].state == UNFINISHED
        assert found.newer[0].file == "checkpoint-is-incomplete.txt"

    def test_the_pointer_moved_before_the_save_was_flushed(self, tmp_path: Path) -> None:
        """KempnerForge 102: 1000 was deleted, 2000 never arrived; nothing is valid."""
        folder = write_dcp(tmp_path / "step_2000")
        (folder / ".metadata").unlink()
        (tmp_path / "latest").write_text("step_2000\n", encoding="utf-8")

        found = survey(tmp_path)

        assert last(found) is None
        assert found.valid == ()
        assert problems(found) == {"latest": "'step_2000' is unfinished"}

    def test_an_old_completion_made_a_new_save_final(self, tmp_path: Path) -> None:
        """Megatron-Bridge 5117: the metadata is there, the payload is not."""
        write_dcp(tmp_path / "iter_0000040")
        folder = write_dcp(tmp_path / "iter_0000060")
        (folder / "__0_0.distcp").unlink()
        (tmp_path / "latest_checkpointed_iteration.txt").write_text("60", encoding="utf-8")

        found = survey(tmp_path)

        assert last(found) == "iter_0000040"
        assert (found.newer[0].state, found.newer[0].file) == (TORN, "__0_0.distcp")
        assert problems(found) == {"latest_checkpointed_iteration.txt": "'iter_0000060' is torn"}

    def test_the_job_was_pre_empted_between_write_and_rename(self, tmp_path: Path) -> None:
        """Flax 1200: the file is whole under its temporary name, which never counts."""
        for name in ("checkpoint_10", "checkpoint_20tmp"):
            (tmp_path / name).write_bytes(b"\x81\xa6params")
            vouch(tmp_path / name)

        found = survey(tmp_path)

        assert states(found) == [("checkpoint_20tmp", UNFINISHED), ("checkpoint_10", VERIFIED)]
        assert last(found) == "checkpoint_10"

    def test_the_driver_remembers_a_checkpoint_that_was_rotated_away(self, tmp_path: Path) -> None:
        """Ray 29099: the tracker says 8, the storage has 10."""
        write_plain(tmp_path / "checkpoint_000010")
        vouch(tmp_path / "checkpoint_000010", step=10)
        tracker = {"latest_checkpoint_result": {"checkpoint_dir_name": "checkpoint_000008"}}
        path = tmp_path / "checkpoint_manager_snapshot.json"
        path.write_text(json.dumps(tracker), encoding="utf-8")

        found = survey(tmp_path)

        assert last(found) == "checkpoint_000010"
        assert problems(found) == {path.name: "'checkpoint_000008' is no checkpoint here"}


def test_the_last_is_the_one_of_the_highest_step(tmp_path: Path) -> None:
    """Not the last by name, by time, or by what a pointer says."""
    for step in (900, 1000, 99):
        write_lightning(tmp_path / f"step={step}.ckpt", step)
    os.utime(tmp_path / "step=99.ckpt", (2e9, 2e9))
    (tmp_path / "last.ckpt").symlink_to("step=99.ckpt")

    found = survey(tmp_path)

    assert last(found) == "step=1000.ckpt"
    assert problems(found) == {"last.ckpt": "it is older than the last valid one, 'step=1000.ckpt'"}


def test_bytes_are_read_from_the_newest_to_the_last_valid_one(tmp_path: Path) -> None:
    """What is older is looked at and not read."""
    for step in (1, 2, 3):
        write_lightning(tmp_path / f"step={step}.ckpt", step)
    path = tmp_path / "step=3.ckpt"
    data = bytearray(path.read_bytes())
    data[data.index(b"\x01\x02\x03\x04")] ^= 1
    path.write_bytes(bytes(data))

    found = survey(tmp_path)

    assert [(each.state, each.judged) for each in found.checkpoints] == [
        (TORN, BY_BYTES),
        (COMPLETE, BY_BYTES),
        (COMPLETE, BY_STRUCTURE),
    ]


@pytest.mark.parametrize(("read", "judged"), [(EVERYTHING, BY_BYTES), (STRUCTURE, BY_STRUCTURE)])
def test_how_much_is_read_is_for_the_caller_to_say(tmp_path: Path, read: str, judged: str) -> None:
    """All of it, or nothing but what describes the rest."""
    for step in (1, 2):
        write_lightning(tmp_path / f"step={step}.ckpt", step)

    found = survey(tmp_path, read=read)

    assert {each.judged for each in found.checkpoints} == {judged}


def test_a_folder_that_is_a_checkpoint_itself_is_one(tmp_path: Path) -> None:
    """Also where a file in it has the name of a checkpoint."""
    (write_trainer(tmp_path / "checkpoint-3", 3) / "global_step3").mkdir()
    folders = [
        write_dcp(tmp_path / "a"),
        write_orbax(tmp_path / "b"),
        tmp_path / "checkpoint-3",
        write_plain(tmp_path / "d"),
    ]
    (folders[3] / "step_1.pt").write_bytes(torch_bytes())
    vouch(folders[3])

    found = [survey(folder) for folder in folders]

    assert [last(each) for each in found] == ["a", "b", "checkpoint-3", "d"]


def test_a_folder_whose_name_is_a_step_is_a_checkpoint(tmp_path: Path) -> None:
    """Also if all of it lies deeper, or nothing is in it yet."""
    (tmp_path / "iter_0000010" / "mp_rank_00").mkdir(parents=True)
    (tmp_path / "iter_0000010" / "mp_rank_00" / "model.pt").write_bytes(torch_bytes())
    (tmp_path / "iter_0000020").mkdir()

    found = [survey(tmp_path / name) for name in ("iter_0000010", "iter_0000020")]

    assert [states(each) for each in found] == [
        [("iter_0000010", UNKNOWN)],
        [("iter_0000020", TORN)],
    ]


def test_a_folder_of_files_without_steps_is_one_checkpoint(tmp_path: Path) -> None:
    """Nothing says whether its files are several, or all of one."""
    for name in ("model.pt", "optimizer.pt"):
        (tmp_path / name).write_bytes(torch_bytes())

    found = survey(tmp_path)

    assert states(found) == [(tmp_path.name, UNKNOWN)]


def test_a_file_is_a_checkpoint(tmp_path: Path) -> None:
    """It is named as it is."""
    path = write_lightning(tmp_path / "x.ckpt", 5)

    assert last(survey(path)) == "x.ckpt"


def test_what_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    """Logs and tables whose name has a number are none."""
    write_lightning(tmp_path / "step=1.ckpt", 1)
    for name in ("train.log", "metrics_step_10.csv", "config.yaml"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "logs").mkdir()

    found = survey(tmp_path)

    assert [each.name for each in found.checkpoints] == ["step=1.ckpt"]
    assert found.others == ("config.yaml", "logs", "metrics_step_10.csv", "train.log")


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    """Nothing is invented."""
    assert survey(tmp_path) == Survey((), None, (), ())


def test_of_several_without_a_step_none_is_the_last(tmp_path: Path) -> None:
    """Times of files are no order of training; the caller has to know."""
    for name in ("a", "b"):
        write_plain(tmp_path / name)
        vouch(tmp_path / name)

    found = survey(tmp_path)

    assert len(found.valid) == 2
    assert found.last is None


def test_one_without_a_step_is_the_last_if_it_is_the_only_valid_one(tmp_path: Path) -> None:
    """There is nothing that it could be older than."""
    for name in ("a", "b"):
        write_plain(tmp_path / name)
        vouch(tmp_path / name)
    (tmp_path / "b" / "model.bytes").unlink()

    assert last(survey(tmp_path)) == "a"


def test_of_two_of_one_step_the_verified_one_is_named(tmp_path: Path) -> None:
    """Digests vouch for more than a format can."""
    write_lightning(tmp_path / "a.ckpt", 5)
    vouch(write_lightning(tmp_path / "z.ckpt", 5), step=5)

    assert last(survey(tmp_path, read=EVERYTHING)) == "z.ckpt"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("latest", "step_2", None),
        ("latest", "step_1", "it is older than the last valid one, 'step_2'"),
        ("latest", "step_9", "'step_9' is no checkpoint here"),
        ("latest", "/old/place/step_2/", None),
        ("latest", "", "says nothing"),
        ("latest", "\0\0\0\0", "says nothing"),
        ("latest", "x" * 5000, "is larger than 4096 bytes, and was not read"),
        ("latest", b"\xff\xfe", r"'\\xff\\xfe' is no checkpoint here"),
        ("latest_checkpointed_iteration.txt", "2\n", None),
        ("latest_checkpointed_iteration.txt", "7", "'7' is no checkpoint here"),
        ("latest_checkpointed_iteration.txt", "release", "'release' is no checkpoint here"),
        ("checkpoint", 'model_checkpoint_path: "step_2"\nall_model: "step_1"', None),
        ("checkpoint", 'model_checkpoint_path: "gone"', "'gone' is no checkpoint here"),
        ("latest.json", '{"step": 2}', None),
        ("latest.json", '{"step": 5}', "'5' is no checkpoint here"),
        ("latest.json", '{"latest_checkpoint": "s3://bucket/step_2"}', None),
        ("tracker.json", '{"checkpoints": ["step_1", "step_2"]}', None),
        ("latest.json", "{", "is no whole JSON text"),
        ("latest.json", "[" * 200_000, "is nested too deeply to be read"),
    ],
)
def test_what_a_pointer_claims_is_compared(
    tmp_path: Path, name: str, text: str | bytes, problem: str | None
) -> None:
    """With what is there, and only then believed."""
    for step in (1, 2):
        write_dcp(tmp_path / f"step_{step}")
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    found = survey(tmp_path)

    assert problems(found) == {name: problem}
    assert last(found) == "step_2"


@pytest.mark.parametrize("text", ["{}", "[]", '{"metrics": {"step": 9}, "name": "run"}', "7"])
def test_json_that_claims_nothing_is_no_pointer(tmp_path: Path, text: str) -> None:
    """A number among metrics points to nothing."""
    write_dcp(tmp_path / "step_1")
    nested: Any = json.loads(text)
    path = tmp_path / "latest.json"
    path.write_text(json.dumps({"a": {"b": nested}}), encoding="utf-8")

    assert survey(tmp_path).pointers == ()


def test_a_link_is_a_pointer_and_no_checkpoint(tmp_path: Path) -> None:
    """Links that lead nowhere, in circles or out of the folder are told like any other."""
    write_dcp(tmp_path / "step_1")
    (tmp_path / "latest").symlink_to("step_1")
    (tmp_path / "best").symlink_to("step_9")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "up").symlink_to("..")

    found = survey(tmp_path)

    assert [each.name for each in found.checkpoints] == ["step_1"]
    assert problems(found) == {
        "best": "'step_9' is no checkpoint here",
        "circle": "'circle' is no checkpoint here",
        "latest": None,
        "up": "'..' is no checkpoint here",
    }


def test_a_pipe_for_a_pointer_holds_nobody_up(tmp_path: Path) -> None:
    """It is no file, so it is neither."""
    write_dcp(tmp_path / "step_1")
    os.mkfifo(tmp_path / "latest")
    os.mkfifo(tmp_path / "step_2.ckpt")

    found = survey(tmp_path)

    assert found.others == ("latest", "step_2.ckpt")


def test_steps_of_names_are_those_that_they_say(tmp_path: Path) -> None:
    """A count of checkpoints is no step; of several numbers the step counts."""
    names = {
        "hpc_ckpt_3.ckpt": None,
        "epoch=1-step=20.ckpt": 20,
        "0000030.ckpt": 30,
        "global_step40.ckpt": 40,
        "iter_0000050.ckpt": 50,
        "ckpt-60.ckpt": 60,
        "checkpoint_step_70_epoch_2.ckpt": 70,
        "footstep80.ckpt": None,
    }
    for name in names:
        (tmp_path / name).write_bytes(torch_bytes())

    found = survey(tmp_path)

    assert {each.name: each.step and each.step.number for each in found.checkpoints} == names


def test_many_checkpoints_are_looked_at_once_each(tmp_path: Path) -> None:
    """And of those that are not read none costs more than its structure."""
    one = write_lightning(tmp_path / "step=0.ckpt", 0)
    for step in range(1, 1000):
        (tmp_path / f"step={step}.ckpt").write_bytes(torch_bytes({}, step=step))
    looked_at: list[int] = []
    planned: list[int] = []

    found = survey(tmp_path, watch=Watch(looked_at.append, planned.append))

    assert last(found) == "step=999.ckpt"
    assert len(looked_at) == 1000
    assert sum(planned) < one.stat().st_size * 2


def test_a_checkpoint_that_vanishes_meanwhile_is_not_valid(tmp_path: Path) -> None:
    """Rotation may take it between the look and the reading."""
    for step in (1, 2):
        write_lightning(tmp_path / f"step={step}.ckpt", step)

    def take(_count: int) -> None:
        (tmp_path / "step=2.ckpt").unlink(missing_ok=True)

    found = survey(tmp_path, watch=Watch(to_read=take))

    assert states(found)[0] == ("step=2.ckpt", UNKNOWN)
    assert last(found) == "step=1.ckpt"


def test_a_folder_that_is_not_there_raises(tmp_path: Path) -> None:
    """Nothing was looked at, so nothing is told."""
    with pytest.raises(OSError, match="gone"):
        survey(tmp_path / "gone")


def test_formats_lie_side_by_side(tmp_path: Path) -> None:
    """A folder may hold any of them."""
    write_dcp(tmp_path / "step_1")
    write_trainer(tmp_path / "checkpoint-2", 2)
    write_orbax(tmp_path / "3")
    write_lightning(tmp_path / "step=4.ckpt", 4)
    shutil.copytree(tmp_path / "3", tmp_path / "5.orbax-checkpoint-tmp-77")

    found = survey(tmp_path)

    assert [(each.step and each.step.number, each.kind) for each in found.checkpoints] == [
        (5, "orbax"),
        (4, "lightning"),
        (3, "orbax"),
        (2, "huggingface"),
        (1, "dcp"),
    ]
    assert last(found) == "step=4.ckpt"
