"""Seeded random stories: small, nasty evidence with its contracts.

Times come from a coarse grid, so that many events fall on each other and on boundaries.
The same seed gives the same story.
"""

import json
import random
from dataclasses import dataclass

from tests.reference.slow_admission import admit_line
from tests.reference.slow_bodies import RefusedError
from tests.reference.story_attempts import tell_attempt
from tests.reference.story_contracts import contracts
from tests.reference.story_devices import tell_nodes
from tests.reference.story_teller import GPUS, NODES, SECOND, Json, Plan, Teller, text

DEEP = 100_000  # No parser follows a nesting this deep.


@dataclass(frozen=True, slots=True)
class Story:
    """Evidence lines and contract files; `ordered` if the order of lines matters (rule 3)."""

    evidence: list[bytes]
    contracts: list[bytes]
    ordered: bool = False


# -- the whole story -----------------------------------------------------------------------


def story(rng: random.Random) -> Story:
    """Give one story."""
    teller = Teller(rng, sloppy=rng.random() < 0.25)
    plans: list[Plan] = []
    for index in range(rng.choice((1, 1, 2, 2, 3, 4))):
        own = plan_run(rng, f"run-{index}", most=rng.choice((1, 2, 2, 3, 4)))
        tell_run(teller, f"run-{index}", own)
        plans += own
    for plan in plans:
        tell_attempt(teller, plan)
    tell_nodes(teller, plans)
    tell_aliases(teller, plans)
    tell_strangers(teller, plans)
    tell_bad_lines(teller, plans)
    tell_conflicts(teller)
    rng.shuffle(teller.lines)
    return Story(teller.lines, contracts(rng), teller.ordered)


def plan_run(rng: random.Random, run: str, most: int) -> list[Plan]:
    """Give the attempts of a run, mostly one after another."""
    at = rng.choice((0, 0, 0, 300, 600)) * SECOND
    plans = []
    for index in range(most):
        length = rng.choice((0, 60, 61, 90, 300, 300, 599, 600, 600, 900, 1200, -60)) * SECOND
        gpus = [
            (gpu, node)
            for node in rng.sample(NODES, rng.choice((1, 1, 2)))
            for gpu in rng.sample(GPUS[node], rng.randint(1, min(3, len(GPUS[node]))))
        ]
        plans.append(Plan(f"{run}/{index}", run, at, at + length, gpus))
        at += length + rng.choice((0, 0, 30, 60, 300, -60)) * SECOND
        at = max(at, 0)
    return plans


def tell_run(teller: Teller, run: str, plans: list[Plan]) -> None:
    """Declare, accept, reject, adjust."""
    rng = teller.rng
    for _ in range(rng.choice((0, 1, 1, 2))):
        body: Json = {"run": run, "job_class": rng.choice(("pretrain", "eval", None))}
        teller.tell("run.declared", rng.choice((0, 60, 300)) * SECOND, body)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        kind = rng.choice(("output.accepted", "output.accepted", "output.rejected"))
        at = rng.choice([plan.grid(rng) for plan in plans] + [3000 * SECOND])
        teller.tell(kind, at, {"run": run, "by": "judge", "criterion": "loss"})
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        teller.tell(
            "decision.adjustment",
            rng.choice((5000, 5000, 6000)) * SECOND,
            {
                "run": run,
                "amount": rng.choice(("-1.25", "0.37", "5", "-0.005", "0.125", "-100.00")),
                "currency": rng.choice(("USD", "USD", "USD", "JPY", "KWD", "EUR")),
                "clause": rng.choice(("9.8", "9.9")),
                "by": "both",
                "note": "agreed",
            },
            "billing",
        )


# -- what does not fit ---------------------------------------------------------------------


def tell_aliases(teller: Teller, plans: list[Plan]) -> None:
    """Name some attempts differently in some records (FORMATS 9.1)."""
    rng = teller.rng
    if not teller.chance(0.25):
        return
    for plan in rng.sample(plans, min(2, len(plans))):
        alias = f"{plan.key}@hook"
        middle = f"{plan.key}@mid" if teller.chance(0.3) else plan.key
        teller.tell("attempt.same", None, {"attempt": alias, "same_as": middle})
        if middle != plan.key:
            teller.tell("attempt.same", None, {"attempt": middle, "same_as": plan.key})
        old, new = (f'"attempt":"{name}"'.encode() for name in (plan.key, alias))
        teller.lines = [
            line.replace(old, new) if teller.chance(0.3) and b"attempt.same" not in line else line
            for line in teller.lines
        ]
        if teller.chance(0.15):  # A second target, or a way round in a circle.
            first, other = rng.choice(((alias, rng.choice(plans).key), (plan.key, alias)))
            teller.tell("attempt.same", None, {"attempt": first, "same_as": other})


def tell_strangers(teller: Teller, plans: list[Plan]) -> None:
    """Speak of attempts and runs that nobody knows, and of kinds that have no meaning."""
    rng = teller.rng
    if teller.chance(0.15):
        body: Json = {"attempt": "nobody/0", "step": 1, "every": 1}
        teller.tell("progress.step", 60 * SECOND, body)
    if teller.chance(0.1):
        body = {"run": "run-nobody", "by": "judge", "criterion": "loss"}
        teller.tell("output.accepted", 60 * SECOND, body)
    if teller.chance(0.2):
        body = {"attempt": plans[0].key, "run": "run-nowhere", "rpm": "4100"}
        teller.tell(rng.choice(("telemetry.fan_speed", "receipt.issued")), None, body)
    if teller.chance(0.1):
        body = {"scheduler": "slurm", "cluster": "c1", "raw": {}, "resolution_us": 1_000_000}
        teller.tell("allocation.row", None, body)


BAD = (
    ('"step":7', '"step":NaN', "bad_json"),
    ('"every":1}}', '"every":1}', "bad_json"),
    ("{", "\ufeff{", "bad_json"),
    ('"every":1}}', '"every":1}} x', "bad_json"),
    ('"step":7', '"step":7,"step":8', "duplicate_key"),
    ('"step":7', '"step":7,"st\\u00e9p":8', "bad_key"),
    ('"step":7', '"step":7,"note":"\\ud800"', "bad_string"),
    ('"step":7', '"step":7.0', "float_refused"),
    ('"step":7', '"step":7e0', "float_refused"),
    ('"step":7', '"step":9007199254740992', "integer_out_of_range"),
    ('"step":7', '"step":-9007199254740992', "integer_out_of_range"),
    ("evidence/1", "evidence/2", "bad_record"),
    ('"kind":', '"kinds":', "bad_record"),
    ('"at":"2026', '"at":7,"past":"2026', "bad_record"),
    ('"body":{', '"body":[],"other":{', "bad_record"),
    ("00Z", "00+00:00", "bad_time"),
    ("2026-03-01T", "2026-02-29T", "bad_time"),
    (":00.0", ":60.0", "bad_time"),
    ("T00:", "t00:", "bad_time"),
    ('"step":7,', "", "bad_body"),
    ('"step":7', '"step":true', "bad_body"),
    ('"step":7', '"step":"7"', "bad_body"),
    ('"step":7', '"step":null', "bad_body"),
    ('"attempt":"', '"attempt":"\\u0007', "bad_body"),
    ('"at":"2026-03-01T00:01:00.000000Z"', '"at":null', "time_missing"),
)


def bad_line(rng: random.Random, attempt: str, seq: int) -> tuple[bytes, str]:
    """Give a line that is refused, and the code for which it is."""
    good = json.dumps(
        {
            "schema": "tallystick.evidence/1",
            "id": f"bad{seq}",
            "producer": {"name": "trainer", "boot": "b1", "seq": seq},
            "kind": "progress.step",
            "at": text(60 * SECOND),
            "observed": text(60 * SECOND),
            "body": {"attempt": attempt, "step": 7, "every": 1},
        },
        separators=(",", ":"),
    )
    old, new, code = rng.choice(BAD)
    choices = (
        (good.replace(old, new, 1).encode("utf-8"), code),
        (b"[" + good.encode() + b"]", "not_an_object"),
        (good.encode().replace(b'"every"', b'"\xff"'), "bad_json"),
        (good.encode().replace(b"7", b"[" * DEEP + b"]" * DEEP), "bad_json"),
    )
    return rng.choices(choices, (60, 3, 3, 1))[0]


def tell_bad_lines(teller: Teller, plans: list[Plan]) -> None:
    """Write lines that are refused, blank ones, and records of every wrong shape."""
    rng = teller.rng
    for index in range(rng.choice((0, 0, 1, 3))):
        line, _ = bad_line(rng, rng.choice(plans).key, teller.seqs.get("trainer", 0) + index + 1)
        teller.lines.append(line)
    if teller.chance(0.1):
        teller.lines.append(rng.choice((b"", b"  \t\r", b" ")))
    if teller.chance(0.2):
        line = rng.choice(teller.lines)
        teller.lines.append(line + rng.choice((b"\r", b"  ")))


def tell_conflicts(teller: Teller) -> None:
    """Give two records one identity: then the order of lines matters."""
    if not teller.chance(0.1):
        return
    for _ in range(teller.rng.choice((1, 1, 3))):
        line = teller.rng.choice(teller.lines)
        try:
            admit_line(line)
        except RefusedError:
            continue
        record = json.loads(line)
        other = json.loads(teller.rng.choice([one for one in teller.lines if admitted(one)]))
        changed = other | {"id": record["id"], "producer": record["producer"], "note": "other"}
        teller.lines.append(json.dumps(changed, separators=(",", ":")).encode())
        teller.ordered = True


def admitted(line: bytes) -> bool:
    """Whether a line would be admitted."""
    try:
        admit_line(line)
    except RefusedError:
        return False
    return True


# -- other deliveries of the same story ----------------------------------------------------


def shuffled(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    """Give each line one to three times in any order; for stories that are not `ordered`.

    A copy may have been seen at another time by a restarted producer. Each such copy has a
    boot of its own, so that no number goes missing between two of them.
    """
    result = []
    for place, line in enumerate(lines):
        result.append(line)
        for copy in range(rng.choice((0, 0, 1, 2))):
            again = line
            if rng.random() < 0.5 and admitted(line):
                record = json.loads(line)
                record["observed"] = text(9000 * SECOND + copy)
                if rng.random() < 0.5:
                    record["producer"]["boot"] = f"copy{place}.{copy}"
                elif rng.random() < 0.5:
                    record["producer"].pop("seq", None)
                again = json.dumps(record, separators=(",", ":")).encode()
            result.append(again)
    rng.shuffle(result)
    return result
