"""How much the fault tests try: a sample by default, all with ``TALLYSTICK_FAULTS=full``."""

import os

IS_FULL = os.environ.get("TALLYSTICK_FAULTS") == "full"


def tries(sample: int, full: int) -> int:
    """Give the number that counts in this run."""
    return full if IS_FULL else sample
