"""Windows: which GPU is looked at, when, and how far its samples reach, as columns.

Windows may overlap, as those of shared GPUs and MIG slices do. Times are int64 microseconds
within bounds that let every sum and difference of them fit in 64 bits; making windows checks
this once, so that the arithmetic on them need not.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tallystick.core.errors import TallystickError

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int64] | npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Far beyond the calendar on both sides of the epoch.
TIME_MAX_US = 1 << 60


# Codes are counted, so that arrays over them stay small.
GPU_MAX = 1 << 31


class WindowsOutOfRangeError(TallystickError):
    """A window is empty, or a bound of it does not fit the arithmetic."""

    code = "windows_out_of_range"

    def __init__(self, wrong: int) -> None:
        super().__init__(wrong)

    def __str__(self) -> str:
        return (
            "windows must have a GPU code and a reach of 0 or more, end after their start and lie "
            f"within {TIME_MAX_US} us of the epoch, got {self.args[0]} of another kind"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Windows as columns of one length; a window is named by its place.

    ``gpu`` is a code that counts from 0 over the GPUs that are looked at together.

    Raises:
        WindowsOutOfRangeError: a window is empty or not within the bounds.
    """

    gpu: Ints
    start_us: Ints
    end_us: Ints
    reach_us: Ints

    def __post_init__(self) -> None:
        wrong = (self.gpu < 0) | (self.reach_us < 0) | (self.reach_us > TIME_MAX_US)
        wrong |= (self.start_us >= self.end_us) | (self.gpu > GPU_MAX)
        wrong |= (self.start_us < -TIME_MAX_US) | (self.end_us > TIME_MAX_US)
        if wrong.any():
            raise WindowsOutOfRangeError(int(wrong.sum()))

    def __len__(self) -> int:
        return len(self.gpu)

    def take(self, places: Places) -> "Windows":
        """Choose windows by their places."""
        columns = (self.gpu, self.start_us, self.end_us, self.reach_us)
        return Windows(*(column[places] for column in columns))
