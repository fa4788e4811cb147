"""What can be wrong with tokens, and with the files that know them."""

from tallystick.core.errors import TallystickError
from tallystick.core.wording import as_printed


class BadTokenError(TallystickError):
    """A token was to be made with a name, producers or an expiry that cannot be."""

    code = "bad_token"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"cannot make such a token: {self.args[0]}"


class TokenNotFoundError(TallystickError):
    """No token has the id that was named."""

    code = "token_not_found"

    def __init__(self, token_id: str) -> None:
        super().__init__(token_id)

    def __str__(self) -> str:
        return f"no token {self.args[0][:80]!a}: see `tallystick serve token list`"


class TokenRejectedError(TallystickError):
    """A token is not one of ours, has expired, or was revoked."""

    code = "token_rejected"
    exit_status = 1

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"the token {self.args[0]}"


class TokensUnusableError(TallystickError):
    """The list of the tokens, or the secret that they are hashed under, cannot be used."""

    code = "tokens_unusable"
    exit_status = 1

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot use the tokens in {as_printed(path)}: {reason}"
