"""Plans: what is read, and every mistake at once with its line."""

from fractions import Fraction

import pytest

from tallystick.rehearsal.errors import BadPlanError
from tallystick.rehearsal.places import SlurmPlace
from tallystick.rehearsal.plan import Fault, Limits, Trainer
from tallystick.rehearsal.read_plan import read_plan
from tests.rehearsal.rehearsals import STEP_5, TRAINER, plan_of, plan_text

EVERY_MISTAKE = b"""schema = "tallystick.plan/2"
run = "a\\u001bb"
route = "carrier pigeon"
contract = 7
tolerance = "-1"
promised_notice_s = 30
extra = 1
[job]
command = []
result = "../../etc/passwd"
[job.environment]
TALLYSTICK_SPOOL = "/tmp"
[job.trainer]
workers = 0
steps = 99999999999999999999999999
[allocation]
gpu_count = true
capacity = "spott"
[limits]
attempts_mx = 3
attempt_s = "0"
detection_s = "999999999"
[slurm]
cluster = "c"
[[fault]]
when = "restoring"
step = 3
[[fault]]
when = "step"
target = "rank:-1"
[[fault]]
after_s = "1e3"
ended_by = "me"
[[fault]]
when = "time"
"""
MISTAKES = """plan:1: schema: expected 'tallystick.plan/1', got 'tallystick.plan/2'
plan:2: run: expected printable characters only, got 'a\\x1bb'
plan:3: route: expected local, slurm or kubernetes, got 'carrier pigeon'
plan:4: contract: expected a text, got the number 7
plan:5: tolerance: expected a decimal string like "0.001", got '-1'
plan:6: promised_notice_s: expected a text, got the number 30
plan:7: extra: unknown key
plan:9: job.command: expected either a command or [job.trainer]
plan:10: job.result: the trainer's own is 'result.npy'; leave this out
plan:12: job.environment.TALLYSTICK_SPOOL: expected the name of a variable that does not begin \
with TALLYSTICK_
plan:14: job.trainer.workers: expected an integer from 1 to 64, got the number 0
plan:15: job.trainer.steps: expected an integer from 1 to 1000000, got an integer of more than \
20 digits
plan:16: allocation.gpu_type: missing, expected a text
plan:17: allocation.gpu_count: expected an integer from 1 to 1000000, got true
plan:18: allocation.capacity: expected spot, on_demand, reserved or unknown, got 'spott'
plan:20: limits.attempts_mx: unknown key, did you mean 'attempts_max'?
plan:21: limits.attempt_s: expected more than 0 seconds
plan:22: limits.detection_s: expected seconds as a decimal string like "1.5", at most 604800, \
got '999999999'
plan:23: slurm: expected no such table with route 'local'
plan:26: fault[1].when: the first attempt restores nothing: expected another fault before it
plan:27: fault[1].step: expected no step with when = 'restoring'
plan:28: fault[2].step: missing, expected the step after which it comes
plan:30: fault[2].target: expected 'all' or 'rank:N', got 'rank:-1'
plan:31: fault[3].when: missing, expected step, saving, before_first_save, restoring or time
plan:31: fault[3].step: missing, expected the step after which it comes
plan:32: fault[3].after_s: expected with when = 'time', and only there
plan:32: fault[3].after_s: expected seconds as a decimal string like "1.5", at most 604800, \
got '1e3'
plan:33: fault[3].ended_by: expected provider, scheduler, hardware or maintenance, got 'me'
plan:34: fault[4].after_s: expected with when = 'time', and only there"""


def mistakes(data: bytes) -> list[str]:
    """Give the mistakes of a plan."""
    with pytest.raises(BadPlanError) as caught:
        read_plan(data)
    return [mistake.text for mistake in caught.value.mistakes]


def test_every_mistake_is_told_at_once_with_its_line() -> None:
    """One pass names all mistakes, in the order of lines."""
    found = mistakes(EVERY_MISTAKE)

    assert sorted(found) == sorted(MISTAKES.split("\n"))
    lines = [int(text.split(":")[1]) for text in found]
    assert lines == sorted(lines)


def test_mistakes_have_one_code_and_a_heading() -> None:
    """The error says how many there are, then each in a line."""
    with pytest.raises(BadPlanError) as caught:
        read_plan(EVERY_MISTAKE)

    assert caught.value.code == "bad_plan"
    assert str(caught.value).startswith(f"plan: {len(caught.value.mistakes)} mistakes\nplan:1: ")


def test_a_plan_that_is_no_toml_is_one_mistake() -> None:
    """The place is named."""
    with pytest.raises(BadPlanError) as caught:
        read_plan(b'schema = "x"\nrun = \n')

    assert str(caught.value).startswith("plan:2: expected TOML")


def test_nothing_at_all_lacks_what_a_plan_needs() -> None:
    """An empty file names each thing that must be stated."""
    found = {text.split(": ")[1] for text in mistakes(b"")}

    assert found == {
        *("schema", "run", "contract", "fault", "job.command", "job.result"),
        "allocation.gpu_type",
    }


def test_what_is_not_stated_has_a_default() -> None:
    """Limits, waits, targets and tolerance."""
    plan = plan_of()

    assert plan.limits == Limits(5, 3, 600_000_000, 60_000_000)
    assert plan.faults == (Fault("step", 5, None, "all", None, 0, "provider"),)
    assert plan.job.trainer == Trainer(2, 12, 4, 1, 0, "end")
    assert (plan.tolerance, plan.tolerance_text, plan.route) == (Fraction(0), "0", "local")
    assert plan.promised_notice_us is None
    assert plan.twin == "r.uninterrupted"


def test_seconds_are_decimal_strings() -> None:
    """Up to microseconds, exactly."""
    plan = plan_of(faults=f'{STEP_5}notice_s = "1.5"\nwait_s = "0.000001"\n')

    (fault,) = plan.faults
    assert (fault.notice_us, fault.wait_us) == (1_500_000, 1)


def test_a_tolerance_is_exact() -> None:
    """It is a fraction, and its text is kept for the record."""
    plan = plan_of(top='tolerance = "0.1"')

    assert (plan.tolerance, plan.tolerance_text) == (Fraction(1, 10), "0.1")


def test_a_command_of_the_user_names_its_result() -> None:
    """Arguments and environment are taken as they stand."""
    job = '[job]\ncommand = ["a", "b c"]\nresult = "x/y.bin"\n[job.environment]\nLANG = "C"\n'

    plan = plan_of(job=job)

    assert plan.job.command == ("a", "b c")
    assert plan.job.environment == (("LANG", "C"),)
    assert plan.job.result == "x/y.bin"


@pytest.mark.parametrize("result", ["/etc/passwd", "..", "a/../../b", ".", "a\\u0000b", "a\\u0007"])
def test_a_result_lies_below_the_folder_of_the_run(result: str) -> None:
    """Nothing else is read as a result."""
    found = mistakes(plan_text(job=f'[job]\ncommand = ["a"]\nresult = "{result}"\n'))

    assert [text.split(": ")[1] for text in found] == ["job.result"]


@pytest.mark.parametrize(
    "job",
    [
        '[job]\ncommand = ["a\\u0000"]\nresult = "r"\n',
        '[job]\ncommand = ["", "a"]\nresult = "r"\n',
        '[job]\ncommand = ["a"]\nresult = "r"\nenvironment = { A = "\\u0000" }\n',
        '[job]\ncommand = ["a"]\nresult = "r"\nenvironment = { "A=B" = "c" }\n',
    ],
)
def test_what_no_program_can_be_given_is_a_mistake(job: str) -> None:
    """NUL characters, no program, no name of a variable."""
    assert len(mistakes(plan_text(job=job))) == 1


def test_too_many_faults_and_long_names_are_mistakes() -> None:
    """Keys and records have to stay readable."""
    data = plan_text(faults=STEP_5 * 21).replace(b'run = "r"', b'run = "' + b"r" * 81 + b'"')

    assert [text.split(": ")[1] for text in mistakes(data)] == ["run", "fault"]


def test_a_place_comes_with_its_route() -> None:
    """The table of the chosen route is read, with its own mistakes."""
    plan = plan_of('[slurm]\ncluster = "c"\noptions = ["--gres=gpu:2"]\n', top='route = "slurm"')

    assert isinstance(plan.slurm, SlurmPlace)
    assert (plan.slurm.cluster, plan.slurm.options) == ("c", ("--gres=gpu:2",))
    assert plan.faults[0].ended_by == "scheduler"
    found = {text.split(": ")[1] for text in mistakes(plan_text(top='route = "kubernetes"'))}
    assert {"kubernetes.cluster", "kubernetes.namespace"} <= found


def test_the_digest_is_that_of_the_bytes() -> None:
    """Another byte is another plan."""
    assert read_plan(plan_text(job=TRAINER)).digest != read_plan(plan_text() + b"#").digest
