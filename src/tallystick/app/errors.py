"""Errors of the layer that touches files."""

from tallystick.core.errors import TallystickError
from tallystick.core.wording import as_printed


class UnreadableFileError(TallystickError):
    """A file cannot be opened or read: absent, a directory, no permission, a failing disk."""

    code = "unreadable_file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot read {as_printed(path)}: {reason}"


class UnwritableFileError(TallystickError):
    """A result cannot be written; nothing half-written is left behind."""

    code = "unwritable_file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot write {as_printed(path)}: {reason}"


class RunNotFoundError(TallystickError):
    """The evidence says nothing of the run that was asked for."""

    code = "run_not_found"

    def __init__(self, run: str, known: tuple[str, ...]) -> None:
        super().__init__(run, known)

    def __str__(self) -> str:
        run, known = self.args
        shown = ", ".join(ascii(each) for each in known[:20]) or "no run at all"
        more = f" and {len(known) - 20} more" if len(known) > 20 else ""
        return f"no run {run!a} in the evidence, which has {shown}{more}"


class BadSettingsError(TallystickError):
    """The settings of a store are not what they should be."""

    code = "bad_settings"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot use the settings {as_printed(path)}: {reason}"
