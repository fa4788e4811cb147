"""Options that several commands share."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tallystick.emit.settings import FILE

_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)


class SeveralValues(click.Option):
    """An option that takes every value up to the next option: ``--evidence A B C``.

    It may also be repeated; the values are one tuple in the order of the command line. A
    lone ``-`` is a value, and ``--`` ends the values. Arguments of the command therefore
    stand before such an option, or after ``--``, unless ``accepts`` tells them from values.
    """

    def __init__(
        self, *args: Any, accepts: Callable[[str], bool] = lambda _: True, **attributes: Any
    ) -> None:
        super().__init__(*args, **{"metavar": "FILE...", **attributes, "multiple": True})
        self.accepts = accepts

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Have the parser see the option's name before each of its values."""
        super().add_to_parser(parser, ctx)
        parse_args = parser.parse_args

        def parse_repeated(args: list[str]) -> Any:
            return parse_args(list(repeat_name(args, self.opts, self.accepts)))

        parser.parse_args = parse_repeated


def repeat_name(
    args: Sequence[str], names: Sequence[str], accepts: Callable[[str], bool] = lambda _: True
) -> Iterator[str]:
    """Write an option's name again before each value that follows its first one."""
    name: str | None = None
    expects_first = False
    for index, arg in enumerate(args):
        if arg == "--":
            yield from args[index:]
            return
        if arg.startswith("-") and arg != "-":
            stem, equals, _ = arg.partition("=")
            name = stem if stem in names else None
            expects_first = not equals
        elif expects_first:
            expects_first = False
        elif name is not None and accepts(arg):
            yield name
        else:
            name = None
        yield arg


def evidence_option(*, required: bool) -> Callable[[_Command], _Command]:
    """Make the ``--evidence`` option."""
    return click.option(
        "--evidence",
        cls=SeveralValues,
        required=required,
        metavar="FILE.jsonl...",
        help="Evidence, one record a line; - is standard input.",
    )


def contract_option(*, required: bool) -> Callable[[_Command], _Command]:
    """Make the ``--contract`` option."""
    return click.option(
        "--contract",
        "contracts",
        cls=SeveralValues,
        required=required,
        metavar="FILE.toml...",
        help="Versions of one contract.",
    )


def verify_keys_option() -> Callable[[_Command], _Command]:
    """Make the ``--key`` option of commands that check signatures."""
    return click.option(
        "--key",
        "keys",
        cls=SeveralValues,
        metavar="FILE.vkey...",
        help="Public keys to check signatures against.",
    )


def json_option() -> Callable[[_Command], _Command]:
    """Make the ``--json`` flag."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def store_option(*, required: bool = True) -> Callable[[_Command], _Command]:
    """Make the ``--store`` option."""
    return click.option(
        "--store",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="TALLYSTICK_STORE",
        required=required,
        metavar="DIR",
        help="The store; TALLYSTICK_STORE names it too.",
    )


def node_settings_option() -> Callable[[_Command], _Command]:
    """Make the ``--config`` option of commands that read a node's settings."""
    return click.option(
        "--config",
        default=FILE,
        show_default=True,
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Settings of the node.",
    )


def contract_id_option() -> Callable[[_Command], _Command]:
    """Make the ``--contract-id`` option."""
    return click.option(
        "--contract-id",
        metavar="ID",
        help="Which contract of the store, if it has several.",
    )


def say(text: str) -> None:
    """Tell the person at the terminal something that is no result."""
    click.echo(f"tallystick: {text}", err=True)
