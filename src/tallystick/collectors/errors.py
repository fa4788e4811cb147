"""Reasons why any collector cannot be called as it was."""

from tallystick.core.errors import TallystickError


class BadClusterError(TallystickError):
    """A cluster name could not stand in an attempt key."""

    code = "bad_cluster"

    def __init__(self, cluster: str) -> None:
        super().__init__(cluster)

    def __str__(self) -> str:
        return f"expected a cluster name without spaces and colons, got {self.args[0]!r}"
