"""What a process does in a store, step by step, and says as soon as it may be relied on.

Everything follows from the name of the work: the same name does the same steps with the same
bytes. A further step is one function here, and the word that it says one in ``promises``.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallystick.app.store import SCHEMA, SETTINGS, OpenStore, init_store
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.draft import draft_record
from tallystick.evidence.leaf import leaf_bytes
from tallystick.evidence.record import content_digest
from tallystick.stores.delivery import Answer, deliver
from tallystick.stores.sqlite import rows
from tests.faults.promises import BATCH_KIND, Promise

ORIGIN = "log.example/faults"

SETTLE_LEAVES = 64
"""How often the tests have identities entered into their table: often enough to be hit."""

_BATCH_RECORDS_MAX = 24
_PAD_BYTES_MAX = 900
_EPOCH_US = 1_767_225_600_000_000
_YEAR_US = 365 * 86_400 * 1_000_000

HEAD = "store.head"

Say = Callable[[Promise], None]


@dataclass(slots=True)
class Work:
    """A work in progress: where, under which name, and how far it has come.

    What it works with beside its store lies in the folder that the store is in.
    """

    store: OpenStore
    name: str
    say: Say
    batches: int = 0
    runs: int = 0
    chance: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.chance.seed(self.name)


Step = Callable[[Work], None]


def settle_often() -> None:
    """Have this process enter identities into their table after a few leaves, not many."""
    rows.SETTLE_LEAVES = SETTLE_LEAVES


def work(at: Work, steps: Sequence[Step]) -> Iterator[Step]:
    """Take steps without end; gives each when it is done."""
    while True:
        step = at.chance.choice(steps)
        step(at)
        yield step


def new_store(folder: Path) -> None:
    """Make a store with its head beside it; both can be copied elsewhere together."""
    init_store(folder / "store", ORIGIN)
    settings = f'schema = "{SCHEMA}"\nissued_head = "../{HEAD}"\n'
    (folder / "store" / SETTINGS).write_text(settings, encoding="utf-8")


# -- records -------------------------------------------------------------------------------


def batch(name: str, number: int) -> list[bytes]:
    """Give the records of a batch, as canonical lines; each says which batch it belongs to."""
    made = random.Random(f"{name}/{number}")  # noqa: S311 (it makes up evidence, no secret)
    count = made.randint(1, _BATCH_RECORDS_MAX)
    stated = {"batch": f"{name}/{number}", "of": count}
    return [
        canonical_bytes(_record(name, stated | {"place": place, "pad": _pad(made)}))
        for place in range(count)
    ]


def _record(name: str, body: dict[str, Any]) -> dict[str, Any]:
    observed_us = _EPOCH_US
    return draft_record(BATCH_KIND, body, producer=name, at_us=None, observed_us=observed_us)


def _pad(made: random.Random) -> str:
    return made.choice("abc") * made.randint(0, _PAD_BYTES_MAX)


# -- steps ---------------------------------------------------------------------------------


def admit(at: Work) -> None:
    """Admit a new batch."""
    lines = batch(at.name, at.batches)
    at.batches += 1
    admit_lines(at, lines)


def admit_again(at: Work) -> None:
    """Deliver once more what was delivered, with a record that conflicts and one that is none."""
    if not at.batches:
        return
    known = batch(at.name, at.chance.randrange(at.batches))
    other = json.loads(known[0])
    other["body"]["pad"] = f"changed {at.chance.random()}"
    admit_lines(at, [*known, canonical_bytes(other), b"no record"])


def admit_lines(at: Work, lines: Sequence[bytes]) -> None:
    """Deliver lines at any time of some year, so that the clock steps back as well as on."""
    now_us = _EPOCH_US + at.chance.randrange(_YEAR_US)
    answers = deliver(at.store.log, lines, lambda: now_us)
    for line, answer in zip(lines, answers, strict=True):
        at.say(_promise(line, answer, now_us))


def _promise(line: bytes, answer: Answer, now_us: int) -> Promise:
    if answer.word == "accepted":
        return Promise("leaf", [answer.leaf, leaf_bytes(line, now_us).decode()])
    if answer.word == "exists":
        return Promise("record", [answer.leaf, line.decode()])
    digest = answer.finding and answer.finding.digest
    if answer.word == "conflict":
        return Promise("remark", ["delivery.conflict", content_digest(json.loads(line))])
    return Promise("remark", ["delivery.refused", digest])


def sign(at: Work) -> None:
    """Sign the head of what is there."""
    at.say(Promise("head", at.store.issue_head().decode()))


LOG_STEPS: tuple[Step, ...] = (admit, admit, admit_again, sign)
"""What touches the log and its head, and of receipts and telemetry nothing."""
