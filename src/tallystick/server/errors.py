"""Why a server cannot start."""

from tallystick.core.errors import TallystickError
from tallystick.core.wording import as_printed


class ServeExtraMissingError(TallystickError):
    """The libraries of the server are not installed."""

    code = "serve_extra_missing"

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __str__(self) -> str:
        return f"{self.args[0]} is not installed: pip install 'tallystick[serve]'"


class CannotListenError(TallystickError):
    """An address cannot be listened on: in use, not of this machine, not allowed."""

    code = "cannot_listen"

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(host, port, reason)

    def __str__(self) -> str:
        host, port, reason = self.args
        return f"cannot listen on {as_printed(host)} port {port}: {reason}"


class TlsUnusableError(TallystickError):
    """The certificate or its key cannot be read, or they do not belong together."""

    code = "tls_unusable"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot use the certificate {as_printed(path)}: {reason}"
