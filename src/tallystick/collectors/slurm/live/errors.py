"""Why a question to a cluster has no answer."""

from tallystick.core.errors import TallystickError


class PollFailedError(TallystickError):
    """The cluster's accounting gave no answer; what was not read is read by the next poll."""

    code = "poll_failed"
    exit_status = 1

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)

    def __str__(self) -> str:
        source, reason = self.args
        return f"{source}: {reason}: nothing was collected, and the next poll asks again"


class BadRestUrlError(TallystickError):
    """An address of slurmrestd is neither http, https nor a unix socket."""

    code = "bad_rest_url"

    def __init__(self, url: str) -> None:
        super().__init__(url)

    def __str__(self) -> str:
        return f"expected http://HOST:PORT, https://HOST:PORT or unix:/PATH, got {self.args[0]!a}"


class BadRestTokenError(TallystickError):
    """A token for slurmrestd, or the name of its user, is not one printable word."""

    code = "bad_rest_token"

    def __str__(self) -> str:
        return "expected a token of slurmrestd, or its user, as one printable word"
