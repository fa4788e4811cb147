"""How collecting into a store looks: progress on a terminal, answers, counts, findings."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

import click

from tallystick.app.admit import WORDS, Admission, Answered
from tallystick.cli.findings import finding_sentence
from tallystick.core.canonical import canonical_bytes

_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)


def answers_option() -> Callable[[_Command], _Command]:
    """Make the ``--answers`` flag."""
    return click.option(
        "--answers",
        is_flag=True,
        help="Print for each record what became of it, as a JSON line.",
    )


class Watch:
    """Sees every batch that was admitted, shows progress, and prints the answers."""

    def __init__(self, records: int | None, *, with_answers: bool) -> None:
        self._records = records
        self._with_answers = with_answers
        self._done = 0
        self._shows = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shows and self._done:
            click.echo("\r\033[K", nl=False, err=True)

    def saw(self, batch: list[Answered]) -> None:
        """Take a batch; its answers are durable, so they may be told."""
        self._done += len(batch)
        if self._shows:
            of = "" if self._records is None else f" of {self._records}"
            click.echo(f"\r{self._done}{of} records", nl=False, err=True)
        if self._with_answers:
            click.echo(b"\n".join(map(_answer_json, batch)))


def print_admission(admission: Admission, *, as_json: bool) -> None:
    """Print what became of all records."""
    if as_json:
        click.echo(canonical_bytes(admission.to_json()))
        return
    counts = "  ".join(f"{word} {admission.counts[word]}" for word in WORDS)
    click.echo(f"{counts}  findings {len(admission.findings)}")
    click.echo(f"the log has {admission.size} records")
    for finding in admission.findings:
        click.echo(finding_sentence(finding), err=True)


def _answer_json(answered: Answered) -> bytes:
    line, answer = answered
    stated = {
        "file": line.file,
        "line": line.number,
        "answer": answer.word,
        "leaf": answer.leaf,
        "code": None if answer.finding is None else answer.finding.code,
    }
    return canonical_bytes({name: value for name, value in stated.items() if value is not None})
