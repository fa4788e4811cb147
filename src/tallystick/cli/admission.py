"""How collecting into a store looks: progress on a terminal, answers, counts, findings."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tallystick.app.admit import WORDS, Admission, Answered
from tallystick.cli.findings import finding_sentence
from tallystick.cli.status_line import StatusLine
from tallystick.core.canonical import canonical_bytes

_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)


def answers_option() -> Callable[[_Command], _Command]:
    """Make the ``--answers`` flag."""
    return click.option(
        "--answers",
        is_flag=True,
        help="Print for each record what became of it, as a JSON line.",
    )


class Watch(StatusLine):
    """Sees every batch that was admitted, shows progress, and prints the answers."""

    def __init__(self, records: int | None, *, with_answers: bool) -> None:
        super().__init__()
        self._records = records
        self._with_answers = with_answers
        self._done = 0

    def saw(self, batch: list[Answered]) -> None:
        """Take a batch; its answers are durable, so they may be told."""
        self._done += len(batch)
        of = "" if self._records is None else f" of {self._records}"
        self.show(f"{self._done}{of} records")
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
