"""Why NVML cannot be asked at all."""

from tallystick.core.errors import TallystickError


class NvmlExtraMissingError(TallystickError):
    """The Python package that asks NVML is not installed."""

    code = "nvml_extra_missing"

    def __str__(self) -> str:
        return "sampling GPUs needs the extra: pip install 'tallystick[nvml]'"


class NvmlUnusableError(TallystickError):
    """The driver's library is not there, or does not answer when sampling begins."""

    code = "nvml_unusable"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"cannot ask NVML: {self.args[0]}"


class NvmlDownError(Exception):
    """NVML says nothing of any board; it has to be opened again."""


class BoardLostError(Exception):
    """NVML says that a board has fallen off the bus or is otherwise inaccessible."""
