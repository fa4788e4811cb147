"""Reasons why a call, a row or a hook dump cannot be used.

The first four are bad calls and reach the caller. ``BadRowError`` and ``BadHookError`` are bad
data: they are caught where their code and sentence become a finding, and the rest goes on.
"""

from tallystick.core.errors import TallystickError


class BadZoneError(TallystickError):
    """A time zone is not in the IANA database."""

    code = "bad_timezone"

    def __init__(self, zone: str) -> None:
        super().__init__(zone)

    def __str__(self) -> str:
        return f"expected an IANA time zone such as Europe/Berlin or UTC, got {self.args[0]!r}"


class BadCapacityError(TallystickError):
    """A partition is given a capacity that is no word of the format."""

    code = "bad_capacity"

    def __init__(self, partition: str, word: str) -> None:
        super().__init__(partition, word)

    def __str__(self) -> str:
        partition, word = self.args
        return (
            f"capacity of partition {partition!r}: expected spot, on_demand, reserved or unknown, "
            f"got {word!r}"
        )


class BadGpusPerNodeError(TallystickError):
    """A node is said to have no GPU, or fewer."""

    code = "bad_gpus_per_node"

    def __init__(self, gpus_per_node: int) -> None:
        super().__init__(gpus_per_node)

    def __str__(self) -> str:
        return f"expected at least 1 GPU per node, got {self.args[0]}"


class BadGpuTypeError(TallystickError):
    """A GPU type is empty or cannot be printed."""

    code = "bad_gpu_type"

    def __init__(self, gpu_type: str) -> None:
        super().__init__(gpu_type)

    def __str__(self) -> str:
        return f"expected a GPU type such as h100, got {self.args[0]!r}"


class BadRowError(Exception):
    """A row cannot be read, so it gives no record at all."""

    code = "bad_row"

    def __init__(self, subject: str, wanted: str, found: str) -> None:
        super().__init__(subject, wanted, found)

    def __str__(self) -> str:
        subject, wanted, found = self.args
        shown = found if len(found) <= 60 else found[:57] + "..."
        return f"{subject}: expected {wanted}, got {shown!r}"


class BadHookError(Exception):
    """A hook dump does not say which job, which node, which hook, or when."""

    code = "bad_hook"

    def __init__(self, wanted: str, found: str) -> None:
        super().__init__(wanted, found)

    def __str__(self) -> str:
        wanted, found = self.args
        return f"hook dump: expected {wanted}, got {found[:60]!r}"
