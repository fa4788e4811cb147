"""Rating without the collector of reference cycles.

Records, timelines and receipts hold no cycles, so counting references frees them all. The
collector would only walk the evidence again and again, a tenth of the time or more with
200,000 records (``bench/rate.py``).
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_cycle_collection() -> Iterator[None]:
    """Pause the collector, and leave it as it was."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
