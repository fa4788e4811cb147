"""NVML, asked through ``nvidia-ml-py``: which boards there are, and what each says now.

A value that NVML does not support, or fails to give, is None and never 0. Three kinds of failure
are told apart by what follows from them: one value is blank, a board is lost, nothing is known.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from tallystick.collectors.nvml.errors import (
    BoardLostError,
    NvmlDownError,
    NvmlExtraMissingError,
    NvmlUnusableError,
)

GPU_UTIL, MEMORY_UTIL = "nvml_gpu_util", "nvml_mem_util"
POWER, ENERGY = "nvml_power_mw", "nvml_energy_mj"
METRICS = (GPU_UTIL, MEMORY_UTIL, POWER, ENERGY)

_UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_SUPPORTED = 3
_LOST = 15
_DOWN = frozenset({1, 9, 12, 18})  # Uninitialised, no driver, no library, driver replaced.
_NOT_AVAILABLE = frozenset({2**32 - 1, 2**64 - 1})  # What NVML writes where it has no value.


class Board(NamedTuple):
    """A board as NVML lists it; ``mig`` is None if NVML does not say whether it is sliced."""

    nvml_index: int
    uuid: str
    pci_bus_id: str | None
    minor: int | None
    mig: bool | None


class Look(NamedTuple):
    """The boards that answer, how many are lost, and what else does not answer.

    Lost boards are known to be away. With ``unread`` the set is not known.
    """

    boards: tuple[Board, ...]
    lost: int = 0
    unread: tuple[str, ...] = ()


class Library(Protocol):
    """What sampling needs of NVML."""

    def open(self) -> None:
        """Open it, anew if it was open: only then boards that were replaced are seen.

        Raises:
            NvmlDownError: it does not open.
        """
        ...

    def close(self) -> None:
        """Let go of the driver."""
        ...

    def driver(self) -> str | None:
        """Give the version of the driver, None if it does not say.

        Raises:
            NvmlDownError: nothing is known of any board.
        """
        ...

    def look(self) -> Look:
        """Say which boards there are.

        Raises:
            NvmlDownError: nothing is known of any board.
        """
        ...

    def read(self, uuid: str) -> dict[str, int | None]:
        """Read the metrics of a board of the last look; None is a value that it does not give.

        Raises:
            BoardLostError: the board is lost.
            NvmlDownError: nothing is known of any board.
        """
        ...


class _RefusedError(Exception):
    """NVML answered one question with an error."""

    def __init__(self, value: int, text: str) -> None:
        super().__init__(text)
        self.value = value


class Nvml:
    """The driver's library on this node."""

    def __init__(self, pynvml: Any) -> None:
        self._pynvml = pynvml
        self._handles: dict[str, Any] = {}
        self._is_open = False

    def open(self) -> None:
        """Open it, anew if it was open."""
        self.close()
        self._needed(self._pynvml.nvmlInit)
        self._is_open = True

    def close(self) -> None:
        """Let go of the driver."""
        self._handles = {}
        if self._is_open:
            self._is_open = False
            with suppress(_RefusedError, NvmlDownError, BoardLostError):
                self._ask(self._pynvml.nvmlShutdown)

    def driver(self) -> str | None:
        """Give the version of the driver, None if it does not say."""
        try:
            version = self._value(self._pynvml.nvmlSystemGetDriverVersion)
        except BoardLostError:
            return None
        return None if version is None else str(version)

    def look(self) -> Look:
        """Say which boards there are, by the order that NVML has now."""
        count = self._needed(self._pynvml.nvmlDeviceGetCount)
        self._handles = {}
        boards, unread = [], []
        lost = 0
        for index in range(count):
            try:
                boards.append(self._board(index))
            except BoardLostError:
                lost += 1
            except _RefusedError as error:
                unread.append(f"board {index}: {error}")
        return Look(tuple(boards), lost, tuple(unread))

    def _board(self, index: int) -> Board:
        handle = self._ask(self._pynvml.nvmlDeviceGetHandleByIndex, index)
        uuid = str(self._ask(self._pynvml.nvmlDeviceGetUUID, handle))
        if not _UUID.fullmatch(uuid) or not uuid[4:].strip("0-"):
            raise _RefusedError(0, f"{uuid!a} is no identity")
        if uuid in self._handles:
            raise _RefusedError(0, f"{uuid} is another board too")
        self._handles[uuid] = handle
        pci = self._value(self._pynvml.nvmlDeviceGetPciInfo, handle)
        return Board(
            nvml_index=index,
            uuid=uuid,
            pci_bus_id=None if pci is None else str(pci.busId),
            minor=self._value(self._pynvml.nvmlDeviceGetMinorNumber, handle),
            mig=self._mig(handle),
        )

    def _mig(self, handle: Any) -> bool | None:
        try:
            current, _ = self._ask(self._pynvml.nvmlDeviceGetMigMode, handle)
        except _RefusedError as error:
            return False if error.value == _NOT_SUPPORTED else None
        return bool(current == self._pynvml.NVML_DEVICE_MIG_ENABLE)

    def read(self, uuid: str) -> dict[str, int | None]:
        """Read the metrics of a board of the last look."""
        handle = self._handles[uuid]
        util = self._value(self._pynvml.nvmlDeviceGetUtilizationRates, handle)
        power_mw = self._value(self._pynvml.nvmlDeviceGetPowerUsage, handle)
        energy_mj = self._value(self._pynvml.nvmlDeviceGetTotalEnergyConsumption, handle)
        return {
            GPU_UTIL: None if util is None else _number(util.gpu),
            MEMORY_UTIL: None if util is None else _number(util.memory),
            POWER: _number(power_mw),
            ENERGY: _number(energy_mj),
        }

    def _needed(self, call: Callable[..., Any]) -> Any:
        """Ask for that without which nothing is known."""
        try:
            return self._ask(call)
        except (_RefusedError, BoardLostError) as error:
            raise NvmlDownError(str(error)) from error

    def _value(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Ask for what may be absent."""
        try:
            return self._ask(call, *arguments)
        except _RefusedError:
            return None

    def _ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except self._pynvml.NVMLError as error:
            text = str(error).lower()
            if error.value == _LOST:
                raise BoardLostError(text) from error
            if error.value in _DOWN:
                raise NvmlDownError(text) from error
            raise _RefusedError(error.value, text) from error


def _number(value: int | None) -> int | None:
    return None if value is None or value in _NOT_AVAILABLE else int(value)


def open_nvml() -> Nvml:
    """Open the library of this node.

    Raises:
        NvmlExtraMissingError: the package that asks it is not installed.
        NvmlUnusableError: it is not there or does not answer.
    """
    try:
        pynvml = import_module("pynvml")
    except ImportError as error:
        raise NvmlExtraMissingError from error
    library = Nvml(pynvml)
    try:
        library.open()
    except NvmlDownError as error:
        raise NvmlUnusableError(str(error)) from error
    return library
