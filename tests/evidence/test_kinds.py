"""The bodies of each kind: required, optional and nullable fields (section 2, rule 6)."""

from typing import Any

import pytest

from tallystick.evidence.codec import RefusedLineError, read_line
from tallystick.evidence.kinds import KINDS
from tests.evidence.records import (
    Json,
    accepted,
    adjustment,
    alive,
    as_line,
    begun,
    committed,
    declared,
    ended,
    engine_started,
    goes_on,
    inventory,
    job_stats,
    linked,
    notice,
    points,
    record,
    rejected,
    resolution,
    restored,
    resumed,
    same,
    samples,
    scrape_failed,
    started,
    step,
    suspended,
    verified,
    waits,
    watch,
)

ROW = record(
    "allocation.row",
    None,
    {"scheduler": "slurm", "cluster": "c1", "raw": {}, "resolution_us": 1_000_000},
)
WINDOW: Json = {
    "gpu": "g1",
    "metric": "sm_util",
    "cadence_us": 60_000_000,
    "start": "2026-03-01T00:00:00.000000Z",
    "end": "2026-03-01T01:00:00.000000Z",
    "reach_us": "150000000",
    "episodes": [["2026-03-01T00:00:00.000000Z", "2026-03-01T00:10:00.000000Z"]],
    "blank": ["2026-03-01T00:20:00.000000Z"],
    "impossible": False,
}
DROPPED = record(
    "telemetry.dropped", "00:10", {"segment": "sha256:00", "policy": "p", "windows": [WINDOW]}
)
RECORDS = {
    each["kind"]: each
    for each in (
        *(declared(), linked("a", "run"), same("a", "b"), ROW),
        *(started(), suspended("00:10"), resumed("00:10"), notice("00:10"), ended()),
        *(inventory("00:10", "g1"), watch("00:10"), engine_started("00:10"), points("00:10")),
        *(samples("g1", "00:00", "00:10"), DROPPED, job_stats("00:10", "00:00", "00:10")),
        *(scrape_failed("00:00", "00:10"), alive("00:10"), step("00:10", 1), waits("00:10")),
        *(goes_on("00:10"), begun("00:10", 1), committed("00:10", 1), verified("00:10", ok=True)),
        *(restored("00:10", 1), accepted("00:10"), rejected("00:10")),
        *(resolution("charge"), adjustment("1")),
    )
}
UNTIMED = {
    "attempt.linked",
    "attempt.same",
    "allocation.row",
    "telemetry.points",
    "telemetry.samples",
    "telemetry.scrape_failed",
}
_SAVED = {"blocking": False, "digest": "d", "bytes": 7}
OPTIONAL: dict[str, Json] = {
    "run.declared": {
        "job_class": "pretrain",
        "customer": "c",
        "provider": "p",
        "target_steps": 7,
        "labels": {"team": "x"},
    },
    "allocation.started": {"run": "r", "gpu_type": "H100", "zone": "z", "tier": "t"},
    "allocation.ended": {"state": "FAILED", "exit_code": 1, "signal": 9},
    "checkpoint.begun": _SAVED,
    "checkpoint.committed": _SAVED,
    "output.accepted": {"step": 7, "digest": "d"},
    "output.rejected": {"step": 7, "digest": "d"},
}
NULLABLE = {
    "allocation.notice": {"deadline"},
    "telemetry.watch": {"cadence_us", "keep_us", "gpus"},
    "telemetry.job_stats": {
        *("keep_us", "energy_mj", "power_w", "sm_util", "mem_util", "processes"),
    },
    "checkpoint.restored": {"checkpoint"},
    "decision.resolution": {"gpus"},
}
# Either of the two has to be there, which has a test of its own.
EITHER = {("allocation.started", "gpus"), ("allocation.started", "gpu_count")}

REQUIRED = sorted(
    (kind, name)
    for kind, one in RECORDS.items()
    for name in one["body"].keys() - OPTIONAL.get(kind, {}).keys()
    if (kind, name) not in EITHER
)
STATED_OPTIONS = [(kind, name) for kind, fields in OPTIONAL.items() for name in fields]


def refusal(one: Json) -> str | None:
    """Give the code for which a record is refused, None if it is admitted."""
    try:
        read_line(as_line(one))
    except RefusedLineError as error:
        return error.code
    return None


def with_body(kind: str, **change: Any) -> Json:
    """Give a record of a kind with some fields changed."""
    return RECORDS[kind] | {"body": RECORDS[kind]["body"] | change}


def test_every_kind_with_a_body_is_tried() -> None:
    """A kind that is added without a test is seen."""
    assert RECORDS.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_of_each_kind_is_admitted(kind: str) -> None:
    """What the tests below break is good."""
    assert refusal(RECORDS[kind]) is None


@pytest.mark.parametrize(("kind", "name"), REQUIRED)
def test_a_required_field_is_there(kind: str, name: str) -> None:
    """A field that is not marked optional is required, even where it may be null."""
    body = {key: value for key, value in RECORDS[kind]["body"].items() if key != name}

    assert refusal(RECORDS[kind] | {"body": body}) == "bad_body"


@pytest.mark.parametrize(("kind", "name"), REQUIRED)
def test_a_required_field_is_null_only_where_the_table_says_so(kind: str, name: str) -> None:
    """Null is a value that few fields can have."""
    expected = None if name in NULLABLE.get(kind, ()) else "bad_body"

    assert refusal(with_body(kind, **{name: None})) == expected


@pytest.mark.parametrize(("kind", "name"), STATED_OPTIONS)
def test_an_optional_field_may_be_stated_or_null(kind: str, name: str) -> None:
    """Null means absent for every optional field."""
    stated = with_body(kind, **{name: OPTIONAL[kind][name]})

    assert refusal(stated) is None
    assert refusal(with_body(kind, **{name: None})) is None


@pytest.mark.parametrize(("kind", "name"), [*REQUIRED, *STATED_OPTIONS])
def test_a_field_has_its_type(kind: str, name: str) -> None:
    """A list with an object in it with another list in it is no field of any kind."""
    assert refusal(with_body(kind, **{name: [{"x": [True]}]})) == "bad_body"


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_is_missing_only_where_it_means_something(kind: str) -> None:
    """`at` may be null for the kinds whose table has no meaning for it (rule 4)."""
    expected = None if kind in UNTIMED else "time_missing"

    assert refusal(RECORDS[kind] | {"at": None}) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_further_fields_are_let_be(kind: str) -> None:
    """A field that the table does not have is allowed and ignored."""
    assert refusal(with_body(kind, further={"x": [1, None, "é"]})) is None


@pytest.mark.parametrize("kind", ["telemetry.fan_speed", "invoice.line", "receipt.issued", ""])
def test_a_kind_without_a_body_is_admitted_unchecked(kind: str) -> None:
    """Kinds of other versions are stored, whatever they say (rule 6)."""
    assert refusal(record(kind, None, {"attempt": 7, "run": []})) is None


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("allocation.started", {"scheduler": "pbs"}),
        ("allocation.started", {"capacity": "SPOT"}),
        ("allocation.started", {"gpus": None}),
        ("allocation.started", {"gpus": None, "gpu_count": None}),
        ("allocation.started", {"gpu_count": -1}),
        ("allocation.started", {"gpu_count": True}),
        ("allocation.started", {"gpus": [{"uuid": "g"}]}),
        ("allocation.started", {"gpus": [{"uuid": "g", "node": "n", "index": "0"}]}),
        ("allocation.started", {"gpus": ["g"]}),
        ("allocation.started", {"nodes": "n"}),
        ("allocation.started", {"nodes": [7]}),
        ("allocation.ended", {"ended_by": "nobody"}),
        ("allocation.ended", {"exit_code": "0"}),
        ("allocation.notice", {"by": "user"}),
        ("progress.waiting", {"reason": "lunch"}),
        ("progress.step", {"step": "7"}),
        ("checkpoint.begun", {"blocking": 1}),
        ("checkpoint.verified", {"ok": "true"}),
        ("device.inventory", {"devices": [{"uuid": "g"}]}),
        ("device.inventory", {"devices": [{"uuid": "g", "index": 0, "mig": "yes"}]}),
        ("device.inventory", {"devices": [{"uuid": "g", "index": 0, "minor": "0"}]}),
        ("device.inventory", {"devices": [{"uuid": "g", "index": 0, "pci_bus_id": 1}]}),
        ("telemetry.points", {"points": {}}),
        ("telemetry.points", {"points": [["2026-03-01T00:00:00.000000Z"]]}),
        ("telemetry.points", {"points": [["2026-03-01T00:00:00.000000Z", 50]]}),
        ("telemetry.points", {"points": [["2026-03-01T00:00:00.000000Z", "1", "2"]]}),
        ("telemetry.points", {"points": [[0, "1"]]}),
        ("telemetry.points", {"points": ["x"]}),
        ("telemetry.points", {"points": [[]]}),
        ("telemetry.job_stats", {"power_w": "many"}),
        ("telemetry.job_stats", {"power_w": True}),
        ("telemetry.job_stats", {"power_w": "NaN"}),
        ("decision.resolution", {"disposition": "hold"}),
        ("decision.resolution", {"disposition": "credit"}),
        ("decision.resolution", {"disposition": "credit:3/2"}),
        ("decision.resolution", {"disposition": "share:0/0"}),
        ("decision.resolution", {"disposition": "share:-1/2"}),
        ("decision.resolution", {"disposition": "charge:1/2"}),
        ("decision.adjustment", {"amount": "1,50"}),
        ("decision.adjustment", {"amount": "1."}),
        ("decision.adjustment", {"amount": "1e2"}),
        ("decision.adjustment", {"amount": ""}),
    ],
)
def test_a_field_has_an_allowed_value(kind: str, change: Json) -> None:
    """A word that is not allowed, or a part of the wrong type, is a bad body (rule 4)."""
    assert refusal(with_body(kind, **change)) == "bad_body"


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("allocation.started", {"gpus": None, "gpu_count": 0}),
        ("allocation.started", {"gpus": [], "gpu_count": None}),
        ("allocation.started", {"gpus": [{"uuid": "g", "node": "n", "index": None}]}),
        ("device.inventory", {"devices": []}),
        ("device.inventory", {"devices": [{"uuid": "g", "index": 0, "mig": None, "minor": 3}]}),
        ("telemetry.points", {"points": []}),
        ("telemetry.points", {"points": [["2026-03-01T00:00:00.000000Z", "N/A"]]}),
        ("telemetry.job_stats", {"power_w": "431.88", "energy_mj": -1}),
        ("decision.resolution", {"disposition": "exclude"}),
        ("decision.resolution", {"disposition": "credit:0/1"}),
        ("decision.resolution", {"disposition": "share:4/4"}),
        ("decision.adjustment", {"amount": "-0.005"}),
        ("decision.adjustment", {"amount": "+12"}),
    ],
)
def test_the_last_allowed_value_is_admitted(kind: str, change: Json) -> None:
    """What lies just inside the rules is good."""
    assert refusal(with_body(kind, **change)) is None


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("allocation.started", {"gpus": None, "gpu_count": 10**9}),
        ("allocation.started", {"gpus": None, "gpu_count": 2**53 - 1}),
        ("decision.adjustment", {"amount": "9" * 5_000}),
        ("decision.adjustment", {"amount": "0." + "9" * 5_000}),
        ("decision.resolution", {"disposition": "credit:1/" + "9" * 5_000}),
        ("decision.resolution", {"disposition": "share:" + "9" * 5_000 + "/1"}),
    ],
)
def test_a_number_beyond_all_use_is_refused(kind: str, change: Json) -> None:
    """Thousands of digits, or a thousand million GPUs, are a bad body and never a crash."""
    assert refusal(with_body(kind, **change)) == "bad_body"


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("allocation.notice", {"deadline": "soon"}),
        ("telemetry.samples", {"from": "2026-03-01"}),
        ("telemetry.samples", {"to": ""}),
        ("telemetry.job_stats", {"start": "x"}),
        ("telemetry.job_stats", {"end": "x"}),
        ("telemetry.scrape_failed", {"from": "x"}),
        ("decision.resolution", {"to": "x"}),
        ("telemetry.points", {"points": [["x", "1"]]}),
        ("telemetry.points", {"points": [["x", 1]], "gpu": 7}),
        ("decision.resolution", {"clause": 7, "to": "x"}),
        ("decision.resolution", {"from": "x", "note": None}),
    ],
)
def test_a_time_of_a_body_has_its_one_form(kind: str, change: Json) -> None:
    """A string that should be a time is a bad time, whatever else is wrong (rule 4)."""
    assert refusal(with_body(kind, **change)) == "bad_time"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("", "bad_body"),
        ("k" * 200, None),
        ("k" * 201, "bad_body"),
        ("é" * 100, None),
        ("é" * 101, "bad_body"),
        ("slurm:c1:4242:1767225600 x", None),
        ("a\nb", "bad_body"),
        ("a\x00", "bad_body"),
        ("a\u200b", "bad_body"),
        (7, "bad_body"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "name"),
    [("progress.step", "attempt"), ("attempt.same", "same_as"), ("run.declared", "run")],
)
def test_a_key_is_printable_and_of_1_to_200_bytes(
    kind: str, name: str, key: Any, expected: str | None
) -> None:
    """Attempt keys and run ids are names that people can read (rule 6)."""
    assert refusal(with_body(kind, **{name: key})) == expected
