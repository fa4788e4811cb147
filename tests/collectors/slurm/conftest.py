"""What the tests of the Slurm collectors share: captured outputs, tables, and a short view."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tallystick.collectors.collected import Source
from tallystick.collectors.slurm import SlurmOptions, collect_slurm
from tallystick.core.finding import InputFinding

CAPTURED = Path(__file__).parents[2] / "fixtures" / "slurm"
DEFAULTS = SlurmOptions(cluster="c7", timezone="UTC", observed_us=1_770_100_000_000_000)
ORDINARY = {
    "JobIDRaw": "1",
    "JobID": "1",
    "Submit": "1770000000",
    "Start": "1770000100",
    "End": "1770000700",
    "ElapsedRaw": "600",
    "Suspended": "00:00:00",
    "State": "COMPLETED",
    "ExitCode": "0:0",
    "AllocTRES": "cpu=8,gres/gpu:h100=8,gres/gpu=8,node=1",
    "NodeList": "g1",
}


@dataclass(frozen=True)
class Story:
    """Records and findings of one call, by what tests ask for."""

    records: list[dict[str, Any]]
    findings: list[InputFinding]

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        """Give the bodies of one kind."""
        return [record["body"] for record in self.records if record["kind"] == kind]

    def times(self, kind: str) -> dict[str, str]:
        """Give the time of each attempt's record of one kind, without day and fraction."""
        return {
            record["body"]["attempt"]: record["at"][11:19]
            for record in self.records
            if record["kind"] == kind
        }

    @property
    def started(self) -> dict[str, dict[str, Any]]:
        """Give the bodies of allocation.started by attempt."""
        return {body["attempt"]: body for body in self.bodies("allocation.started")}

    @property
    def ended_by(self) -> dict[str, str]:
        """Say who ended each attempt."""
        return {body["attempt"]: body["ended_by"] for body in self.bodies("allocation.ended")}

    @property
    def same(self) -> dict[str, str]:
        """Give what each hook attempt is the same as."""
        return {body["attempt"]: body["same_as"] for body in self.bodies("attempt.same")}

    @property
    def kinds(self) -> list[str]:
        """Give the kinds in order of appearance, without their first word."""
        return [record["kind"].partition(".")[2] for record in self.records]

    @property
    def codes(self) -> list[str]:
        """Give the codes of the findings, sorted."""
        return sorted(finding.code for finding in self.findings)


def _collect(*inputs: str | bytes, **options: Any) -> Story:
    sources = [
        Source(f"input-{place}", data.encode() if isinstance(data, str) else data)
        for place, data in enumerate(inputs, start=1)
    ]
    collected = collect_slurm(sources, replace(DEFAULTS, **options))
    return Story(collected.records, collected.findings)


def _table(*rows: dict[str, str], delimiter: str = "|", end: str = "\n") -> str:
    columns = list(dict.fromkeys([*ORDINARY, *(name for row in rows for name in row)]))
    lines = [delimiter.join(columns)]
    for row in rows:
        fields = {**ORDINARY, "JobID": row.get("JobIDRaw", "1"), **row}
        lines.append(delimiter.join(fields.get(name, "") for name in columns))
    return "".join(line + end for line in lines)


def _hook(name: str, start: str, *more: str, **env: str) -> str:
    """Write a dump of a node's hook; a variable that is empty is left out."""
    variables = {
        "SLURMD_NODENAME": "g1",
        "SLURM_JOB_ID": "1",
        "SLURM_JOB_GPUS": "0,1",
        "SLURM_SCRIPT_CONTEXT": f"{name.lower()}_slurmd",
        **env,
    }
    lines = [f"{key}={value}" for key, value in sorted(variables.items()) if value]
    first = f"#hook={name} start={start} uid=0 user=root pid=1 args="
    return "\n".join([first, *lines, *more, f"#end={start} exit=0", ""])


@pytest.fixture
def collect() -> Callable[..., Any]:
    """Collect some inputs, with options by name, into a story."""
    return _collect


@pytest.fixture
def table() -> Callable[..., str]:
    """Write a table of ordinary rows that differ in the named fields."""
    return _table


@pytest.fixture
def hook() -> Callable[..., str]:
    """Write the dump of a hook of node g1 and job 1."""
    return _hook


@pytest.fixture
def captured() -> Callable[[str], bytes]:
    """Read a captured output by name."""
    return lambda name: (CAPTURED / name).read_bytes()


@pytest.fixture
def captured_files() -> dict[str, bytes]:
    """Read every captured output."""
    return {
        str(path.relative_to(CAPTURED)): path.read_bytes()
        for path in sorted(CAPTURED.rglob("*"))
        if path.is_file() and path.suffix != ".md"
    }
