"""Reading what ``dcgmi`` prints: statistics, the device list and error messages.

One text may hold several prints, in any order. Statistics come in blocks, one for each GPU
with ``-v``, otherwise one ``Summary`` that is a sum over GPUs and belongs to none. Only the
sections about the GPU itself are read: those about processes use similar labels.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_BLOCK = re.compile(r"\|\s*GPU ID:\s*([0-9]{1,9})\s*\|")
_SUMMARY = re.compile(r"\|\s*Summary\s*\|")
_DEVICE_LIST = re.compile(r"\|\s*GPU ID\s*\|\s*Device Information\s*\|")
_ROW = re.compile(r"\|([^|]*)\|([^|]*)\|")
_SECTION = re.compile(r"[+|]-+\s+(\S[^|+]*?)\s+-+[+|].*")
_BAR = re.compile(r"\+[-=+]*\+")
_INDEX = re.compile(r"[0-9]{1,9}")
_DEVICE_UUID = re.compile(r"Device UUID:\s*(\S+)")
_ERROR = re.compile(r"error\b.*|.*\bReturn: .*", re.IGNORECASE)
_RETRIEVED = "Successfully retrieved statistics"
_OWN_SECTIONS = ("Execution Stats", "Performance Stats")


class GpuBlock(NamedTuple):
    """What one print says of one GPU; not ``whole`` if the text breaks off within it."""

    gpu_index: int
    line: int
    rows: Mapping[str, str]
    whole: bool


class Report(NamedTuple):
    """What one text holds; errors with their lines, devices as pairs of index and UUID."""

    has_statistics: bool
    blocks: tuple[GpuBlock, ...]
    devices: tuple[tuple[int, str], ...]
    has_device_list: bool
    errors: tuple[tuple[int, str], ...]

    @property
    def is_empty(self) -> bool:
        """Whether the text is nothing that ``dcgmi`` prints."""
        return not (self.has_statistics or self.has_device_list or self.errors)


class _Reader:
    def __init__(self) -> None:
        self.has_statistics = False
        self.has_device_list = False
        self.blocks: list[GpuBlock] = []
        self.devices: list[tuple[int, str]] = []
        self.errors: list[tuple[int, str]] = []
        self._block: GpuBlock | None = None
        self._rows: dict[str, str] = {}
        self._section: str | None = None
        self._device: int | None = None
        self._listing = False

    def read(self, number: int, line: str) -> None:
        """Read one line; what starts a table ends the one before it."""
        if match := _BLOCK.fullmatch(line):
            self.leave(whole=False)
            self.has_statistics = True
            self._rows = {}
            self._block = GpuBlock(int(match[1]), number, self._rows, whole=True)
        elif _SUMMARY.fullmatch(line) or line.startswith(_RETRIEVED):
            self.leave(whole=False)
            self.has_statistics = True
        elif _DEVICE_LIST.fullmatch(line):
            self.leave(whole=False)
            self.has_device_list = self._listing = True
        elif match := _SECTION.fullmatch(line):
            self._section = match[1]
        elif _BAR.fullmatch(line):
            if self._rows:
                self.leave(whole=True)
        elif match := _ROW.fullmatch(line):
            self._read_row(match[1].strip(), match[2].strip())
        elif _ERROR.fullmatch(line):
            self.errors.append((number, line))

    def _read_row(self, label: str, value: str) -> None:
        if self._block is not None:
            if self._section in _OWN_SECTIONS:
                self._rows.setdefault(label, value)
        elif self._listing:
            if label:  # Anything but an index is the head of a list of something else.
                self._listing = _INDEX.fullmatch(label) is not None
                self._device = int(label) if self._listing else None
            match = _DEVICE_UUID.fullmatch(value)
            if match and self._device is not None:
                self.devices.append((self._device, match[1]))

    def leave(self, *, whole: bool) -> None:
        """End the table that is being read, if any."""
        if self._block is not None:
            block = self._block
            self.blocks.append(GpuBlock(block.gpu_index, block.line, self._rows, whole))
        self._block, self._section, self._device = None, None, None
        self._rows, self._listing = {}, False


def read_report(text: str) -> Report:
    """Read a text that may hold anything that ``dcgmi`` prints."""
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), start=1):
        reader.read(number, line.strip())
    reader.leave(whole=False)
    return Report(
        has_statistics=reader.has_statistics,
        blocks=tuple(reader.blocks),
        devices=tuple(reader.devices),
        has_device_list=reader.has_device_list,
        errors=tuple(reader.errors),
    )
