"""Which boards a node has, and which of them a job was given: by UUID, or not at all."""

from pathlib import Path

import pytest

from tallystick.emit.devices import Devices, Gpu, Identity, identify, inventory_body, look
from tallystick.evidence.fields import devices as read_devices

LONG_S = 60
UUIDS = tuple(f"GPU-1111111{n}-2222-3333-4444-555555555555" for n in range(8))
ZEROS = "GPU-00000000-0000-0000-0000-000000000000"
MIG = "MIG-11111111-2222-3333-4444-555555555555"


class Driver:
    """A node's driver: what its tool prints, and its folder of boards."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.proc = folder / "gpus"
        self.bin.mkdir()
        self.proc.mkdir()

    def prints(self, *lines: str, status: int = 0) -> None:
        """Have the tool print lines."""
        text = "".join(f"{line}\n" for line in lines)
        self.runs(f"cat <<'END'\n{text}END\nexit {status}")

    def runs(self, script: str) -> None:
        """Have the tool do something."""
        tool = self.bin / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        tool.chmod(0o755)

    def has_file(self, bus: str, text: str) -> None:
        """Put what the driver says of a board into its folder."""
        folder = self.proc / bus
        folder.mkdir()
        (folder / "information").write_text(text, encoding="utf-8")

    def look(self, limit_s: float = LONG_S) -> Devices:
        """Look at the boards."""
        return look(limit_s, path=f"{self.bin}:/usr/bin:/bin", proc=self.proc)


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    """Make a node without boards."""
    return Driver(tmp_path)


def line(index: int | str, uuid: str, mig: str = "Disabled") -> str:
    """Print a board as nvidia-smi does."""
    return f"{index}, {uuid}, 00000000:{18 + int(index):02X}:00.0, {mig}"


def information(uuid: str, minor: int | str) -> str:
    """Say of a board what the driver says in /proc."""
    return (
        "Model: \t\t NVIDIA H100 80GB HBM3\n"
        "IRQ:   \t\t 18\n"
        f"GPU UUID: \t {uuid}\n"
        "Bus Location: \t 0000:18:00.0\n"
        f"Device Minor: \t {minor}\n"
        "GPU Excluded:\t No\n"
    )


def board(index: int, minor: int | None = None, *, uuid: str = "", mig: bool = False) -> Gpu:
    """Make a board that a look found."""
    return Gpu(index, uuid or UUIDS[index], f"00000000:{18 + index:02X}:00.0", minor, mig)


def seen(*gpus: Gpu, problem: str | None = None) -> Devices:
    """Make a look."""
    return Devices(gpus, 1_770_000_000_000_000, problem)


def given(
    devices: Devices, *, visible: str = "", gpu_indexes: str = "", index_is: str = "minor"
) -> Identity:
    """Say which boards a job was given."""
    return identify(devices, visible=visible, gpu_indexes=gpu_indexes, index_is=index_is)


def test_a_look_gives_each_board_with_its_minor_number(driver: Driver) -> None:
    """The tool gives index, UUID, bus and MIG, the driver's folder the minor number."""
    driver.prints(line(0, UUIDS[0]), line(1, UUIDS[1], "Enabled"))
    driver.has_file("0000:12:00.0", information(UUIDS[0], 3))

    devices = driver.look()

    assert devices.gpus == (board(0, 3), board(1, None, mig=True))
    assert devices.problem is None


def test_a_board_without_mig_is_not_in_mig(driver: Driver) -> None:
    """Older boards print that it does not apply."""
    driver.prints(line(0, UUIDS[0], "[N/A]"))

    assert driver.look().gpus == (board(0),)


@pytest.mark.parametrize(
    ("uuid", "minor"),
    [
        ("GPU-????????-????-????-????-????????????", "0"),  # Before the board was first used.
        (UUIDS[0], ""),
        (UUIDS[0], "N/A"),
        (UUIDS[0], "²"),
        (ZEROS, "0"),
    ],
)
def test_a_minor_number_that_is_not_stated_is_unknown(
    driver: Driver, uuid: str, minor: str
) -> None:
    """It is never 0 for want of a statement."""
    driver.prints(line(0, UUIDS[0]))
    driver.has_file("0000:12:00.0", information(uuid, minor))

    assert driver.look().gpus == (board(0, None),)


def test_a_minor_number_of_two_boards_is_unknown(driver: Driver) -> None:
    """It would name one of them by chance."""
    driver.prints(line(0, UUIDS[0]), line(1, UUIDS[1]))
    driver.has_file("a", information(UUIDS[0], 0))
    driver.has_file("b", information(UUIDS[1], 0))

    assert [gpu.minor for gpu in driver.look().gpus] == [None, None]


def test_what_cannot_be_read_of_the_driver_is_passed_over(driver: Driver) -> None:
    """The other boards keep their numbers."""
    driver.prints(line(0, UUIDS[0]))
    (driver.proc / "a" / "information").mkdir(parents=True)
    driver.has_file("b", information(UUIDS[0], 5))

    assert driver.look().gpus == (board(0, 5),)


def test_without_the_folder_no_minor_number_is_known(driver: Driver) -> None:
    """A container may not show it."""
    driver.prints(line(0, UUIDS[0]))
    driver.proc.rmdir()

    assert driver.look().gpus == (board(0, None),)


def test_a_folder_that_cannot_be_listed_gives_no_minor_number(driver: Driver) -> None:
    """What it could say is unknown, the boards are not."""
    driver.prints(line(0, UUIDS[0]))
    driver.proc = Path("x" * 5000)

    assert driver.look().gpus == (board(0, None),)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exec sleep 600", "nvidia-smi: no answer in 0.3 s"),
        ("echo No devices were found; exit 6", "nvidia-smi: ended with 6: No devices were found"),
        ("exit 9", "nvidia-smi: ended with 9: "),
        ("exit 0", "nvidia-smi: names no GPU"),
        ("echo No devices were found", "nvidia-smi: cannot read 'No devices were found'"),
        (f"echo '0, {ZEROS}, 0, Disabled'", f"nvidia-smi: cannot read '0, {ZEROS}, 0, Disabled'"),
        (r"printf '\302\262, U, b, D'", r"nvidia-smi: cannot read '\xb2, U, b, D'"),
        (
            f"echo '{line(0, UUIDS[0])}'; echo '1, [GPU is lost], x, y'",
            "nvidia-smi: cannot read '1, [GPU is lost], x, y'",
        ),
        (
            f"echo '{line(0, UUIDS[0])}'; echo '{line(1, UUIDS[0])}'",
            "nvidia-smi: gives two boards one uuid",
        ),
        (
            f"echo '{line(0, UUIDS[0])}'; echo '{line(0, UUIDS[1])}'",
            "nvidia-smi: gives two boards one nvml_index",
        ),
    ],
)
def test_boards_that_are_not_known_for_sure_are_a_problem(
    driver: Driver, script: str, problem: str
) -> None:
    """49 among them: a UUID of zeros is no identity, and two boards are not one."""
    driver.runs(script)
    limit_s = 0.3 if "sleep" in script else LONG_S

    devices = driver.look(limit_s)

    assert (devices.gpus, devices.problem) == ((), problem)


def test_a_tool_that_floods_is_a_problem(driver: Driver) -> None:
    """Its output is not held."""
    driver.runs("exec yes")

    assert driver.look().problem == "nvidia-smi: printed too much"


def test_a_node_without_the_tool_has_a_problem(driver: Driver) -> None:
    """Not a node without boards."""
    devices = look(LONG_S, path=str(driver.bin), proc=driver.proc)

    assert devices.problem == "nvidia-smi: no such file or directory"


def test_an_index_is_the_number_of_a_device_file(driver: Driver) -> None:
    """B37: Slurm's 0 is /dev/nvidia0, which can be what NVML calls 6."""
    driver.prints(line(0, UUIDS[0]), line(6, UUIDS[6]))
    driver.has_file("a", information(UUIDS[0], 6))
    driver.has_file("b", information(UUIDS[6], 0))

    identity = given(driver.look(), gpu_indexes="0")

    assert identity == Identity(((UUIDS[6], 6),), 1, None)


def test_an_index_is_that_of_nvml_if_the_operator_says_so() -> None:
    """Where Slurm itself asks NVML."""
    devices = seen(board(0, 6), board(6, 0))

    assert given(devices, gpu_indexes="0", index_is="nvml").gpus == ((UUIDS[0], 0),)


def test_an_index_without_minor_numbers_is_a_count() -> None:
    """NVML's index is not taken in its stead."""
    identity = given(seen(board(0), board(1)), gpu_indexes="0-1")

    assert identity == Identity((), 2, "no board has the minor number 0")


@pytest.mark.parametrize(
    "uuid", [UUIDS[0], MIG, f"MIG-{UUIDS[0]}/1/0"], ids=["board", "mig", "old_mig"]
)
def test_a_uuid_wins_over_an_index(uuid: str) -> None:
    """B39: Slurm 25.11 names UUIDs beside the index."""
    identity = given(seen(board(0, 0), board(3, 3)), visible=uuid, gpu_indexes="3")

    assert [found for found, _ in identity.gpus] == [uuid]


def test_a_uuid_is_known_without_a_look() -> None:
    """Its index then is not."""
    identity = given(seen(problem="nvidia-smi: no answer"), visible=f"{UUIDS[0]}, {UUIDS[1]}")

    assert identity == Identity(((UUIDS[0], None), (UUIDS[1], None)), 2, None)


def test_a_uuid_that_is_named_twice_is_one_gpu() -> None:
    """A count follows from it."""
    assert given(seen(), visible=f"{UUIDS[0]},{UUIDS[0]}").gpu_count == 1


@pytest.mark.parametrize("word", [ZEROS, "GPU-11111111", "MIG-1", "GPU-\u00e9"])
def test_a_word_that_is_no_whole_uuid_is_a_count(word: str) -> None:
    """49: what names no board for sure is never joined to another."""
    identity = given(seen(board(0, 0)), visible=word, gpu_indexes="0")

    assert identity == Identity((), 1, f"{word!a} is not the UUID of a GPU")


def test_an_index_within_a_job_does_not_stand_for_one_of_the_node() -> None:
    """29: a job that was given board 3 sees it as 0; what Slurm says of the node counts."""
    devices = seen(board(0, 0), board(3, 3))

    assert given(devices, visible="0", gpu_indexes="3").gpus == ((UUIDS[3], 3),)


def test_a_board_that_was_replaced_is_another_gpu() -> None:
    """31: index, minor and bus stay, the UUID does not."""
    before = given(seen(board(0, 0)), gpu_indexes="0")
    after = given(seen(board(0, 0, uuid=UUIDS[7])), gpu_indexes="0")

    assert (before.gpus, after.gpus) == (((UUIDS[0], 0),), ((UUIDS[7], 0),))


def test_an_index_beside_mig_is_a_count() -> None:
    """It could be that of an instance."""
    identity = given(seen(board(0, 0), board(1, 1, mig=True)), gpu_indexes="0")

    assert (identity.gpus, identity.gpu_count) == ((), 1)


def test_what_a_look_could_not_see_is_a_count_with_its_reason() -> None:
    """The number of GPUs follows from what Slurm said alone."""
    identity = given(seen(problem="nvidia-smi: no answer"), gpu_indexes="0,2-3")

    assert identity == Identity((), 3, "nvidia-smi: no answer")


@pytest.mark.parametrize(
    "text",
    ["", "NoDevFiles", "-1", "0,", "3-1", "0-4096", "0-4095,4096", "1000000", "0x1", "²", "0;1"],
)
def test_an_environment_that_names_no_gpu_gives_no_count(text: str) -> None:
    """Neither does a list that is longer than any node."""
    identity = given(seen(board(0, 0)), visible=text)

    assert identity.gpu_count is None
    assert identity.problem == "the environment names no GPU that can be read"


def test_an_inventory_says_what_is_known() -> None:
    """A minor number that is not known is left out; evidence takes the rest."""
    devices = seen(board(0, 3), board(1))

    body = inventory_body(devices, "n1")

    assert body is not None
    assert [device.get("minor") for device in body["devices"]] == [3, None]
    assert [device.uuid for device in read_devices(body["devices"])] == list(UUIDS[:2])


def test_a_look_that_failed_is_no_inventory() -> None:
    """An empty one would say that every board is gone."""
    assert inventory_body(seen(problem="nvidia-smi: no answer"), "n1") is None
