"""A node with a stand-in for DCGM: what its hooks tell of a job, and what a receipt makes of it."""

import json
import time
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner

from tallystick.cli.main import cli
from tallystick.core.instant import format_instant, parse_instant
from tallystick.emit.deadline import Deadline
from tallystick.emit.settings import Settings, read_settings
from tallystick.emit.slurm.call import read_call
from tallystick.emit.slurm.held import held_file
from tallystick.emit.slurm.node import Place, epilog, prolog
from tallystick.emit.spool import Spool, clock_us
from tests.app.stores import contract_file
from tests.emit.slurm.nodes import JOB, UUIDS, Node
from tests.emit.spools import files, records

STAND_IN: Final = Path(__file__).parents[2] / "stand_ins" / "dcgmi"
INTERVAL_US: Final = 10_000
HOUR_S: Final = 3600
GRACE_US: Final = 3_000_000
BOARDS: Final = UUIDS[:2]


class StandIn:
    """The stand-in's folder: boards in another order than NVML's, and its knobs."""

    def __init__(self, home: Path, tools: Path) -> None:
        self.home = home
        self.home.mkdir()
        lines = (f"{index} {uuid}\n" for index, uuid in enumerate(reversed(UUIDS)))
        (home / "boards").write_text("".join(lines))
        program = tools / "dcgmi"
        program.write_text(f'#!/bin/sh\nTALLYSTICK_STAND_IN={home} exec {STAND_IN} "$@"\n')
        program.chmod(0o755)

    def knob(self, name: str, *words: str) -> None:
        """Set a knob."""
        (self.home / name).write_text(" ".join(words))

    def restart(self) -> None:
        """Have the engine forget everything."""
        (self.home / "state.json").unlink(missing_ok=True)

    @property
    def state(self) -> dict[str, Any]:
        """Give what the engine remembers."""
        state: dict[str, Any] = json.loads((self.home / "state.json").read_text())
        return state

    def remembers(self, state: dict[str, Any]) -> None:
        """Change what the engine remembers."""
        (self.home / "state.json").write_text(json.dumps(state))


class Story:
    """One job on a node: its hooks, run in this process, and everything that they told."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.node = Node(folder)
        self.node.has_gpus()
        self.engine = StandIn(folder / "engine", self.node.bin)
        self.settings: Settings = read_settings(self.node.etc / "node.env")._replace(
            dcgm="command", dcgm_interval_us=INTERVAL_US, wall_us=60_000_000, **settings
        )
        self._before: list[dict[str, Any]] = []

    def prolog(self, **variables: str) -> None:
        """Begin the job."""
        self._hook("slurm-prolog", variables)

    def epilog(self, **variables: str) -> None:
        """End the job."""
        self._hook("slurm-epilog", variables)

    def _hook(self, hook: str, variables: dict[str, str]) -> None:
        call = read_call(hook, JOB | variables, cluster=None, observed_us=clock_us())
        assert call is not None
        spool = Spool(self.settings.spool, "slurm-hook/n1")
        place = Place(self.settings, spool, Deadline(self.settings.wall_us))
        (prolog if hook == "slurm-prolog" else epilog)(call, place)

    def runs_for(self, seconds: float = 0.1) -> None:
        """Let the job run, so that it is sampled."""
        time.sleep(seconds)

    def age(self, seconds: int = HOUR_S) -> None:
        """Have everything so far happened earlier."""
        if (self.engine.home / "state.json").exists():
            state = self.engine.state
            for each in (*state["watches"].values(), *state["jobs"].values()):
                each["since" if "since" in each else "start"] -= seconds
            self.engine.remembers(state)
        self.moves_start(-seconds * 10**6, "start_us", "steady_us")
        for record in records(self.node.spool):
            if record["at"] is not None:
                at_us = parse_instant(record["at"]) - seconds * 10**6
                record["at"] = format_instant(at_us)
            self._before.append(record)
        for file in files(self.node.spool):
            file.unlink()

    def moves_start(self, by_us: int, *names: str) -> None:
        """Have the prolog read one clock, or both, differently."""
        path = held_file(self.settings.spool, "7", "n1")
        held = json.loads(path.read_bytes())
        for name in names if held["watch"] is not None else ():
            held["watch"][name] += by_us
        path.write_text(json.dumps(held))

    @property
    def records(self) -> list[dict[str, Any]]:
        """Give all that was told."""
        return [*self._before, *records(self.node.spool)]

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        """Give what the records of one kind say."""
        return [each["body"] for each in self.records if each["kind"] == kind]

    @property
    def codes(self) -> list[str]:
        """Give the codes of problems, each once."""
        return sorted({body["code"] for body in self.bodies("telemetry.problem")})

    def gaps(self) -> dict[str, set[str]]:
        """Rate everything; give the reasons of gaps by board.

        The moments between Slurm's start and the engine's first sample belong to no sample, so
        a gap of less than a few seconds is left out.
        """
        path = self.folder / "evidence.jsonl"
        path.write_text("\n".join(json.dumps(each) for each in self.records) + "\n")
        contract = contract_file(self.folder)
        words = ["rate", "--evidence", str(path), "--contract", contract, "--json"]
        result = CliRunner().invoke(cli, words, catch_exceptions=False)
        output = json.loads(result.stdout)
        assert output["findings"] == []
        (receipt,) = output["receipts"]
        found: dict[str, set[str]] = {}
        for each in receipt["coverage"]:
            found[each["gpu"]] = {
                gap["reason"]
                for gap in each["gaps"]
                if parse_instant(gap["end"]) - parse_instant(gap["start"]) > GRACE_US
            }
        return found


def fake_engine(proc: Path, *, ticks: int, pid: int = 4242) -> None:
    """Have a /proc show a host engine that began so many ticks after the boot."""
    for old in proc.glob("[0-9]*"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    (proc / str(pid)).mkdir(parents=True)
    boot_s = int(time.time()) - 10
    (proc / "stat").write_text(f"cpu 1 2 3\nbtime {boot_s}\nprocesses 7\n")
    (proc / str(pid) / "comm").write_text("nv-hostengine\n")
    middle = " ".join(["0"] * 18)
    (proc / str(pid) / "stat").write_text(f"{pid} (nv-host) engine) S {middle} {ticks} 0\n")
