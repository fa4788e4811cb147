"""How far long work is, in one line on a terminal that is written over; nothing elsewhere."""

import sys
from types import TracebackType
from typing import Self

import click


class StatusLine:
    """The line, which is wiped away when the work is over, however it ends."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._width:
            click.echo("\r\033[K", nl=False, err=True)

    def show(self, text: str) -> None:
        """Write a text over the last one."""
        if self._shows:
            rest = "\033[K" if len(text) < self._width else ""
            click.echo(f"\r{text}{rest}", nl=False, err=True)
            self._width = len(text)
