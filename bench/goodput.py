"""Side by side with ml-goodput-measurement: who is right about eleven stories, and how fast.

Every story is told to both in one run: theirs runs in ``.venv-frameworks`` as a child, since it
needs much that we do not. A story is *right* if what we say is the truth exactly, or bounds
that hold it where nobody can know, and the finding stands that must stand.

Times start from what a process has in memory: their rows, our admitted records. They are taken
in turns, and the fastest of a few rounds counts. Reading our evidence from the bytes of a file
is timed apart; they have no such step, because their service does it before.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from goodput_stories import STORIES, Story, Truth, before_the_look, evidence, long_story, rows

from tallystick.app.cycles import no_cycle_collection
from tallystick.core.instant import SECOND_US, parse_instant
from tallystick.evidence.admission import Evidence, admit
from tallystick.timeline.grouping import group_records
from tallystick.timeline.run import RunTimeline, run_timeline
from tallystick.timeline.telemetry import Telemetry
from tallystick.timeline.work_time import ClocksApart, WorkTime, work_time

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
SIZES = (1_000, 10_000, 100_000)
ROUNDS = 7
READS = 3
TENTH = 0.1
SINCE_US = parse_instant("2026-03-01T00:00:00.000000Z")


class Ours(NamedTuple):
    """What we say of a story, in seconds of one GPU and in steps."""

    kept_s: tuple[Fraction, Fraction]
    lost_s: tuple[Fraction, Fraction]
    lost_steps: tuple[int, int | None]
    wait_s: Fraction
    wall_s: Fraction
    findings: frozenset[str]


class Theirs:
    """A process of theirs that answers one request at a time.

    Raises:
        SystemExit: the environment that it needs is not there.
    """

    def __init__(self) -> None:
        if not PYTHON.exists():
            raise SystemExit(f"no {PYTHON.relative_to(ROOT)}: run make test-frameworks once")
        script = Path(__file__).with_name("goodput_theirs.py")
        self._child = subprocess.Popen(
            [PYTHON, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._child.communicate()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Ask one thing."""
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline())
        return answer


def timeline_of(records: Evidence) -> RunTimeline:
    """Draw the timeline of the only run."""
    grouping = group_records(records.records)
    (run,) = grouping.runs
    return run_timeline(run, Telemetry(), grouping.aliases, lambda _: Fraction(5, 2))


def ours_of(lines: list[bytes]) -> Ours:
    """Say what we make of some lines."""
    timeline = timeline_of(admit([lines]))
    spent = work_time(timeline)
    assert not isinstance(spent, ClocksApart)
    waits_us = [each.replacement_wait_us or 0 for each in timeline.attempts]
    interruptions = timeline.achievement.interruptions
    most = [each.lost_at_most for each in interruptions]
    at_most = None if None in most else sum(each for each in most if each is not None)
    return Ours(
        kept_s=_seconds(spent.kept_at_least_us, spent.kept_at_most_us),
        lost_s=_seconds(spent.lost_at_least_us, spent.lost_at_most_us),
        lost_steps=(sum(each.lost_at_least for each in interruptions), at_most),
        wait_s=Fraction(sum(waits_us), SECOND_US),
        wall_s=Fraction(spent.held_us + sum(waits_us), SECOND_US),
        findings=frozenset(finding.code for finding in timeline.findings),
    )


def _seconds(at_least_us: int, at_most_us: int) -> tuple[Fraction, Fraction]:
    return Fraction(at_least_us, SECOND_US), Fraction(at_most_us, SECOND_US)


def is_right(story: Story, truth: Truth, ours: Ours) -> bool:
    """Tell whether what we say of a story is the truth, as far as it can be known."""
    is_told = story.finding is None or story.finding in ours.findings
    if not is_told or ours.wait_s != truth.wait_s or ours.wall_s != truth.wall_s:
        return False
    if not (_holds(ours.kept_s, truth.kept_s) and _holds(ours.lost_s, truth.lost_s)):
        return False
    if story.are_apart:  # Nobody can know whose work counts: bounds that hold it, and told so.
        return True
    is_exact = ours.kept_s[0] == ours.kept_s[1] and ours.lost_s[0] == truth.lost_s
    return is_exact and ours.lost_steps == (truth.lost_steps, truth.lost_steps)


def _holds(bounds: tuple[Fraction, Fraction], value: int) -> bool:
    return bounds[0] <= value <= bounds[1]


def is_theirs_right(truth: Truth, said: dict[str, Any]) -> tuple[bool, bool]:
    """Tell whether they come within a tenth of a percent, of what is kept and of what is lost."""
    if "error" in said:
        return False, False
    good: float = said["good_percent"]
    wasted: float = said["bad_percent"]["WASTED_PROGRESS_FROM_DISRUPTION"]
    lost = 100 * truth.lost_s / truth.wall_s
    return abs(good - truth.good_percent) < TENTH, abs(wasted - lost) < TENTH


def compare() -> int:
    """Tell every story to both, print what they say, and count those that we get right."""
    right, good, both = 0, 0, 0
    print("   good %: truth  theirs         ours | lost s: truth  theirs       ours")
    with Theirs() as first, Theirs() as second, tempfile.TemporaryDirectory() as cache:
        for story in STORIES:
            truth = story.truth
            told = rows(story, time.time() - truth.wall_s)
            lines = evidence(story, SINCE_US)
            if story.looks_at_step is None:
                said = first.ask(job=story.letter, rows=told)
            else:
                seen, heard = before_the_look(story, lines, told)
                ours_of(lines[:seen])
                first.ask(job=story.letter, rows=told[:heard], cache=cache)
                said = second.ask(job=story.letter, rows=told, cache=cache)
            ours = ours_of(lines)
            is_good, is_lost = is_theirs_right(truth, said)
            right += is_right(story, truth, ours)
            good += is_good
            both += is_good and is_lost
            print_story(story, truth, said, ours)
    print(f"right: ours {right} of {len(STORIES)} stories; theirs {both}, by good % alone {good}")
    return right


def print_story(story: Story, truth: Truth, said: dict[str, Any], ours: Ours) -> None:
    """Print one story in two lines."""
    good = [f"{float(100 * kept / ours.wall_s):.1f}" for kept in ours.kept_s]
    lost = [f"{float(each):.0f}" for each in ours.lost_s]
    theirs, wasted = "none", "-"
    if "error" not in said:
        theirs = f"{said['good_percent']:.1f}"
        share = said["bad_percent"]["WASTED_PROGRESS_FROM_DISRUPTION"]
        wasted = f"{share * truth.wall_s / 100:.0f}"
    mark = "right" if is_right(story, truth, ours) else "WRONG"
    print(
        f"{story.letter}  {truth.good_percent:13.1f} {theirs:>7} {_text(good):>12}"
        f" | {truth.lost_s:13} {wasted:>7} {_text(lost):>14}  ours {mark}"
    )
    print(f"   {story.says}{f' ({story.finding})' if story.finding else ''}")


def _text(bounds: list[str]) -> str:
    return " to ".join(dict.fromkeys(bounds))


def answer_of(records: Evidence) -> WorkTime | ClocksApart:
    """Do what is timed: from admitted records to what was kept and lost."""
    return work_time(timeline_of(records))


def read(lines: list[bytes]) -> tuple[Evidence, float]:
    """Admit lines a few times; give the records and the seconds of the fastest."""
    taken_s = []
    for _ in range(READS):
        started_s = time.perf_counter()
        records = admit([lines])
        taken_s.append(time.perf_counter() - started_s)
    return records, min(taken_s)


def race() -> dict[str, float]:
    """Time both in turns at each size; give the figures of the largest."""
    figures: dict[str, float] = {}
    with Theirs() as theirs, no_cycle_collection():
        for steps in SIZES:
            story = long_story(steps)
            told = [row for _, row in rows(story, time.time() - story.truth.wall_s)]
            theirs.ask(keep=told)
            lines = evidence(story, SINCE_US)
            records, reading = read(lines)
            kept_s, answers = [], []
            for _ in range(ROUNDS):
                answers.append(theirs.ask()["seconds"])
                started_s = time.perf_counter()
                answer_of(records)
                kept_s.append(time.perf_counter() - started_s)
            ours, theirs_s = min(kept_s), min(answers)
            print(
                f"{steps:7} steps: theirs {theirs_s * 1e3:7.1f} ms, ours {ours * 1e3:6.1f} ms"
                f" = {theirs_s / ours:4.1f} x; with reading {len(lines)} lines"
                f" {(ours + reading) * 1e3:7.1f} ms = {theirs_s / (ours + reading):.2f} x",
                flush=True,
            )
            figures = {
                "goodput_speedup_100k": round(theirs_s / ours, 1),
                "goodput_speedup_100k_with_reading": round(theirs_s / (ours + reading), 2),
                "goodput_100k_ms": round(ours * 1e3, 1),
            }
    return figures


def main() -> int:
    """Compare, race, and write the figures to the file that was named."""
    parser = argparse.ArgumentParser(description="Side by side with ml-goodput-measurement.")
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    figures = {"goodput_stories_right": compare(), **race()}
    out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
