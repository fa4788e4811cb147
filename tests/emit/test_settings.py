"""Settings of a node: what is stated counts, what cannot be read is named and passed over."""

from pathlib import Path

import pytest

from tallystick.emit.settings import Settings, read_settings


def of(tmp_path: Path, text: str) -> Settings:
    """Read settings from a text."""
    path = tmp_path / "node.env"
    path.write_text(text)
    return read_settings(path)


def test_what_is_stated_counts(tmp_path: Path) -> None:
    """Lines are NAME=VALUE, with or without quotes; a comment is none."""
    settings = of(
        tmp_path,
        'TALLYSTICK_SPOOL="/srv/spool"\n# TALLYSTICK_CLUSTER=no\nTALLYSTICK_CLUSTER=c1\n'
        "TALLYSTICK_CAPACITY=spot=spot prod=on_demand\nTALLYSTICK_GPU_TYPE=h100\n"
        "TALLYSTICK_HOOK_WALL=2.5\nTALLYSTICK_TRUST_USERS=slurm sched\n",
    )

    assert settings == Settings(
        spool=Path("/srv/spool"),
        cluster="c1",
        capacity=(("spot", "spot"), ("prod", "on_demand")),
        gpu_type=(("", "h100"),),
        wall_us=2_500_000,
        trust_users=("slurm", "sched"),
    )


def test_a_partition_has_its_own_words(tmp_path: Path) -> None:
    """What is said of a partition comes before what is said of all."""
    settings = of(tmp_path, "TALLYSTICK_GPU_TYPE=h100 old=a100\nTALLYSTICK_CAPACITY=spot=spot\n")

    assert [settings.gpu_type_of(name) for name in ("old", "new")] == ["a100", "h100"]
    assert [settings.capacity_of(name) for name in ("spot", "new")] == ["spot", "unknown"]


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    """A variable of the same name counts."""
    path = tmp_path / "node.env"
    path.write_text("TALLYSTICK_SPOOL=/a\n")

    settings = read_settings(path, {"TALLYSTICK_SPOOL": "/b", "HOME": "/"})

    assert settings.spool == Path("/b")


@pytest.mark.parametrize(
    "line",
    [
        "TALLYSTICK_SPOOL=relative",
        "TALLYSTICK_SPOOL_BYTES=12",
        "TALLYSTICK_SPOOL_BYTES=many",
        "TALLYSTICK_CLUSTER=a b",
        "TALLYSTICK_CLUSTER=",
        "TALLYSTICK_CAPACITY=spot=cheap",
        "TALLYSTICK_CAPACITY==spot",
        "TALLYSTICK_SLURM_INDEX=pci",
        "TALLYSTICK_DCGM=maybe",
        "TALLYSTICK_DCGM_KEEP=0",
        "TALLYSTICK_HOOK_WALL=-1",
        "TALLYSTICK_HOOK_WALL=1e9",
        "TALLYSTICK_HOOK_CPU=0.0000001",
        "TALLYSTICK_PATH=bin:/usr/bin",
        "just words",
    ],
)
def test_what_cannot_be_read_leaves_the_default(tmp_path: Path, line: str) -> None:
    """A hook goes on, and a doctor can tell what is wrong."""
    settings = of(tmp_path, f"{line}\n")

    assert len(settings.problems) == 1
    assert settings._replace(problems=()) == Settings()


def test_without_a_file_all_is_default(tmp_path: Path) -> None:
    """A hook that was never configured still works."""
    settings = read_settings(tmp_path / "none")

    assert settings._replace(problems=()) == Settings()
    assert "no such file" in settings.problems[0]


def test_users_that_do_not_exist_are_not_trusted() -> None:
    """A name without an account gives no number."""
    assert Settings(trust_users=("root", "no-such-user")).trusted_uids() == (0,)
