"""Shipping from a spool into a store on the same machine."""

from collections.abc import Callable, Sequence

from tallystick.app.admit import clock_us
from tallystick.core.errors import TallystickError
from tallystick.core.finding import InputFinding
from tallystick.emit.post import Answer, NotSentError
from tallystick.stores.delivery import deliver
from tallystick.stores.protocol import Store


def store_sender(store: Store) -> Callable[[Sequence[bytes]], list[Answer]]:
    """Give a sender that admits lines to a store.

    It raises ``NotSentError`` where the store cannot take more; nothing of the batch is kept.
    """

    def send(lines: Sequence[bytes]) -> list[Answer]:
        try:
            answers = deliver(store, lines, clock_us)
        except TallystickError as error:
            raise NotSentError(f"{error.code}: {error}") from error
        return [_answer(each.word, each.finding) for each in answers]

    return send


def _answer(word: str, finding: InputFinding | None) -> Answer:
    if finding is None:
        return Answer(word, None, None)
    return Answer(word, finding.code, finding.message)
