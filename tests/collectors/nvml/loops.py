"""Running the loop of sampling, with clocks that a test moves."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tallystick.collectors.nvml import Pace, SampleSettings, sample
from tallystick.collectors.nvml.library import Nvml
from tallystick.core.instant import SECOND_US
from tallystick.evidence.admission import admit
from tests.evidence.records import as_line, clock, moment_us

Json = dict[str, Any]
START = "01:00"


@dataclass
class Clocks:
    """Clocks that stand still but for waits; ``at`` says what happens at which second."""

    at: dict[int, Callable[[], None]] = field(default_factory=dict)
    stop_s: int | None = None
    step_us: int = 0
    passed_us: int = 0

    def pace(self) -> Pace:
        """Give the clocks to a loop."""
        start_us = moment_us(START)
        return Pace(
            lambda: start_us + self.passed_us + self.step_us, lambda: self.passed_us, self.wait
        )

    def wait(self, us: int) -> bool:
        """Let time pass, and what was to happen meanwhile."""
        until_us = self.passed_us + us
        for second in sorted(self.at):
            if self.passed_us < second * SECOND_US <= until_us:
                self.at[second]()
        self.passed_us = max(until_us, self.passed_us)
        return self.stop_s is not None and self.passed_us >= self.stop_s * SECOND_US


def run(nvml: Nvml, clocks: Clocks, *, every_s: int = 10, for_s: int | None = 30) -> list[Json]:
    """Sample, and give all records, which a log would admit."""
    settings = SampleSettings(
        node="n1",
        every_us=every_s * SECOND_US,
        for_us=None if for_s is None else for_s * SECOND_US,
    )
    records = [
        record for batch in sample(nvml, settings, clocks.pace()) for record in batch.records
    ]
    evidence = admit([[as_line(each) for each in records]])
    assert (len(evidence.records), evidence.findings) == (len(records), ())
    return records


def told(records: list[Json], kind: str) -> list[Json]:
    """Give the bodies of a kind, with the time of the record."""
    return [
        each["body"] | {"at": each["at"] and clock(each["at"])}
        for each in records
        if each["kind"] == kind
    ]
