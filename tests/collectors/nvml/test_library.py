"""NVML through the real package, which loads a library that stands in for the driver's."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tallystick.collectors.nvml import library as module
from tallystick.collectors.nvml.errors import (
    BoardLostError,
    NvmlDownError,
    NvmlExtraMissingError,
    NvmlUnusableError,
)
from tallystick.collectors.nvml.library import (
    ENERGY,
    GPU_UTIL,
    MEMORY_UTIL,
    POWER,
    Board,
    Nvml,
    open_nvml,
)
from tests.collectors.nvml.boards import (
    BOARD,
    LOST,
    NO_DRIVER,
    NO_PERMISSION,
    NOT_SUPPORTED,
    OTHER,
    U0,
    U1,
    UNKNOWN_ERROR,
    say,
    use,
)


def test_boards_have_all_their_names(nvml: Nvml) -> None:
    """Index, UUID, PCI address, minor number, and whether they are sliced."""
    assert nvml.look().boards == (
        Board(0, U0, "00000000:18:00.0", 0, mig=False),
        Board(1, U1, "00000000:2A:00.0", 1, mig=False),
    )


def test_values_are_integers_of_nvml(nvml: Nvml) -> None:
    """Percent, milliwatts and millijoules."""
    nvml.look()

    assert nvml.read(U0) == {GPU_UTIL: 97, MEMORY_UTIL: 40, POWER: 350112, ENERGY: 1575000}


def test_a_counter_has_64_bits(nvml: Nvml, home: Path) -> None:
    """Fifty megajoules are fifty thousand million millijoules."""
    say(home, BOARD._replace(energy_mj="50000000000"))
    nvml.look()

    assert nvml.read(U0)[ENERGY] == 50_000_000_000


@pytest.mark.parametrize("error", [NOT_SUPPORTED, UNKNOWN_ERROR, NO_PERMISSION])
def test_a_value_that_is_refused_is_unknown(nvml: Nvml, home: Path, error: str) -> None:
    """It is not 0, and the other values stay."""
    say(home, BOARD._replace(util=error, energy_mj=error))
    nvml.look()

    assert nvml.read(U0) == {GPU_UTIL: None, MEMORY_UTIL: None, POWER: 350112, ENERGY: None}


def test_the_sign_of_no_value_is_unknown(nvml: Nvml, home: Path) -> None:
    """All ones, in 32 or 64 bits, is what NVML writes where it has no value."""
    say(home, BOARD._replace(power_mw=str(2**32 - 1), energy_mj=str(2**64 - 1)))
    nvml.look()

    values = nvml.read(U0)

    assert (values[POWER], values[ENERGY]) == (None, None)


def test_a_function_that_the_driver_lacks_gives_nothing(
    nvml: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older driver has no energy counter."""
    pynvml: Any = import_module("pynvml")
    real: Any = vars(pynvml)["_nvmlGetFunctionPointer"]

    def lacks(name: str) -> Any:
        if "Energy" in name:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        return real(name)

    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer", lacks)
    nvml.look()

    assert nvml.read(U0)[ENERGY] is None


def test_a_board_that_is_read_may_be_lost(nvml: Nvml, home: Path) -> None:
    """Its UUID is remembered by the driver, its sensors are away."""
    say(home, BOARD._replace(power_mw=LOST))
    nvml.look()

    with pytest.raises(BoardLostError):
        nvml.read(U0)


@pytest.mark.parametrize("uuid", [LOST, "?15"])
def test_a_lost_board_is_counted_and_not_listed(nvml: Nvml, home: Path, uuid: str) -> None:
    """Whether its handle or its UUID cannot be had."""
    say(home, BOARD._replace(uuid=uuid), OTHER)

    look = nvml.look()

    assert ([board.uuid for board in look.boards], look.lost, look.unread) == ([U1], 1, ())


def test_a_board_that_may_not_be_seen_leaves_the_set_unknown(nvml: Nvml, home: Path) -> None:
    """It is not lost."""
    say(home, BOARD._replace(uuid=NO_PERMISSION), OTHER)

    look = nvml.look()

    assert (len(look.boards), look.lost) == (1, 0)
    assert look.unread == ("board 0: insufficient permissions",)


@pytest.mark.parametrize("uuid", ["GPU-00000000-0000-0000-0000-000000000000", "GPU-7", "none"])
def test_a_uuid_that_names_nothing_is_no_identity(nvml: Nvml, home: Path, uuid: str) -> None:
    """All zeros is what a broken board or a simulator states."""
    say(home, BOARD._replace(uuid=uuid))

    look = nvml.look()

    assert look.boards == ()
    assert look.unread == (f"board 0: '{uuid}' is no identity",)


@pytest.mark.parametrize(
    ("said", "mig"), [("1", True), ("0", False), (NOT_SUPPORTED, False), (UNKNOWN_ERROR, None)]
)
def test_a_board_that_cannot_be_sliced_is_not(
    nvml: Nvml, home: Path, said: str, *, mig: bool | None
) -> None:
    """Where NVML fails to say it is not known."""
    say(home, BOARD._replace(mig=said))

    assert nvml.look().boards[0].mig is mig


def test_a_uuid_names_one_board(nvml: Nvml, home: Path) -> None:
    """Two boards of one name are one board that is known, and one that is not."""
    say(home, BOARD, OTHER._replace(uuid=U0))

    look = nvml.look()

    assert [board.nvml_index for board in look.boards] == [0]
    assert look.unread == (f"board 1: {U0} is another board too",)


def test_the_driver_has_a_version(nvml: Nvml, home: Path) -> None:
    """None if it does not say."""
    before = nvml.driver()
    say(home, BOARD, driver=None)

    assert (before, nvml.driver()) == ("580.65.06", None)


def test_a_lost_board_does_not_hide_the_rest(nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version is then unknown, as with any other error."""
    pynvml: Any = import_module("pynvml")

    def lost() -> Any:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)

    monkeypatch.setattr(pynvml, "nvmlSystemGetDriverVersion", lost)

    assert nvml.driver() is None


def test_what_else_names_a_board_may_be_unknown(nvml: Nvml, home: Path) -> None:
    """Its UUID is enough."""
    say(home, BOARD._replace(bus=UNKNOWN_ERROR, minor=NOT_SUPPORTED))

    assert nvml.look().boards == (Board(0, U0, None, None, mig=False),)


@pytest.mark.parametrize("number", [NO_DRIVER, "999", "18"])
def test_a_library_that_says_nothing_is_down(nvml: Nvml, home: Path, number: str) -> None:
    """Then nothing is known of any board."""
    say(home, down=number)

    with pytest.raises(NvmlDownError):
        nvml.look()


def test_a_library_may_go_down_between_look_and_read(nvml: Nvml, home: Path) -> None:
    """The driver was taken away."""
    nvml.look()
    say(home, down=NO_DRIVER)

    with pytest.raises(NvmlDownError, match="driver not loaded"):
        nvml.read(U0)


def test_a_board_that_came_is_seen_when_opened_anew(nvml: Nvml, home: Path) -> None:
    """NVML lists what was there when it was opened."""
    say(home, BOARD, OTHER, BOARD._replace(uuid=U0[:-1] + "9"))

    before = len(nvml.look().boards)
    nvml.open()

    assert (before, len(nvml.look().boards)) == (2, 3)


def test_letting_go_of_a_driver_that_is_gone_is_quiet(nvml: Nvml, home: Path) -> None:
    """Closing twice is nothing either."""
    say(home, down=NO_DRIVER)

    nvml.close()
    nvml.close()

    with pytest.raises(NvmlDownError):
        nvml.look()


def test_no_driver_at_the_start_is_an_error(
    stand_in: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says what NVML says."""
    use(stand_in, home, monkeypatch)
    say(home, down=NO_DRIVER)

    with pytest.raises(NvmlUnusableError) as raised:
        open_nvml()

    assert str(raised.value) == "cannot ask NVML: driver not loaded"


def test_no_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a driver has none."""

    def missing(_: str) -> Any:
        raise OSError

    pynvml: Any = import_module("pynvml")
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "CDLL", missing)

    with pytest.raises(NvmlUnusableError, match="nvml shared library not found"):
        open_nvml()


def test_no_package_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is optional."""

    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(module, "import_module", missing)

    with pytest.raises(NvmlExtraMissingError) as raised:
        open_nvml()

    assert str(raised.value) == "sampling GPUs needs the extra: pip install 'tallystick[nvml]'"
