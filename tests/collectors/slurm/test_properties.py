"""What holds for every input: order, repetition, expansion, and never a crash."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.collectors.collected import Source
from tallystick.collectors.slurm import SlurmOptions, collect_slurm
from tallystick.collectors.slurm.hostlist import expand_hosts
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.codec import read_line

Collect = Callable[..., Any]

OPTIONS = SlurmOptions(cluster="c7", timezone="America/Chicago", observed_us=0)
CAPTURED = Path(__file__).parents[2] / "fixtures" / "slurm"
SEEDS = [
    (CAPTURED / name).read_bytes()
    for name in (
        "b7_sacct_D_manual_requeue.psv",
        "m_sacct_odd_names.json",
        "a_scontrol_show_job_d_running.txt",
        "hooks/1796068144.121716754.Prolog.job2.n1.3300",
    )
]


@given(
    st.lists(
        st.tuples(st.sampled_from(["g", "r1n"]), st.integers(0, 120), st.integers(0, 9)),
        min_size=1,
        max_size=6,
    )
)
def test_a_host_list_expands_to_what_it_was_made_of(groups: list[tuple[str, int, int]]) -> None:
    """Ranges, widths and suffixes come back as names, each once and in order."""
    text = ",".join(f"{stem}[{low:03}-{low + more:03}]x" for stem, low, more in groups)

    expanded = expand_hosts(text)

    wanted = [f"{stem}{low + i:03}x" for stem, low, more in groups for i in range(more + 1)]
    assert expanded == tuple(dict.fromkeys(wanted))


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a1", ["a1"]),
        ("a[1-3,7]", ["a1", "a2", "a3", "a7"]),
        ("n[009-011]", ["n009", "n010", "n011"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("r[1-2]n[0-1],login1", ["r1n0", "r1n1", "r2n0", "r2n1", "login1"]),
        ("node[01-02]-int", ["node01-int", "node02-int"]),
        ("a1\na2", ["a1", "a2"]),
        ("a1,a[1-2]", ["a1", "a2"]),
        ("None assigned", []),
        ("(null)", []),
    ],
)
def test_host_lists_of_every_form(text: str, hosts: list[str]) -> None:
    """Widths matter, commas in brackets do not separate, and words for none give none."""
    assert list(expand_hosts(text)) == hosts


@given(st.permutations(range(8)))
@settings(max_examples=20)
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    """Shuffled rows give the same records."""
    header, *rows = (CAPTURED / "c_sacct_D.psv").read_text().splitlines()[:9]
    shuffled = "\n".join([header, *(rows[place] for place in order)]).encode()

    collected = collect_slurm([Source("shuffled", shuffled)], OPTIONS)

    straight = collect_slurm([Source("x", "\n".join([header, *rows]).encode())], OPTIONS)
    key = canonical_bytes
    assert sorted(map(key, collected.records)) == sorted(map(key, straight.records))


def test_collecting_twice_gives_the_same_ids(captured_files: dict[str, bytes]) -> None:
    """Only the moment of looking differs, and it is no part of an id."""
    sources = [Source(name, data) for name, data in captured_files.items()]
    later = SlurmOptions(cluster="c7", timezone="America/Chicago", observed_us=10**15)

    first, second = collect_slurm(sources, OPTIONS), collect_slurm(sources, later)

    assert [r["id"] for r in first.records] == [r["id"] for r in second.records]
    assert first.findings == second.findings


@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 6000), st.binary(max_size=3)), max_size=4),
    st.integers(0, 7000),
)
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_inputs_give_findings_or_admissible_records(
    seed: bytes, cuts: list[tuple[int, bytes]], end: int
) -> None:
    """Whatever is overwritten or cut off, nothing crashes and every record is evidence."""
    data = seed[:end]
    for place, new in cuts:
        data = data[:place] + new + data[place + len(new) :]

    collected = collect_slurm([Source("damaged", data)], OPTIONS)

    assert collected.records or collected.findings
    for record in collected.records:
        assert read_line(canonical_bytes(record)).id == record["id"]


@given(st.binary(max_size=200))
def test_noise_is_never_an_attempt(data: bytes) -> None:
    """Bytes at random are one input that holds nothing."""
    collected = collect_slurm([Source("noise", data)], OPTIONS)

    assert collected.records == []
    assert len(collected.findings) >= 1
