"""Why a pull ends early; what was sealed before stays, and the pull can be called again."""

from tallystick.core.errors import TallystickError
from tallystick.core.wording import as_printed, quoted

_SAID_MAX = 200


class ServerAwayError(TallystickError):
    """The server could not be reached, or kept failing, however often it was asked."""

    code = "pull_server_away"
    exit_status = 1

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)

    def __str__(self) -> str:
        url, reason = self.args
        return f"no answer from {as_printed(url)}: {reason}; call again to go on"


class ServerRefusedError(TallystickError):
    """The server answered, and does not do what it was asked."""

    code = "pull_refused"
    exit_status = 1

    def __init__(self, url: str, status: int, said: str) -> None:
        super().__init__(url, status, said)

    def __str__(self) -> str:
        url, status, said = self.args
        return f"{as_printed(url)} answered {status}: {quoted(said, _SAID_MAX)}"


class BadAnswerError(TallystickError):
    """An answer breaks off or is not what this kind of server gives."""

    code = "pull_bad_answer"
    exit_status = 1

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)

    def __str__(self) -> str:
        url, reason = self.args
        return f"{as_printed(url)} gave no answer of its kind: {reason}"


class AnswerTooLargeError(TallystickError):
    """Even the shortest stretch of time has more samples than can be held or answered."""

    code = "pull_too_large"
    exit_status = 1

    def __init__(self, match: str, reason: str) -> None:
        super().__init__(match, reason)

    def __str__(self) -> str:
        match, reason = self.args
        return f"{quoted(match)} is too large however short the time: {reason}"


class UnknownServerError(TallystickError):
    """The server is neither Prometheus nor VictoriaMetrics, as far as it tells."""

    code = "pull_unknown_server"

    def __init__(self, url: str) -> None:
        super().__init__(url)

    def __str__(self) -> str:
        return (
            f"expected the API of prometheus or victoriametrics at {as_printed(self.args[0])},"
            " found neither: say --kind if it is one"
        )


class BadUrlError(TallystickError):
    """The address of a server cannot be used."""

    code = "pull_bad_url"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)

    def __str__(self) -> str:
        url, reason = self.args
        return f"cannot use the address {quoted(url)}: {reason}"


class BadQueriesError(TallystickError):
    """A file of queries is not what it should be."""

    code = "pull_bad_queries"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot use the queries {as_printed(path)}: {reason}"
