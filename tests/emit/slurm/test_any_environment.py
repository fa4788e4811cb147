"""Whatever strings a hook finds in its environment, what it writes down is admitted by a log.

Names and comments are the users' own. A variable may hold any bytes but zero, which Python
shows as surrogates from U+DC80 on where they are no UTF-8; a caller of ``read_call`` that is
no hook may hand over any string.
"""

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.canonical import canonical_bytes
from tallystick.emit.deadline import Deadline
from tallystick.emit.settings import read_settings
from tallystick.emit.slurm import node as node_hooks
from tallystick.emit.slurm.call import KEPT, Call, read_call
from tallystick.emit.slurm.node import Place, tell_call
from tallystick.emit.slurm.task import link_run
from tallystick.emit.spool import Spool, make_spool
from tallystick.evidence.codec import read_line
from tests.emit.slurm.nodes import JOB
from tests.emit.spools import files, records

Environment = Mapping[str, str]

OBSERVED_US = 1_770_000_000_000_000
ODD = ("\udcff", "\udcff\udcfe", "\0", "\x1b[2J", "\u2028", "\x7f", "\x85", "\u00e9" * 80)
HUGE = ("x" * 200_000, "\udcff" * 5_000, "9" * 5_000, "tallystick.run=" + "\udcff" * 300)
TEXTS = (
    st.text(st.characters(codec="utf-8"), max_size=40)
    | st.binary(max_size=40).map(os.fsdecode)
    | st.sampled_from((*ODD, *HUGE, "", "0", "7", "1770000000", "4294967295", "-1", "\u0663"))
)
COMMENTS = TEXTS.map(lambda text: f"note tallystick.run={text}; more")
NAMES = st.sampled_from(sorted(KEPT))
ANY = st.dictionaries(NAMES, TEXTS | COMMENTS, max_size=12)
NAMED = ANY.map(lambda environment: JOB | {**environment, "SLURM_JOB_ID": "7"})
HOOKS = st.sampled_from(("slurm-prolog", "slurm-epilog", "slurm-prologctld"))


def call_of(environment: Environment, hook: str = "slurm-prolog") -> Call | None:
    """Read an environment whose cluster the settings state."""
    return read_call(hook, environment, cluster="c1", observed_us=OBSERVED_US)


def told(act: Callable[[Path], object]) -> list[dict[str, Any]]:
    """Give what was written into a spool; each line has to be canonical, and admitted."""
    with tempfile.TemporaryDirectory(prefix="tallystick-") as folder:
        spool = Path(folder) / "spool"
        make_spool(spool)
        act(spool)
        for file in files(spool):
            line = file.read_bytes().removesuffix(b"\n")
            read_line(line)
            assert canonical_bytes(json.loads(line)) == line
        return records(spool)


def place_of(spool: Path) -> Place:
    """Make a place whose node has no tools, so that nothing can be asked."""
    settings = read_settings(spool / "no-such-file")._replace(spool=spool, path="/nowhere")
    return Place(settings, Spool(spool, "slurm-hook/n1"), Deadline(60_000_000))


@given(ANY, TEXTS)
def test_any_environment_is_read_or_is_of_no_job(environment: Environment, cluster: str) -> None:
    """Nothing in it raises, whatever the name of the cluster."""
    call = read_call("slurm-prolog", environment, cluster=cluster, observed_us=OBSERVED_US)

    assert call is None or call.job_id.isdecimal()


@given(NAMED, HOOKS)
def test_a_call_is_told_in_canonical_bytes(environment: Environment, hook: str) -> None:
    """With every variable that is kept, spelt out where it is no text."""
    call = call_of(environment, hook)
    assert call is not None

    (record,) = told(lambda spool: tell_call(call, Spool(spool, "slurm-hook/n1"), "attempt"))

    assert record["kind"] == "scheduler.hook"
    assert record["body"]["environment"].keys() == environment.keys() & KEPT


@given(NAMED)
def test_a_node_hook_tells_nothing_that_a_log_refuses(environment: Environment) -> None:
    """Prolog and epilog, on a node where no GPU can be asked."""
    begin, end = call_of(environment), call_of(environment, "slurm-epilog")
    assert begin is not None
    assert end is not None
    if begin.node is None:
        return

    def act(spool: Path) -> None:
        place = place_of(spool)
        node_hooks.prolog(begin, place)
        node_hooks.epilog(end, place)

    kinds = [record["kind"] for record in told(act)]

    assert kinds.count("scheduler.hook") == 2
    assert kinds.count("allocation.ended") == int(begin.names_gpus)


@given(TEXTS)
def test_a_run_that_is_linked_is_a_text(run: str) -> None:
    """A run that is no printable text of 200 bytes is linked to nothing."""
    call = call_of(JOB)
    assert call is not None

    def act(spool: Path) -> None:
        node_hooks.prolog(call, place_of(spool))
        link_run(call, spool, {"TALLYSTICK_RUN_ID": run}, Spool)

    linked = [each["body"]["run"] for each in told(act) if each["kind"] == "attempt.linked"]

    assert linked in ([], [run])
    assert linked == [] or (run.isprintable() and len(run.encode()) <= 200)


@pytest.mark.parametrize("name", ["SLURM_CLUSTER_NAME", "SLURMD_NODENAME", "SLURM_JOB_ID"])
@pytest.mark.parametrize("text", [*ODD, *HUGE])
def test_what_an_attempt_is_named_by_is_a_name(name: str, text: str) -> None:
    """No odd or huge text becomes part of a key; without it there is no job, or no node."""
    call = read_call("slurm-prolog", JOB | {name: text}, cluster=None, observed_us=OBSERVED_US)

    assert call is None or call.node is None


@pytest.mark.parametrize("name", ["SLURMD_NODENAME", "SLURM_JOB_NAME"])
@pytest.mark.parametrize("half", ["\ud800", "a\udbff"])
def test_half_a_character_is_spelt_out(name: str, half: str) -> None:
    """No environment of the system's holds one; whoever else hands it over is told in ASCII."""
    call = call_of(JOB | {name: half})
    assert call is not None

    (record,) = told(lambda spool: tell_call(call, Spool(spool, "slurm-hook/n1"), None))

    assert record["body"]["environment"][name].isascii()


def test_a_user_that_is_no_number_is_nobody() -> None:
    """The hook goes on: what it tells does not depend on who the user is."""
    call = call_of(JOB | {"SLURM_JOB_UID": "\u00b2"})
    assert call is not None

    kinds = [each["kind"] for each in told(lambda spool: node_hooks.prolog(call, place_of(spool)))]

    assert kinds[:2] == ["scheduler.hook", "allocation.started"]
