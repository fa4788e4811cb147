"""A plan in sentences."""

import pytest

from tallystick.rehearsal.wording import fault_sentence, limit_sentences
from tests.rehearsal.rehearsals import plan_of


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ('when = "step"\nstep = 5', "attempt 2, after step 5; all of the job is killed"),
        ('when = "saving"', "attempt 2, in the middle of a save; all of the job is killed"),
        (
            'when = "saving"\nstep = 8\ntarget = "rank:3"',
            "attempt 2, in the middle of the save of step 8; the worker with RANK=3 is killed",
        ),
        (
            'when = "before_first_save"',
            "attempt 2, after step 1, before anything was saved; all of the job is killed",
        ),
        ('when = "restoring"', "attempt 2, while it restores; all of the job is killed"),
        (
            'when = "time"\nafter_s = "1.50"\nnotice_s = "30"',
            "attempt 2, 1.5 s after its start; notice 30 s before; all of the job is killed",
        ),
    ],
)
def test_a_fault_is_a_sentence(keys: str, sentence: str) -> None:
    """Where it comes, what it does, and what follows."""
    faults = f'[[fault]]\nwhen = "step"\nstep = 1\n[[fault]]\n{keys}\nwait_s = "10"\n'
    (_, fault) = plan_of(faults=faults).faults

    whole = fault_sentence(2, fault)

    assert whole == (
        f"{sentence}; the attempt counts as ended by provider; the next one waits 10 s"
    )


def test_limits_are_sentences() -> None:
    """Each says when something is given up."""
    assert limit_sentences(plan_of().limits) == [
        "a run after 5 attempts, or 3 that saved nothing new",
        "an attempt after 600 s",
        "what is left of an attempt 60 s after its fault",
    ]
