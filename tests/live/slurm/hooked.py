"""A real two-node cluster with our hooks on it, and everything that follows from a job.

The nodes share one machine, so each has its own installation: settings, spool and tools in a
folder, found by the node's name. GPUs are stand-ins; Slurm, its database and its hooks are not.
"""

import json
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from tallystick.app.node_files import LINES, NODE_FILE, install_node
from tallystick.app.ship import store_sender
from tallystick.app.store import init_store, open_store
from tallystick.emit.ship import Shipper
from tests.app.stores import contract_file

HERE: Final = Path(__file__).parent
KIT: Final = HERE / "cluster"
TALLYSTICK: Final = HERE.parents[2] / ".venv" / "bin" / "tallystick"
STAND_IN: Final = HERE.parents[1] / "stand_ins" / "dcgmi"
NODES: Final = ("n1", "n2", "ctld")
PYTHON: Final = "/usr/bin/python3"  # Every user of the machine can run it.
DECLARED: Final = ("--cluster", "testc", "--capacity", "spot=spot", "ondemand=on_demand")
COLUMNS: Final = (
    "JobIDRaw,JobID,Cluster,User,UID,Account,Partition,Submit,Eligible,Start,End,ElapsedRaw,"
    "Suspended,State,ExitCode,NNodes,AllocTRES,NodeList,Comment"
)


def uuids(node: str) -> list[str]:
    """Give the boards of a node, in the order of their index."""
    return [f"GPU-0000000{node[-1]}-000{n}-4000-8000-000000000000" for n in range(4)]


@dataclass
class Receipt:
    """What a receipt says of a run, where tests look."""

    predicate: dict[str, Any]

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """Give the attempts in order."""
        found: list[dict[str, Any]] = self.predicate["attempts"]
        return found

    @property
    def ended_by(self) -> list[str | None]:
        """Whose act each attempt's end was."""
        return [each["ended_by"] for each in self.attempts]

    @property
    def gpus(self) -> list[list[str]]:
        """Give the UUIDs of each attempt."""
        return [each["gpu_uuids"] for each in self.attempts]

    @property
    def reasons(self) -> set[str]:
        """Give the reasons of all gaps in coverage."""
        return {gap["reason"] for each in self.predicate["coverage"] for gap in each["gaps"]}

    @property
    def observed_s(self) -> list[int]:
        """Give the whole seconds for which each board was observed."""
        return [
            int(each["observed_seconds"].partition(".")[0]) for each in self.predicate["coverage"]
        ]

    @property
    def codes(self) -> set[str]:
        """Give the codes of all findings."""
        return {each["code"] for each in self.predicate["findings"]}

    @property
    def dispositions(self) -> set[str]:
        """Give what became of the time, over all lines."""
        return {line["disposition"] for line in self.predicate["lines"]}

    @property
    def total_net(self) -> Any:
        """Give what is to be paid, a text or two bounds."""
        return self.predicate["totals"]["net"]

    def seconds(self, number: int) -> int:
        """Give the whole seconds that an attempt held its GPUs."""
        metered = [
            Decimal(line["quantity"])
            for line in self.predicate["lines"]
            if line["attempt"] == self.attempts[number]["attempt"]
        ]
        assert metered, "an attempt that held GPUs has a line"
        return int(sum(metered) / self.attempts[number]["gpus"])


class HookedCluster:
    """Slurm with two nodes of four GPUs, and a store for what it says."""

    def __init__(self, folder: Path, port: int) -> None:
        self.run_folder = folder / "slurm"
        self.folder = folder
        self.store = folder / "store"
        self.limited = ""
        self._contract = ""
        self._environment = {
            **os.environ,
            "SLURM_TEST_RUN": str(self.run_folder),
            "SLURM_TEST_PORT": str(port),
            "SLURM_CONF": str(self.run_folder / "etc" / "slurm.conf"),
            "TALLYSTICK_STORE": str(self.store),
        }

    def start(self) -> None:
        """Start the daemons, put the hooks in, and make the store."""
        self.folder.chmod(0o755)
        self.command("bash", str(KIT / "start.sh"))
        for node in NODES:
            self._install(node)
        for hook, key in LINES.items():
            self._dispatch(hook, key)
        self.command("sed", "-i", "s/^KillWait=.*/KillWait=2/", self._environment["SLURM_CONF"])
        self.command("scontrol", "reconfigure")
        self.command("scontrol", "update", "partition=spot", "GraceTime=2")
        init_store(self.store, "cluster.example/log")
        self._contract = contract_file(
            self.folder, contract_id="cluster", unknown="hold", gpu_type="h100"
        )
        self.tallystick("contract", "add", self._contract)

    def stop(self) -> None:
        """Stop the daemons; nothing of the cluster is left running."""
        subprocess.run(
            ["bash", KIT / "stop.sh"], env=self._environment, capture_output=True, check=False
        )

    def _install(self, node: str) -> None:
        place = self.node(node)
        (place / "bin").mkdir(parents=True)
        lines = [
            f"TALLYSTICK_SPOOL={place / 'spool'}",
            f"TALLYSTICK_PATH={place / 'bin'}:/usr/bin:/bin",
            "TALLYSTICK_SLURM_INDEX=nvml",
            "TALLYSTICK_HOOK_CPU=5",
            "TALLYSTICK_DCGM=command",
            "TALLYSTICK_DCGM_INTERVAL=1",
            "TALLYSTICK_CAPACITY=spot=spot ondemand=on_demand",
        ]
        (place / "node.env").write_text("\n".join(lines) + "\n")
        install_node(place, spool=None, url=None, python=PYTHON)
        boards = uuids(node) if node != "ctld" else []
        said = [
            f"echo '{n}, {uuid}, 00000000:0{n}:00.0, Disabled'" for n, uuid in enumerate(boards)
        ]
        self.tool(node, "nvidia-smi", "\n".join(said))
        engine = place / "engine"
        engine.mkdir()
        (engine / "boards").write_text("".join(f"{n} {uuid}\n" for n, uuid in enumerate(boards)))
        self.tool(node, "dcgmi", f'TALLYSTICK_STAND_IN={engine} exec {STAND_IN} "$@"')

    def tool(self, node: str, name: str, script: str) -> None:
        """Put a tool onto a node."""
        path = self.node(node) / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def _dispatch(self, hook: str, key: str) -> None:
        """Have Slurm's hook call the one of the node, then end as a test wants the site's to."""
        path = self.run_folder / "etc" / "hooks" / key
        ctl = self.run_folder / "ctl" / key
        path.write_text(
            "#!/bin/sh\n"
            f"hook={self.folder}/${{SLURMD_NODENAME:-ctld}}/{hook}\n"
            f"[ -e {ctl}.kill ] && {{ $hook & until /usr/bin/pkill -KILL -f 'pyz {hook}' ||"
            " ! kill -0 $!; do /usr/bin/sleep 0.005; done;"
            # What it had started by then is not stopped by its end.
            f" while /usr/bin/pkill -KILL -f 'pyz {hook}'; do /usr/bin/sleep 0.005; done;"
            " exit 0; }\n"
            "$hook\n"
            f"[ -e {ctl}.again ] && $hook\n"
            f"[ -e {ctl}.exit ] && exit 1\n"
            "exit 0\n"
        )
        path.chmod(0o755)

    def node(self, name: str) -> Path:
        """Give the folder of a node's installation."""
        return self.folder / name

    def command(self, *argv: str, check: bool = True) -> str:
        """Run a command as root, and give what it prints."""
        ran = subprocess.run(
            argv, env=self._environment, capture_output=True, check=False, timeout=120
        )
        assert ran.returncode == 0 or not check, (argv, ran.stdout, ran.stderr)
        return ran.stdout.decode()

    def tallystick(self, *argv: str) -> str:
        """Run our command line on the store."""
        return self.command(str(TALLYSTICK), *argv)

    def submit(
        self,
        run: str,
        script: str,
        *options: str,
        partition: str = "spot",
        user: str = "alice",
        gpus: int = 2,
    ) -> str:
        """Submit a batch job that belongs to a run, and give its id."""
        return self.command(
            *self._as(user),
            "sbatch",
            "--parsable",
            f"--partition={partition}",
            f"--gres=gpu:h100:{gpus}",
            "--mem=500",
            "--output=/dev/null",
            f"--comment=tallystick.run={run}",
            *options,
            f"--wrap={script}",
        ).strip()

    def cancel(self, job: str, user: str = "alice") -> None:
        """Cancel a job as its user."""
        self.command(*self._as(user), "scancel", job)

    def _as(self, user: str) -> list[str]:
        who = [f"--reuid={user}", f"--regid={user}", "--init-groups"]
        variables = ["HOME=/", f"USER={user}", "PATH=/usr/bin:/bin"]
        conf = f"SLURM_CONF={self._environment['SLURM_CONF']}"
        return ["setpriv", *who, "env", "-C", "/", "-i", *variables, conf]

    def state(self, job: str) -> str:
        """Say what the controller says of a job."""
        return self.command("squeue", "-h", "-j", job, "-t", "all", "-o", "%T", check=False).strip()

    def wait(self, job: str, *states: str, limit_s: float = 60) -> None:
        """Wait until a job is in one of some states."""
        self.until(lambda: self.state(job) in states, f"job {job} is {self.state(job)}", limit_s)

    def until(self, holds: Any, otherwise: str, limit_s: float = 60) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + limit_s
        while not holds():
            assert time.monotonic() < deadline, otherwise
            time.sleep(0.2)

    def wait_final(self, job: str, rows: int = 1, limit_s: float = 60) -> None:
        """Wait until accounting has the last word on a job: all its rows have an end."""

        def is_final() -> bool:
            rows_of_job = [
                each for each in self._rows() if each[0].split("_")[0].split("+")[0] == job
            ]
            running = ("PENDING", "RUNNING", "SUSPENDED")
            is_open = any(
                end == "Unknown" or state.startswith(running) or not comment
                for _, state, end, comment in rows_of_job
            )
            return len(rows_of_job) >= rows and not is_open

        self.until(is_final, f"accounting of job {job} is not final", limit_s)

    def _rows(self) -> list[list[str]]:
        """Ask for all jobs: one that just ended shows by its id first, and its comment last."""
        window = ("-a", "-S", "2026-01-01T00:00:00", "-o", "JobID,State,End,Comment")
        text = self.command("sacct", "-n", "-P", "-D", "-X", *window, check=False)
        return [line.split("|") for line in text.splitlines()]

    def wait_hooks(self, job: str, hook: str, count: int, limit_s: float = 30) -> None:
        """Wait until a hook of a job was called often enough, on all nodes together."""
        self.until(
            lambda: len(list(self.calls(job, hook))) >= count,
            f"{hook} of job {job} was called {len(list(self.calls(job, hook)))} times",
            limit_s,
        )

    def calls(self, job: str, hook: str) -> Iterator[dict[str, Any]]:
        """Give the calls of a hook that wait in the spools."""
        for record in self.waiting():
            body = record["body"]
            if (
                record["kind"] == "scheduler.hook"
                and body["job_id"] == job
                and body["hook"] == hook
            ):
                yield body

    def waiting(self) -> Iterator[dict[str, Any]]:
        """Give the records that wait in all spools."""
        for node in NODES:
            for path in sorted(self.node(node).glob("spool/*/new/*.json")):
                yield json.loads(path.read_bytes())

    def sacct(self) -> Path:
        """Write all that accounting says to a file."""
        variables = {"TZ": "UTC0", "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}
        path = self.folder / "sacct.psv"
        window = ("-S", "2026-01-01T00:00:00", "-E", "2100-01-01T00:00:00", "-o", COLUMNS)
        ran = subprocess.run(
            ["sacct", "-D", "-X", "-a", "-P", "--noconvert", "--delimiter=\x1f", *window],
            env=self._environment | variables,
            capture_output=True,
            check=True,
        )
        path.write_bytes(ran.stdout)
        return path

    def harvest(self) -> None:
        """Bring everything home: what hooks wrote, and what accounting says."""
        with open_store(self.store) as opened:
            for node in NODES:
                uid = pwd.getpwnam("slurm").pw_uid
                Shipper(self.node(node) / "spool", node, (uid,)).ship(store_sender(opened.log))
        asked = ("collect", "slurm", "--sacct", "--from", "2026-01-01T00:00:00Z")
        self.tallystick(*asked, *DECLARED)

    def receipt(self, run: str) -> Receipt:
        """Bring everything home and rate a run."""
        self.harvest()
        return self._rated(self.tallystick("rate", "--run", run, "--json"))

    def receipt_of_accounting(self, run: str) -> Receipt:
        """Rate a run as if no hook had ever run."""
        evidence = self.folder / "rows.jsonl"
        lines = self.command(
            *(str(TALLYSTICK), "collect", "slurm", "--dry-run", "--json"),
            *(*DECLARED, "--timezone", "UTC", "--", str(self.sacct())),
        )
        evidence.write_text(lines)
        arguments: Sequence[str] = ("--evidence", str(evidence), "--contract", self._contract)
        return self._rated(
            self.command(str(TALLYSTICK), "rate", *arguments, "--run", run, "--json")
        )

    def _rated(self, text: str) -> Receipt:
        (predicate,) = json.loads(text)["receipts"]
        return Receipt(predicate)

    def epilogs_of_run(self, run: str) -> Iterator[dict[str, Any]]:
        """Give the epilogs of all jobs whose comment names a run."""
        for record in self.waiting():
            environment = record["body"].get("environment", {})
            is_epilog = record["body"].get("hook") == "slurm-epilog"
            if is_epilog and environment.get("SLURM_JOB_COMMENT") == f"tallystick.run={run}":
                yield record["body"]

    def node_states(self) -> list[str]:
        """Give the state of each node, n1 first."""
        return self.command("sinfo", "-h", "-N", "-p", "spot", "-o", "%T").split()

    def wait_idle(self) -> None:
        """Wait until no hook runs on a node any more."""
        self.until(lambda: "completing" not in self.node_states(), "a node is still completing")

    def heal(self) -> None:
        """Take back what a story did to nodes on purpose."""
        for node, state in zip(("n1", "n2"), self.node_states(), strict=True):
            if state.startswith(("drain", "down")):
                self.command("scontrol", "update", f"nodename={node}", "state=resume", check=False)

    @contextmanager
    def only(self, node: str) -> Iterator[None]:
        """Give jobs one node to run on."""
        other = "n2" if node == "n1" else "n1"
        self.command("scontrol", "update", f"nodename={other}", "state=drain", "reason=test")
        try:
            yield
        finally:
            self.command("scontrol", "update", f"nodename={other}", "state=resume")

    @contextmanager
    def knob(self, name: str) -> Iterator[None]:
        """Have hooks end in another way."""
        path = self.run_folder / "ctl" / name
        path.touch()
        try:
            yield
        finally:
            path.unlink()

    @contextmanager
    def tools_are(self, script: str, *names: str) -> Iterator[None]:
        """Replace tools on both nodes."""
        kept = {
            path: path.read_bytes() if path.exists() else None
            for node in NODES[:2]
            for path in (self.node(node) / "bin" / name for name in names)
        }
        for path in kept:
            self.tool(path.parent.parent.name, path.name, script)
        try:
            yield
        finally:
            for path, data in kept.items():
                if data is None:
                    path.unlink()
                else:
                    path.write_bytes(data)

    def restart_engines(self) -> None:
        """Have the engines of both nodes forget everything."""
        for node in NODES[:2]:
            (self.node(node) / "engine" / "state.json").unlink(missing_ok=True)

    @contextmanager
    def broken_hooks(self) -> Iterator[None]:
        """Take the hooks' file away from all nodes."""
        paths = [self.node(node) / NODE_FILE for node in NODES]
        for path in paths:
            path.rename(path.with_suffix(".away"))
        try:
            yield
        finally:
            for path in paths:
                path.with_suffix(".away").rename(path)

    def dumps(self) -> list[Path]:
        """Give the environments that scripts kept where there was no Python."""
        return sorted(path for node in NODES for path in self.node(node).glob("spool/*/dumps/*"))

    @contextmanager
    def spools_on(self, options: str) -> Iterator[None]:
        """Put the spools of both nodes on a disk of another kind."""
        spools = [str(self.node(node) / "spool") for node in NODES[:2]]
        for spool in spools:
            self.command("mount", "-t", "tmpfs", "-o", f"mode=1777,{options}", "none", spool)
        try:
            yield
        finally:
            for spool in spools:
                self.command("umount", "-l", spool)

    def kill_steps(self, job: str) -> None:
        """Kill what runs of a job, as if its node had lost power."""
        self.command("pkill", "-KILL", "-f", f"slurmstepd: \\[{job}\\.", check=False)

    def daemon(self, *argv: str) -> None:
        """Start a daemon again."""
        self.command(*argv)

    @property
    def slurm_conf(self) -> str:
        """The file that names the cluster to Slurm's commands."""
        return self._environment["SLURM_CONF"]

    def token(self, user: str) -> str:
        """Give a token with which a user may ask slurmrestd."""
        said = self.command(*self._as(user), "scontrol", "token", "lifespan=600")
        return said.strip().removeprefix("SLURM_JWT=")

    def forget(self, job: str) -> None:
        """Delete the rows of a job from the database, as no tool of Slurm does."""
        sockets = str(self.run_folder / "mysql" / "s.sock")
        table = "slurm_acct_db.testc_job_table"
        statement = f"delete from {table} where id_job={int(job)}"  # noqa: S608 (a test's own)
        self.command("mariadb", "--no-defaults", f"--socket={sockets}", "-e", statement)

    def wait_quiet(self) -> None:
        """Wait until no job runs but the one that waits for its time limit."""
        self.until(
            lambda: set(self.command("squeue", "-h", "-o", "%i").split()) <= {self.limited},
            "jobs are still running",
        )

    def kill(self, name: str, number: str = "-KILL") -> None:
        """Kill a daemon by its pid file, and wait until it is gone: that file goes last."""
        path = self.run_folder / "pid" / f"{name}.pid"
        pid = path.read_text().strip()
        self.command("kill", number, pid)
        self.until(lambda: not is_running(Path("/proc", pid)), f"{name} does not end")
        path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def is_running(process: Path) -> bool:
    """Tell whether there is a process that is no zombie."""
    try:
        return "State:\tZ" not in (process / "status").read_text()
    except OSError:
        return False
