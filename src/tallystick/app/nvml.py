"""Sampling into a store: each batch is in the log before the next is begun."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from tallystick.app.admit import Admission, OnBatch, admit_collected
from tallystick.collectors.collected import Collected
from tallystick.stores.protocol import Store

FINDINGS_MAX: Final = 1000  # Shown at the end; the log has all of them.
COLLECTOR: Final = "nvml"


def store_samples(store: Store, batches: Iterable[Collected], on_batch: OnBatch) -> Admission:
    """Admit batches as they come, and add up what became of them.

    Args:
        store: Where records go.
        batches: What was sampled; taking the next one samples on.
        on_batch: Told what became of records.

    Raises:
        TallystickError: the store cannot take more; what it took stays.
    """
    total = Admission(Counter())
    for batch in batches:
        admission = admit_collected(store, batch, COLLECTOR, on_batch)
        total.counts.update(admission.counts)
        total.findings.extend(admission.findings[: FINDINGS_MAX - len(total.findings)])
        total.size = admission.size
    return total
