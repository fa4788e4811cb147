"""What can be wrong with contracts: mistakes in a file, and files that do not go together."""

from typing import NamedTuple

from tallystick.core.errors import TallystickError
from tallystick.core.wording import as_printed


class Mistake(NamedTuple):
    """One thing that a contract states wrongly or not at all."""

    line: int | None
    """The 1-based line of the key, None if nothing in the file stands for it."""
    key: str
    """Where it is, such as ``rate[1].per_hour``: the price of the first rate."""
    message: str
    source: str = "contract"
    """The file's name."""

    @property
    def text(self) -> str:
        """The mistake in one line."""
        source = as_printed(self.source)
        place = source if self.line is None else f"{source}:{self.line}"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class BadContractError(TallystickError):
    """A contract cannot be used: it is no TOML, or states terms wrongly or not at all."""

    code = "bad_contract"

    def __init__(self, mistakes: tuple[Mistake, ...]) -> None:
        super().__init__(mistakes)

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """Every mistake, by file and line."""
        mistakes: tuple[Mistake, ...] = self.args[0]
        return mistakes

    def __str__(self) -> str:
        if len(self.mistakes) == 1:
            return self.mistakes[0].text
        sources = ", ".join(dict.fromkeys(mistake.source for mistake in self.mistakes))
        heading = f"{sources}: {len(self.mistakes)} mistakes"
        return "\n".join([heading, *(mistake.text for mistake in self.mistakes)])


class NoContractGivenError(TallystickError):
    """There is no contract to rate by."""

    code = "no_contract_given"

    def __str__(self) -> str:
        return "expected at least one contract, got none"


class _ContractMismatchError(TallystickError):
    """Two contracts that cannot be versions of one differ in a term."""

    term: str

    def __init__(self, name: str, value: str, other_name: str, other_value: str) -> None:
        super().__init__(name, value, other_name, other_value)

    def __str__(self) -> str:
        name, value, other_name, other_value = self.args
        return (
            f"contracts must share one {self.term}, "
            f"got {value!r} in {name} and {other_value!r} in {other_name}"
        )


class ContractIdMismatchError(_ContractMismatchError):
    """The contracts of one call are versions of different contracts."""

    code = "contract_id_mismatch"
    term = "id"


class ContractCurrencyMismatchError(_ContractMismatchError):
    """The versions of a contract are in different currencies."""

    code = "contract_currency_mismatch"
    term = "currency"


class ContractUnitMismatchError(_ContractMismatchError):
    """The versions of a contract meter different units."""

    code = "contract_unit_mismatch"
    term = "unit"


class ContractVersionClashError(TallystickError):
    """Two different files claim to be the same version of a contract."""

    code = "contract_version_clash"

    def __init__(self, name: str, digest: str, other_digest: str) -> None:
        super().__init__(name, digest, other_digest)

    def __str__(self) -> str:
        name, digest, other_digest = self.args
        return f"a version must be one file, got two for {name}: {digest} and {other_digest}"
