"""Batches of samples go into a store one by one, and are counted together."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tallystick.app import nvml
from tallystick.app.nvml import store_samples
from tallystick.app.store import OpenStore
from tallystick.collectors.collected import Collected
from tallystick.core.finding import InputFinding
from tests.app.stores import new_store, size_of
from tests.evidence.records import ended, started


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    """Make a store."""
    with new_store(tmp_path) as opened:
        yield opened


def test_what_became_of_all_batches_is_counted(store: OpenStore) -> None:
    """A batch that comes again adds nothing."""
    batches = [Collected([started()]), Collected([ended("01:00")]), Collected([started()])]

    admission = store_samples(store.log, batches, lambda _: None)

    assert (admission.counts["accepted"], admission.counts["exists"]) == (2, 1)
    assert admission.size == size_of(store) == 2


def test_a_batch_is_in_the_log_before_the_next_is_sampled(store: OpenStore) -> None:
    """So a crash costs one batch at most."""
    sizes = []

    def batches() -> Iterator[Collected]:
        for record in (started(), ended("01:00")):
            yield Collected([record])
            sizes.append(size_of(store))

    store_samples(store.log, batches(), lambda _: None)

    assert sizes == [1, 2]


def test_findings_that_are_shown_are_few_and_the_log_has_all(
    store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sampler runs for months."""
    monkeypatch.setattr(nvml, "FINDINGS_MAX", 2)
    batches = [
        Collected(findings=[InputFinding("board_unreadable", f"board {n}")]) for n in range(4)
    ]

    admission = store_samples(store.log, batches, lambda _: None)

    assert [finding.message for finding in admission.findings] == ["board 0", "board 1"]
    assert size_of(store) == 4
