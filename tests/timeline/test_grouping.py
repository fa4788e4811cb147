"""Which records belong to which run and attempt (rules 8 and 9, section 9.1)."""

import pytest

from tests.evidence.records import (
    Json,
    accepted,
    adjustment,
    by,
    declared,
    ended,
    inventory,
    linked,
    points,
    record,
    resolution,
    same,
    samples,
    started,
    step,
)
from tests.timeline.timelines import codes, draw_all, group


def runs_of(*records: Json) -> dict[str, list[str]]:
    """Give the attempts of each run."""
    return {run.run: [each.key for each in run.attempts] for run in group(*records).runs}


def findings_of(*records: Json) -> list[tuple[str, str | None]]:
    """Give code and name of each finding of the grouping, in order."""
    return [(each.code, each.attempt or each.run) for each in group(*records).findings]


def test_an_attempt_belongs_to_the_run_that_a_link_names() -> None:
    """A link outranks what the start says (rule 8)."""
    runs = runs_of(started(run="guess"), linked("a", "run"))

    assert runs == {"run": ["a"]}


def test_of_several_links_the_first_in_canonical_order_counts() -> None:
    """The order of lines does not decide; the other run has a receipt without attempts."""
    runs = runs_of(started(), linked("a", "second", "00:02"), linked("a", "first", "00:01"))

    assert runs == {"first": ["a"], "second": []}


def test_a_link_without_a_time_comes_after_one_with() -> None:
    """Null is last in the canonical order (rule 7)."""
    runs = runs_of(started(), by("a", linked("a", "untimed")), by("z", linked("a", "z", "00:02")))

    assert runs == {"untimed": [], "z": ["a"]}


def test_without_a_link_the_first_start_that_states_a_run_counts() -> None:
    """A start that states none is passed over (rule 8)."""
    runs = runs_of(
        started("00:00", run=None), started("00:01", run="first"), started("00:02", run="second")
    )

    assert runs == {"first": ["a"]}


def test_an_attempt_of_no_stated_run_is_its_own_run() -> None:
    """The attempt key is the run id; a job id would merge runs (rule 8)."""
    runs = runs_of(started(attempt="a", run=None), started(attempt="b", run=None))

    assert runs == {"a": ["a"], "b": ["b"]}


def test_sources_that_state_different_runs_disagree() -> None:
    """`run_disagreement` stands on the run that counts (rule 8)."""
    timelines = draw_all(started(run="guess"), linked("a", "run"), ended())

    assert codes(timelines["run"].findings) == [("run_disagreement", "a")]
    assert timelines.keys() == {"run"}


def test_sources_that_state_one_run_agree() -> None:
    """A link and a start that say the same are no finding."""
    (timeline,) = draw_all(
        started(), linked("a", "run"), linked("a", "run", "00:01"), ended()
    ).values()

    assert codes(timeline.findings) == []


def test_a_declared_run_has_a_receipt_without_attempts() -> None:
    """Declaring it is enough (rule 9)."""
    assert runs_of(declared("b"), declared("a")) == {"a": [], "b": []}


def test_a_link_without_a_start_is_a_finding_on_its_run() -> None:
    """The attempt has no entry, since nobody knows when it was (rule 9)."""
    (timeline,) = draw_all(linked("a", "run"), step("00:10", 1)).values()

    assert timeline.attempts == ()
    assert codes(timeline.findings) == [("attempt_without_start", "a")]


def test_what_only_other_records_name_is_unknown() -> None:
    """One finding for each attempt, then for each run, sorted by name (rule 9)."""
    found = findings_of(
        step("00:10", 1, attempt="y"),
        ended(attempt="x"),
        step("00:20", 2, attempt="y"),
        accepted("00:30", "s"),
        adjustment("1", run="r"),
        resolution("charge", run="s", attempt="x"),
    )

    assert found == [
        ("unknown_attempt", "x"),
        ("unknown_attempt", "y"),
        ("unknown_run", "r"),
        ("unknown_run", "s"),
    ]


def test_a_run_that_lost_to_a_link_is_not_unknown() -> None:
    """A start named it, so somebody knows it, though no receipt is made for it."""
    assert findings_of(started(run="guess"), linked("a", "run")) == []


@pytest.mark.parametrize(
    "one",
    [
        points("00:10", gpu="nobody"),
        samples("nobody", "00:00", "01:00"),
        inventory("00:10", "nobody"),
        record("telemetry.fan_speed", None, {"attempt": "nobody", "run": "nobody"}),
    ],
)
def test_records_of_devices_and_unknown_kinds_name_nothing(one: Json) -> None:
    """Devices belong to no run, and an unknown kind has no effect (rule 6)."""
    grouping = group(one)

    assert (grouping.runs, grouping.findings) == ((), ())


def test_an_alias_joins_what_two_sources_know() -> None:
    """A record that names the alias counts as naming the other key (section 9.1)."""
    (timeline,) = draw_all(
        started(), same("hook", "a"), ended(attempt="hook"), step("00:10", 5, attempt="hook")
    ).values()

    (attempt,) = timeline.attempts
    assert (attempt.attempt.key, attempt.attempt.ended_by) == ("a", "completed")
    assert timeline.achievement.steps_completed == 5


def test_a_chain_of_aliases_is_followed() -> None:
    """Each alias leads on to the key that counts."""
    records = (started(attempt="c"), same("a", "b"), same("b", "c"), ended(attempt="a"))

    assert runs_of(*records) == {"run": ["c"]}
    assert findings_of(*records) == []


def test_an_alias_of_a_run_of_its_own_is_that_run() -> None:
    """The key that counts names the run where nobody states one."""
    assert runs_of(started(attempt="hook", run=None), same("hook", "a")) == {"a": ["a"]}


def test_an_alias_with_two_targets_is_ignored() -> None:
    """It is a conflict, and the records that name it stay apart (section 9.1)."""
    records = (
        started(attempt="a"),
        started(attempt="b"),
        same("hook", "a"),
        same("hook", "b"),
        ended(attempt="hook"),
    )

    assert findings_of(*records) == [("alias_conflict", "hook"), ("unknown_attempt", "hook")]


def test_an_alias_that_is_said_twice_is_no_conflict() -> None:
    """Two producers may know the same."""
    records = (started(), same("hook", "a"), by("q", same("hook", "a")), ended(attempt="hook"))

    assert findings_of(*records) == []


@pytest.mark.parametrize(
    ("aliases", "broken"),
    [
        ([("x", "x")], ["x"]),
        ([("x", "y"), ("y", "x")], ["x", "y"]),
        ([("x", "y"), ("y", "z"), ("z", "x")], ["x", "y", "z"]),
        ([("w", "x"), ("x", "y"), ("y", "x")], ["x", "y"]),
    ],
)
def test_aliases_in_a_circle_are_ignored(aliases: list[tuple[str, str]], broken: list[str]) -> None:
    """Each key on the circle is a conflict; what leads to it is none (section 9.1)."""
    found = group(*(same(*alias) for alias in aliases)).findings

    conflicts = [each.attempt for each in found if each.code == "alias_conflict"]
    assert conflicts == broken


def test_an_alias_of_nobody_is_unknown() -> None:
    """The key that it leads to is named by no start and no link."""
    assert findings_of(same("x", "y")) == [("unknown_attempt", "y")]


def test_a_decision_about_another_runs_attempt_joins_nothing() -> None:
    """A resolution names run and attempt, and moves neither."""
    runs = runs_of(started(), declared("other"), resolution("charge", run="other"))

    assert runs == {"other": [], "run": ["a"]}
