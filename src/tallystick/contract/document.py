"""From the bytes of a contract to the values of its TOML, or the first place that is none.

Bytes that are no TOML have no keys yet, so each refusal here is a single mistake.
"""

import re
import tomllib
from typing import Any, Final

from tallystick.contract.errors import BadContractError, Mistake
from tallystick.contract.locate import dots_in_keys

CONTRACT_BYTES_MAX: Final = 1024 * 1024
KEY_DOTS_MAX: Final = 64

_SYNTAX_PLACE: Final = re.compile(r" \(at (?:line ([0-9]+), column [0-9]+|end of document)\)$")


def contract_text(data: bytes, name: str) -> str:
    """Decode the bytes of a contract.

    Raises:
        BadContractError: they are too many, or not plain UTF-8.
    """
    if len(data) > CONTRACT_BYTES_MAX:
        raise _refusal(None, f"expected at most {CONTRACT_BYTES_MAX} bytes, got more", name)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"expected UTF-8, got byte 0x{data[error.start]:02x}"
        raise _refusal(line, message, name) from error
    if text.startswith("\ufeff"):
        raise _refusal(1, "expected no byte order mark", name)
    return text


def contract_document(text: str, name: str) -> dict[str, Any]:
    """Read the TOML of a contract.

    Raises:
        BadContractError: it is no TOML; the parser names the first place only.
    """
    if dots_in_keys(text) > KEY_DOTS_MAX:  # The parser takes the square of them in time.
        raise _refusal(None, f"expected keys of at most {KEY_DOTS_MAX} dots, got more", name)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise _refusal(None, "expected fewer brackets inside each other", name) from error
    except ValueError as error:  # Also numbers of more digits than Python converts.
        place = _SYNTAX_PLACE.search(str(error))
        line = None
        if place is not None:
            line = int(place[1]) if place[1] else text.count("\n") + 1
        message = f"expected TOML: {_SYNTAX_PLACE.sub('', str(error))}"
        raise _refusal(line, message, name) from error


def _refusal(line: int | None, message: str, name: str) -> BadContractError:
    return BadContractError((Mistake(line, "", message, name),))
