"""The leaves of a run: with them alone it is rated as from the whole log."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.evidence.admission import Withheld, admit_leaves
from tallystick.receipt.assemble import prepare, receipts_in, with_scanned
from tallystick.receipt.bundle.run_leaves import Logged, RunLeaves, leaves_of_run
from tallystick.stores.delivery import write_own
from tests.evidence import records as r
from tests.rating.rated import HELD_WHEN_DARK, contract
from tests.receipt.bundle.bundles import (
    SHA256,
    Json,
    Log,
    numbered,
    record_of,
    samples,
    scan,
    story,
)


def choose(log: Log, run: str = "run", size: int | None = None) -> RunLeaves:
    """Choose the leaves of a run."""
    logged = [Logged(number, record_of(leaf)) for number, leaf in enumerate(log.leaves())]
    return leaves_of_run(logged, run, contract="acme", size=log.size if size is None else size)


def chosen_of(*records: Json, run: str = "run") -> list[Json]:
    """Log some records and give those that bear on a run."""
    log = Log()
    log.deliver(*records)
    return [records[number] for number in choose(log, run).numbers]


A = st.sampled_from(["a", "b", "x", "run"])
RUN = st.sampled_from(["run", "other", "a"])
NODE = st.sampled_from(["n", "m"])
GPUS = st.lists(st.sampled_from(["g1", "g2", "g3@m"]), min_size=1, max_size=2, unique=True)
GPU = st.sampled_from(["g1", "g2", "g3"])
CLOCK = st.sampled_from(["00:00", "00:20", "00:40", "01:00", "01:30"])
RECORDS: st.SearchStrategy[Json] = st.one_of(
    st.builds(r.declared, RUN, CLOCK),
    st.builds(r.linked, A, RUN, CLOCK),
    st.builds(r.same, A, A),
    st.builds(
        lambda at, attempt, run, gpus: r.started(at, attempt=attempt, run=run, gpus=" ".join(gpus)),
        CLOCK, A, st.none() | RUN, GPUS,
    ),
    st.builds(lambda at, attempt: r.ended(at, attempt=attempt), CLOCK, A),
    st.builds(lambda at, n, attempt: r.step(at, n, attempt=attempt), CLOCK, st.integers(1, 9), A),
    st.builds(lambda gpu, cadence: r.points("00:10 00:30=150 00:35=null 00:50", gpu,
              cadence_s=cadence), GPU, st.sampled_from([60, 900])),
    st.builds(lambda gpu, name: samples(gpu, "00:00", "01:00", name * 64), GPU,
              st.sampled_from("ab")),
    st.builds(r.watch, CLOCK, NODE),
    st.builds(r.engine_started, CLOCK, NODE),
    st.builds(lambda at, gpu, node, mig: r.inventory(at, gpu, node, mig=mig), CLOCK, GPU, NODE,
              st.booleans()),
    st.builds(lambda node: r.scrape_failed("00:20", "00:40", node), NODE),
    st.builds(lambda gpu, attempt: r.job_stats("01:40", "00:00", "01:00", gpu, keep_s=9999,
              attempt=attempt), GPU, A),
    st.builds(lambda run, attempt: r.resolution("charge", run=run, attempt=attempt), RUN, A),
    st.builds(lambda run: r.adjustment("1.00", run=run), RUN),
    st.builds(r.accepted, CLOCK, RUN),
)  # fmt: skip


BASE = [
    r.started("00:00", gpus="g1 g2", attempt="a"),
    r.ended("01:00", attempt="a"),
    r.started("00:20", gpus="g1 g3@m", attempt="b", run="other"),
    r.ended("01:30", attempt="b"),
]


@settings(max_examples=300)
@given(
    st.lists(
        st.builds(
            lambda one, producer, boot, seq: r.numbered(r.by(producer, one), seq, boot),
            RECORDS,
            st.sampled_from(["p", "q"]),
            st.sampled_from(["b1", "b2", None]),
            st.integers(0, 20),
        ),
        min_size=1,
        max_size=25,
    )
)
def test_a_run_is_rated_the_same_from_its_leaves(records: list[Json]) -> None:
    """Whatever the log holds, the receipt of each run follows from the leaves chosen for it."""
    log = Log()
    log.publish(contract(HELD_WHEN_DARK))
    log.deliver(*BASE, *records)
    whole = log.case()

    for each in whole.grouping.runs:
        chosen = choose(log, each.run)
        leaves = log.leaves()
        part = prepare(
            admit_leaves([leaves[number] for number in chosen.numbers], chosen.withheld),
            whole.contracts,
        )
        rated = receipts_in(with_scanned(part, scan(part, each.run)), each.run).predicates
        assert rated == (log.predicate(each.run),)


def test_records_of_others_are_left_out() -> None:
    """What names another run, or devices that this one never held, has no say."""
    ours = [r.started("00:00", gpus="g1"), r.step("00:10", 1), r.points("00:10")]
    others = [
        r.declared("other"),
        r.started("00:00", attempt="b", run="other", gpus="g1 g2", nodes=["m"]),
        r.step("00:10", 1, attempt="b"),
        r.points("00:10", "g2"),
        samples("g2 g3", "00:00", "01:00"),
        r.watch("00:00", "m"),
        r.engine_started("00:00", "m"),
        r.scrape_failed("00:00", "00:10", "m"),
        r.inventory("00:00", "g2", "m"),
        r.job_stats("01:00", "00:00", "01:00", attempt="b"),
        r.record("allocation.row", None, {"scheduler": "slurm", "cluster": "c1", "raw": {},
                                          "resolution_us": 1}),
    ]  # fmt: skip

    assert chosen_of(*ours, *others) == ours


def test_a_record_of_an_unknown_kind_may_name_the_run() -> None:
    """What has no effect today is shown all the same if it says whom it is about."""
    ours = [r.started(), r.record("x", None, {"run": "run"}), r.record("x", None, {"attempt": "a"})]
    odd = [r.record("x", None, {"run": ["run"]}), r.record("x", None, {"attempt": ["a"]})]

    assert chosen_of(*ours, *odd) == ours


def test_all_records_of_an_attempt_are_there_if_a_record_of_the_run_names_it() -> None:
    """Otherwise an attempt of another run could look like one of this."""
    records = [
        r.linked("b", "other", "00:00"),
        r.linked("b", "run", "00:10"),
        r.started(attempt="b", run=None),
    ]

    assert chosen_of(*records) == records


def test_what_is_left_of_dropped_segments_is_there() -> None:
    """The log holds what a segment said, for the segments that the run's GPUs are in."""
    log = Log()
    log.deliver(r.started(), samples("g1", "00:00", "01:00"))
    for segment in (f"sha256:{SHA256}", "sha256:" + "0" * 64):
        body: Json = {"segment": segment, "policy": "age", "windows": []}
        with log.store.writing() as writing:
            write_own(writing, "telemetry.dropped", body, 0, at_us=0)

    assert choose(log).numbers == (0, 1, 2)


def test_the_log_tells_of_the_contract_the_receipts_and_its_keys() -> None:
    """After the evidence only its own words count, and of receipts those of the run."""
    log = story()
    size = log.size
    log.publish(contract(version=2))
    log.publish(contract().replace(b'"acme"', b'"other"'))
    first = log.receipt()
    theirs, ours = log.receipt("other"), log.receipt("run", before=first)
    log.deliver(r.step("00:12", 3))
    issued = [log.issue(each) for each in (first, theirs, ours)]
    log.rotate()

    later = [number for number in choose(log, size=size).numbers if number >= size]
    all_of_it = [number for number in choose(log).numbers if number >= size]

    assert later == [issued[0], issued[2], log.size - 1]
    assert all_of_it == [size, size + 2, *later]


def test_others_cannot_speak_for_the_log() -> None:
    """A contract, a receipt or a key of another producer is none."""
    said = [
        r.record("contract.published", None, {"contract": "acme"}),
        r.record("key.rotated", None, {}),
        r.record("delivery.repeated", None, {"producer": "p", "id": "i", "boot": None, "seq": 1}),
    ]

    assert chosen_of(r.started(), *said) == [r.started()]


def test_what_the_log_says_of_deliveries_of_the_same_producers_is_there() -> None:
    """Copies and conflicts of a producer of the run, whatever they were about."""
    log = Log()
    step = r.step("00:10", 1, attempt="b")
    log.deliver(r.numbered(r.started(), 0), r.numbered(step, 1), r.by("q", step))
    log.deliver(r.numbered(step, 2), r.numbered(r.by("q", step), 2))
    log.deliver(step | {"kind": "x"}, r.by("q", step) | {"kind": "x"})
    log.say("delivery.repeated", producer=7)

    kinds = [record_of(log.leaves()[number]).kind for number in choose(log).numbers]

    assert kinds == ["allocation.started", "delivery.repeated", "delivery.conflict"]


def test_numbers_that_came_and_are_not_shown_are_withheld() -> None:
    """Of every boot of the run's producers, in ranges; what never came is not among them."""
    theirs = [r.step("00:10", n, attempt="b") for n in range(9)]
    log = Log()
    log.deliver(*numbered(*theirs[:3]), *numbered(r.started(), start=3))
    log.deliver(*numbered(*theirs[3:5], start=4), *numbered(theirs[5], start=9))
    log.deliver(*numbered(theirs[6], start=7, boot="b2"), *numbered(theirs[7], start=8, boot=None))
    log.deliver(*numbered(r.by("q", theirs[8]), start=1))
    log.deliver(*numbered(r.by("q", theirs[8]), start=3))

    withheld = choose(log).withheld

    assert withheld == (
        Withheld("p", "b1", ((0, 2), (4, 5), (9, 9))),
        Withheld("p", "b2", ((7, 7),)),
        Withheld("p", None, ((8, 8),)),
    )


def test_a_number_that_is_shown_is_not_withheld() -> None:
    """Two records of one number: if one of them is there, the number is."""
    log = Log()
    log.deliver(r.numbered(r.started(), 1), r.numbered(r.step("00:10", 1, attempt="b"), 1))

    assert choose(log) == RunLeaves((0,), ())


def test_numbers_after_the_evidence_do_not_count() -> None:
    """The receipt was computed from a beginning of the log, and so are the numbers."""
    log = Log()
    log.deliver(*numbered(r.started()))
    size = log.size
    log.deliver(*numbered(r.step("00:10", 1, attempt="b"), r.step("00:10", 1), start=1))

    assert choose(log, size=size) == RunLeaves((0,), ())
