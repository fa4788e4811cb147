"""A second, slow reading of the rules: `rate` as FORMATS 1 to 8 has it, to compare with.

Only the standard library is used, nothing of tallystick; each function cites the rule that
it follows. Clarity goes before speed: every attempt is cut into elementary pieces.

    python tests/reference/slow_rate.py rate --evidence FILE... --contract FILE... [--run ID]
"""

import argparse
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

if not __package__:  # Run as a script: the folder above `tests` is where imports begin.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.reference.slow_admission import Admitted, Record, admit
from tests.reference.slow_attempts import Attempt, Run, build_runs
from tests.reference.slow_bill import Bill, bill
from tests.reference.slow_bodies import Json
from tests.reference.slow_contract import MisuseError, Version, in_force, load
from tests.reference.slow_coverage import GpuCoverage, cover
from tests.reference.slow_lanes import Piece, allocation_lane, lives_of, merged, progress_lane
from tests.reference.slow_money import seconds, time_text
from tests.reference.slow_progress import (
    add_progress_codes,
    bounded,
    interruption,
    last_valid,
    lost_gpu_us,
    replayed,
    steps_completed,
)

Lanes = tuple[list[Piece], list[Piece], list[GpuCoverage]]
CLASSES = (
    "starting",
    "advancing",
    "replaying",
    "discarded",
    "saving",
    "waiting",
    "mixed",
    "unknown",
)


def rate(
    evidence: list[bytes], contracts: list[bytes], run: str | None = None
) -> tuple[dict[str, Any], int]:
    """Give the output object and the exit status: 0 with a receipt, 1 with none, 2 misuse."""
    try:
        versions = load(contracts)
    except MisuseError:
        return {"receipts": [], "findings": []}, 2
    admitted = admit(evidence)
    runs, unknown = build_runs(admitted)
    receipts = [
        receipt(one, admitted.records, versions)
        for one in runs
        if run is None or one.id == run  # Rule 66: `--run` filters receipts only.
    ]
    output = {"receipts": receipts, "findings": outer_findings(admitted, unknown)}
    return output, 0 if receipts else 1


def outer_findings(admitted: Admitted, unknown: list[tuple[str, str]]) -> list[Json]:
    """Rules 1 and 9: line findings in input order, then aliases and names, by name."""
    return [
        *admitted.line_findings,
        *(
            {"code": "alias_conflict", "message": "alias ignored", "attempt": name}
            for name in admitted.alias_conflicts
        ),
        *(
            {"code": code, "message": "named, never started", code.removeprefix("unknown_"): name}
            for code, name in unknown
        ),
    ]


def receipt(run: Run, records: tuple[Record, ...], versions: list[Version]) -> Json:
    """F7: the predicate of one run."""
    lives = lives_of(run)
    lanes: dict[str, Lanes] = {}
    for attempt in run.attempts:
        force = in_force(versions, attempt.start)
        factor = Fraction(5, 2) if force is None else force.gap_factor  # Rule 23.
        own = [life for life in lives if life.attempt is attempt]
        lanes[attempt.key] = (
            allocation_lane(attempt),
            progress_lane(attempt, own),
            cover(attempt, records, factor),
        )
    add_progress_codes(run, lives)
    billed = bill(run, lanes, versions)
    return {
        "schema": "tallystick.receipt/1",
        "kernel": "1",
        "run": {"id": run.id, "job_class": run.job_class, "accepted": run.accepted},
        "revision": 1,
        "supersedes": None,
        "contracts": [
            {"id": one.id, "version": one.version, "digest": one.digest} for one in billed.versions
        ],
        "log": None,
        "attempts": [print_attempt(one) for one in run.attempts],
        "coverage": [
            print_coverage(attempt, one)
            for attempt in run.attempts
            for one in lanes[attempt.key][2]
        ],
        "progress": print_progress(run, lanes),
        "usage": billed.usage,
        "lines": billed.lines,
        "timeline": [
            {
                "attempt": attempt.key,
                "allocation": print_lane(lanes[attempt.key][0]),
                "progress": print_lane(lanes[attempt.key][1]),
            }
            for attempt in run.attempts
        ],
        "totals": billed.totals,
        "findings": print_findings(run, billed),
    }


def print_attempt(attempt: Attempt) -> Json:
    """F7, `attempts`."""
    notice, wait = attempt.notice_us, attempt.wait_us
    return {
        "attempt": attempt.key,
        "start": time_text(attempt.start),
        "end": None if attempt.end is None else time_text(attempt.end),
        "gpus": attempt.gpus,
        "gpu_uuids": list(attempt.uuids),
        "gpu_type": attempt.stated["gpu_type"],
        "capacity": attempt.stated["capacity"],
        "ended_by": attempt.ended_by,
        "notice_seconds": None if notice is None else seconds(notice),
        "replacement_wait_seconds": None if wait is None else seconds(wait),
    }


def print_coverage(attempt: Attempt, coverage: GpuCoverage) -> Json:
    """F7, `coverage`; rule 28 for a GPU without UUID."""
    return {
        "attempt": attempt.key,
        "gpu": coverage.gpu,
        "observed_seconds": seconds(sum(end - start for start, end in coverage.observed)),
        "gaps": [
            {"start": time_text(gap.start), "end": time_text(gap.end), "reason": gap.reason}
            for gap in coverage.gaps
        ],
    }


def print_lane(lane: list[Piece]) -> list[Json]:
    """F7, `timeline`: equal neighbours merged."""
    return [
        {"start": time_text(piece.start), "end": time_text(piece.end), "class": piece.name}
        for piece in merged(lane)
    ]


def print_progress(run: Run, lanes: dict[str, Lanes]) -> Json:
    """F7, `progress`; rule 67 for the lost GPU time."""
    lives = lives_of(run)
    totals = dict.fromkeys(CLASSES, 0)
    for attempt in run.attempts:
        for piece in lanes[attempt.key][1]:
            name = piece.name.partition(":")[0]
            totals[name] += (piece.end - piece.start) * attempt.gpus
    low, high = lost_gpu_us(run, {key: lane[1] for key, lane in lanes.items()})
    return {
        "steps_completed": steps_completed(lives),
        "last_valid_checkpoint": last_valid(run),
        "interruptions": [
            interruption(index, run, lives)
            for index, attempt in enumerate(run.attempts)
            if attempt.interrupted
        ],
        "replayed_steps": replayed(run, lives),
        "gpu_seconds": {name: seconds(total) for name, total in totals.items()},
        "lost_gpu_seconds": bounded(seconds(low), seconds(high)),
    }


def print_findings(run: Run, billed: Bill) -> list[Json]:
    """Rule 64: by code, then attempt, null first; once each but for records and producers."""
    once = {(code, attempt.key) for attempt in run.attempts for code in attempt.codes}
    every: list[tuple[str, str | None]] = [*once, *run.findings, *billed.findings]
    every.sort(key=lambda one: (one[0], one[1] is not None, one[1] or ""))
    return [{"code": code, "message": "", "attempt": key} for code, key in every]


def main(arguments: list[str] | None = None) -> int:
    """Rate files and print one JSON object."""
    parser = argparse.ArgumentParser(prog="slow_rate")
    command = parser.add_subparsers(dest="command", required=True).add_parser("rate")
    command.add_argument("--evidence", nargs="+", required=True)
    command.add_argument("--contract", nargs="+", required=True)
    command.add_argument("--run")
    command.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        evidence, contracts = (
            [sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes() for name in names]
            for names in (options.evidence, options.contract)
        )
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    output, status = rate(evidence, contracts, options.run)
    if status == 2:
        sys.stderr.write("the contract cannot be used\n")
    else:
        sys.stdout.write(json.dumps(output, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
