"""Errors of the layer that touches files."""

from tallystick.core.errors import TallystickError


class UnreadableFileError(TallystickError):
    """A file cannot be opened or read: absent, a directory, no permission, a failing disk."""

    code = "unreadable_file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot read {path}: {reason}"


class UnwritableFileError(TallystickError):
    """A result cannot be written; nothing half-written is left behind."""

    code = "unwritable_file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot write {path}: {reason}"
