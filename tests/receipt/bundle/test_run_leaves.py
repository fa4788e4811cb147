"""The leaves of a run: with them alone it is rated as from the whole log."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.evidence.admission import Withheld, admit_leaves
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.receipt.assemble import prepare, receipts_in, with_scanned
from tallystick.receipt.bundle.run_leaves import Logged, RunLeaves, leaves_of_run
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
    st.builds(lambda at, run: r.accepted(at, run), CLOCK, RUN),
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
