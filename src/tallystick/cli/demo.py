"""``tallystick demo``: one run from evidence to receipt, told by the commands themselves.

Each scene is a command line. It is shown, run in the folder of the demo, and followed by what
it printed, so that nothing is shown that the command does not do. No figure is computed here.
"""

import io
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tallystick.app.demo import lay_out_demo
from tallystick.app.files import read_file, write_file
from tallystick.cli.main import cli
from tallystick.cli.options import json_option
from tallystick.core.canonical import canonical_bytes
from tallystick.receipt.columns import PAGE_COLUMNS, wrap


@dataclass(frozen=True, slots=True)
class Scene:
    """A command line, what is said before it, and the exit status that it should have."""

    says: str
    command: str
    title: str | None = None
    """The head over this scene and those after it, None to go on under the last one."""
    status: int = 0


RUN = "pretrain-7"
_EVIDENCE = "--evidence evidence.jsonl"
_LATE = f"{_EVIDENCE} late.jsonl"
_CONTRACT = "--contract contract.toml"
_DCGM = "--node n1 --timezone UTC --keep 3600"
_RECEIPT = f"{RUN}.receipt"
_BUNDLE = f"{RUN}.bundle"

SCENES = (
    Scene(
        title="Collect what each source says",
        says="Rows of sacct and slurmdbd, hook dumps, and the GPUs of the node. The requeue made "
        "two attempts of one job.",
        command="tallystick collect slurm inputs/slurm/* inputs/node.jsonl --cluster testc "
        "--timezone UTC --capacity spot=spot ondemand=on_demand --dry-run > evidence.jsonl",
    ),
    Scene(
        says="Samples, one a second. The exporter was down for nine scrapes, and the answer ends "
        "twelve seconds before the run does.",
        command="tallystick collect prometheus inputs/prometheus/* --cadence 1 --node n1 "
        "--dry-run >> evidence.jsonl",
    ),
    Scene(
        says="DCGM's statistics of attempt 2. For GPU 3 they print zeros, because nothing was "
        "sampled: that is unknown, not idle.",
        command="tallystick collect dcgm inputs/dcgm/stats-2.txt inputs/dcgm/gpus.txt "
        f"--attempt slurm:testc:2@n1:1796068177 {_DCGM} --read 2026-11-30T19:50:17.2Z "
        "--dry-run >> evidence.jsonl",
    ),
    Scene(
        says="Steps and checkpoints, as the training loop wrote them.",
        command="tallystick collect progress inputs/training.jsonl --dry-run >> evidence.jsonl",
    ),
    Scene(
        title="Rate it by the contract",
        says="What nobody saw has no price yet, only a bound: the net amount is a range.",
        command=f"tallystick rate {_EVIDENCE} {_CONTRACT} --run {RUN}",
    ),
    Scene(
        title="Sign a receipt with a fresh key",
        says="The private key stays with the provider; whoever verifies needs the other file.",
        command="tallystick keys new -o provider.key",
    ),
    Scene(
        says="The receipt is an in-toto Statement in a DSSE envelope.",
        command=f"tallystick receipt issue {_EVIDENCE} {_CONTRACT} --run {RUN} "
        f"--key provider.key -o {_RECEIPT}",
    ),
    Scene(
        title="Read it",
        says="Look for ? in the timeline, time that no telemetry covers, and for x, work that "
        "the pre-emption undid: it came after the last checkpoint.",
        command=f"tallystick receipt show {_RECEIPT} {_CONTRACT} --key provider.key.vkey",
    ),
    Scene(
        title="Verify it, as anybody with the public key can",
        says="Each step has to hold, or the command ends with 1 and says which one does not.",
        command=f"tallystick receipt verify {_RECEIPT} --key provider.key.vkey",
    ),
    Scene(
        title="Compute it again, as anybody with the evidence can",
        says="The payload has to come out the same, byte for byte.",
        command=f"tallystick receipt replay {_RECEIPT} {_EVIDENCE} {_CONTRACT}",
    ),
    Scene(
        title="Ask why line 2 is held",
        says="The clause, the interval, the arithmetic, every record that decided, and what "
        "would settle it.",
        command=f"tallystick receipt explain {_RECEIPT} 2 {_EVIDENCE} {_CONTRACT}",
    ),
    Scene(
        title="Add one more piece of evidence",
        says="DCGM kept sampling while the exporter was down. Its statistics of attempt 1, read "
        "by the epilog, come in late.",
        command="tallystick collect dcgm inputs/dcgm/stats-1.txt inputs/dcgm/gpus.txt "
        f"--attempt slurm:testc:2@n1:1796068144 {_DCGM} --read 2026-11-30T19:49:29.9Z "
        "--dry-run > late.jsonl",
    ),
    Scene(
        says="A second receipt, from the same evidence and the late one.",
        command=f"tallystick receipt issue {_LATE} {_CONTRACT} --run {RUN} "
        "--key provider.key -o late.receipt",
    ),
    Scene(
        says="What it changed: line 2 is settled, and the range is narrower. Exit 1 says that "
        "the two differ.",
        command=f"tallystick receipt diff {_RECEIPT} late.receipt",
        status=1,
    ),
    Scene(
        title="Keep it in a log that nobody can change unnoticed",
        says="A store has an evidence log with a signed tree head, and keys of its own. The head "
        "that was issued last is kept outside of it.",
        command="tallystick init store --origin provider.example/gpu-log",
    ),
    Scene(
        says="A contract version is published once, in the log itself.",
        command="tallystick contract add contract.toml --store store",
    ),
    Scene(
        says="Every record is answered; collected twice it would add nothing.",
        command="tallystick collect evidence evidence.jsonl --store store",
    ),
    Scene(
        says="This receipt names the head of the evidence that it follows from, and is posted.",
        command=f"tallystick receipt issue --run {RUN} --store store",
    ),
    Scene(
        title="Revise it when late evidence comes",
        says="The statistics of attempt 1 again, this time into the log.",
        command="tallystick collect evidence late.jsonl --store store",
    ),
    Scene(
        says="The next revision supersedes the first, which stays.",
        command=f"tallystick receipt issue --run {RUN} --store store",
    ),
    Scene(
        says="Only the difference was posted: held money went down, nothing was rewritten.",
        command="tallystick ledger balance --store store",
    ),
    Scene(
        title="Hand it over in one file",
        says="Receipt, evidence, contract and proofs, for somebody without the store.",
        command=f"tallystick receipt bundle --run {RUN} --store store -o {_BUNDLE}",
    ),
    Scene(
        says="All that they need beside it are the public keys.",
        command=f"tallystick receipt verify {_BUNDLE} --keys store/keys",
    ),
    Scene(
        says="And they compute it again from the bundle alone.",
        command=f"tallystick receipt replay {_BUNDLE} --keys store/keys",
    ),
    Scene(
        says="Is everything in the store what was admitted, signed and posted?",
        command="tallystick doctor --store store",
    ),
)

HINTS = (
    Scene(
        says="Settle the rest: in decision.jsonl both parties agree on the dark seconds of GPU 3.",
        command=f"tallystick receipt issue {_LATE} decision.jsonl {_CONTRACT} --run {RUN} "
        "--key provider.key -o settled.receipt",
    ),
    Scene(
        says="See what their decision changed.",
        command="tallystick receipt diff late.receipt settled.receipt",
        status=1,
    ),
    Scene(
        says="Replay the receipt from evidence that is not the same: it is noticed.",
        command=f"tallystick receipt replay {_RECEIPT} {_LATE} {_CONTRACT}",
        status=1,
    ),
    Scene(
        says="Change a term of contract.toml, the 30 s of clause 6.1 for example, and rate again.",
        command=f"tallystick rate {_LATE} {_CONTRACT} --run {RUN}",
    ),
    Scene(
        says="Prove a single record of the log to somebody, in a form that other tools read.",
        command="tallystick log prove 17 --store store -o 17.tlog-proof",
    ),
    Scene(
        says="Collect from a cluster of your own.",
        command="tallystick collect slurm --help",
    ),
)


@click.command("demo")
@click.option(
    "--out",
    "folder",
    metavar="DIR",
    default=Path("demo-out"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder of the demo's files: new, empty, or of an earlier demo.",
)
@json_option()
def demo_command(folder: Path, *, as_json: bool) -> None:
    """Take a run that was really pre-empted from its evidence to a receipt.

    Slurm's files are captured from a real cluster, the rest is made to fit them; README.md in
    DIR says which is which. All files are left in DIR to be looked at.

    \b
    Example:
      tallystick demo --out demo-out
    """
    lay_out_demo(folder)
    if not as_json:
        _print_rows(_introduction(folder))
    number = 0
    told: list[dict[str, Any]] = []
    for scene in SCENES:
        number += scene.title is not None
        if not as_json:
            _print_rows(_head(scene, number))
        status, output = _play(scene.command, folder)
        if not as_json:
            click.echo(output, nl=False)
        told.append({"command": scene.command, "status": status, "output": output})
        if status != scene.status:
            click.get_current_context().exit(status or 1)
    if as_json:
        click.echo(canonical_bytes({"folder": str(folder), "scenes": told}))
    else:
        _print_rows(_closing(folder, number + 1))


def _play(command: str, folder: Path) -> tuple[int, str]:
    """Run a command line in a folder; give its exit status and what it printed.

    Output that goes to a file is not printed, and messages are.
    """
    words, _, target = command.partition(" >")
    encoding = sys.stdout.encoding or "utf-8"
    data, screen = _stream(encoding), _stream(encoding)
    with chdir(folder), redirect_stdout(data if target else screen), redirect_stderr(screen):
        status = _call(list(_expanded(words)))
        if target:
            name = target.removeprefix(">").strip()
            before = read_file(name) if target.startswith(">") else b""
            write_file(Path(name), before + data.buffer.getvalue())
    return status, screen.buffer.getvalue().decode(encoding)


class _Stream(io.TextIOWrapper):
    """A text stream into memory that never waits with what it was given."""

    buffer: io.BytesIO


def _stream(encoding: str) -> _Stream:
    return _Stream(io.BytesIO(), encoding, newline="", write_through=True)


def _expanded(words: str) -> Iterator[str]:
    """Give the arguments of a command as a shell would, with file patterns expanded."""
    for word in words.split()[1:]:
        yield from sorted(map(str, Path().glob(word))) if "*" in word else [word]


def _call(arguments: list[str]) -> int:
    try:
        status = cli.main(arguments, prog_name="tallystick", standalone_mode=False)
    except SystemExit as end:
        status = end.code
    return status if isinstance(status, int) else 0


def _print_rows(rows: list[str]) -> None:
    click.echo("\n".join(rows))


def _introduction(folder: Path) -> list[str]:
    return [
        "A run that was really pre-empted, from evidence to receipt",
        "",
        *_text(
            "Slurm gave four GPUs to a spot job, took them back after 21 seconds for a job of "
            "higher priority, queued the first one again and let it finish. Slurm's files are "
            "captured from a real cluster. Its GPUs were imaginary and the job trained nothing, "
            "so telemetry, training events and contract are made to fit the run: "
            f"{folder / 'README.md'} says which is which. The commands are run in that folder:"
        ),
        "",
        f"$ cd {shlex.quote(str(folder))}",
    ]


def _head(scene: Scene, number: int) -> list[str]:
    rows = [""]
    if scene.title is not None:
        rows += [f"-- {number}. {scene.title} ".ljust(PAGE_COLUMNS, "-"), ""]
    return [*rows, *_text(scene.says), *command_rows(scene.command)]


def _closing(folder: Path, number: int) -> list[str]:
    rows = ["", f"-- {number}. What to try next ".ljust(PAGE_COLUMNS, "-")]
    for hint in HINTS:
        rows += ["", *_text(hint.says), *command_rows(hint.command)]
    return [*rows, "", *_text(f"Everything that was read and written is in {folder}.")]


def _text(words: str) -> list[str]:
    return wrap(words.split(), PAGE_COLUMNS)


def command_rows(command: str) -> list[str]:
    """Write a command line as it can be typed, continued where a row is full."""
    parts = re.split(" (?=[->])", command)  # An option stays with its values.
    first, *others = wrap(parts, PAGE_COLUMNS - 8)
    rows = [f"$ {first}", *(f"    {row}" for row in others)]
    return [*(f"{row} \\" for row in rows[:-1]), rows[-1]]
