"""Statistics in, one ``telemetry.job_stats`` for each GPU out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from tallystick.collectors.collected import Collected, Place, Source
from tallystick.collectors.dcgm.ctime import instants_us, pairs_that_last
from tallystick.collectors.dcgm.inventory import DeviceMap, printed_devices, recorded_devices
from tallystick.core.finding import InputFinding
from tallystick.core.instant import format_instant
from tallystick.emit.dcgm.report import GpuBlock, Report, read_report
from tallystick.emit.dcgm.values import known, read_values
from tallystick.evidence.codec import RefusedLineError, read_line
from tallystick.evidence.draft import draft_record
from tallystick.evidence.record import Record


@dataclass(frozen=True, slots=True)
class DcgmOptions:
    """What the prints do not say themselves.

    Args:
        attempt: Key of the attempt that the job statistics were kept for.
        node: Node they were read on.
        timezone: Zone of that node's clock.
        read_us: When they were read.
        keep_us: How long the engine was told to keep samples, None if that is not known.
        observed_us: When the collector looked.
    """

    attempt: str
    node: str
    timezone: tzinfo
    read_us: int
    keep_us: int | None
    observed_us: int


_Problem = tuple[str, str]  # Code and message.


@dataclass(slots=True)
class _Inputs:
    reports: list[tuple[Place, Report]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    findings: list[InputFinding] = field(default_factory=list)


def collect_dcgm(sources: Iterable[Source], options: DcgmOptions) -> Collected:
    """Read statistics, device lists and inventory records, in any order."""
    inputs = _read(sources)
    devices = _devices(inputs, options)
    collected = Collected(findings=inputs.findings)
    for place, report in inputs.reports:
        for block in report.blocks:
            record, problems = _record(block, devices, options)
            if record is not None:
                collected.add(record)
            there = place.on_line(block.line)
            for code, message in problems:
                collected.findings.append(there.finding(code, f"GPU {block.gpu_index}: {message}"))
    return collected


def _read(sources: Iterable[Source]) -> _Inputs:
    inputs = _Inputs()
    for source in sources:
        if source.data.lstrip().startswith(b"{"):
            _read_evidence(source, inputs)
        else:
            _read_report(source, inputs)
    _look_for_blocks(inputs)
    return inputs


def _read_evidence(source: Source, inputs: _Inputs) -> None:
    for place, line in source.lines():
        try:
            inputs.records.append(read_line(line))
        except RefusedLineError as error:
            message = f"{error.code}: {error.message}"
            inputs.findings.append(place.finding("bad_line", message))


def _read_report(source: Source, inputs: _Inputs) -> None:
    report = read_report(source.data.decode("utf-8-sig", errors="replace"))
    inputs.reports.append((source.place, report))
    for line, text in report.errors:
        inputs.findings.append(source.place.on_line(line).finding("dcgm_error", text))
    if report.is_empty:
        message = "expected job statistics, a device list or inventory records"
        inputs.findings.append(source.place.finding("unrecognised_input", message))


def _look_for_blocks(inputs: _Inputs) -> None:
    """A summary is a sum over GPUs, so statistics without a block say nothing of any (r26)."""
    if any(report.blocks for _, report in inputs.reports):
        return
    for place, report in inputs.reports:
        if report.has_statistics:
            message = "no block of a GPU: dcgmi prints them with -v, and none under MIG"
            inputs.findings.append(place.finding("no_gpu_block", message))
    if not inputs.findings:
        inputs.findings.append(InputFinding("no_gpu_block", "no job statistics in any input"))


def _devices(inputs: _Inputs, options: DcgmOptions) -> DeviceMap:
    """A list printed in the same call is of the read itself and so later than any record."""
    lists = [report.devices for _, report in inputs.reports if report.has_device_list]
    if lists:
        return printed_devices(lists)
    return recorded_devices(inputs.records, options.node, options.read_us)


def _record(
    block: GpuBlock, devices: DeviceMap, options: DcgmOptions
) -> tuple[dict[str, Any] | None, tuple[_Problem, ...]]:
    """Give the record of a block, or none, and what is wrong with it."""
    problems: tuple[_Problem, ...] = ()
    if not block.whole:
        cut = "the text breaks off within the block; what is not there is null"
        problems = (("block_cut_short", cut),)
    start, end = block.rows.get("Start Time", ""), block.rows.get("End Time", "")
    starts_us = instants_us(start, options.timezone)
    ends_us = instants_us(end, options.timezone)
    duration_s = known(block.rows.get("Total Execution Time (sec)"))
    spans_us = pairs_that_last(starts_us, ends_us, duration_s)
    if block.gpu_index not in devices:
        unmapped = f"no inventory of {options.node} says which device this index is"
        return None, (*problems, ("gpu_unmapped", unmapped))
    if not starts_us or not ends_us:
        times = f"expected two times that exist in {options.timezone}, got {start!r} and {end!r}"
        return None, (*problems, ("bad_time", times))
    if len(spans_us) != 1:
        readings = f"{start} to {end} has {len(spans_us)} readings of the printed duration"
        return None, (*problems, ("ambiguous_time", readings))
    return _draft(block, devices[block.gpu_index], spans_us[0], options), problems


def _draft(
    block: GpuBlock, gpu: str, span_us: tuple[int, int], options: DcgmOptions
) -> dict[str, Any]:
    body = {
        "attempt": options.attempt,
        "gpu": gpu,
        "start": format_instant(span_us[0]),
        "end": format_instant(span_us[1]),
        "keep_us": options.keep_us,
        **read_values(block.rows),
    }
    return draft_record(
        "telemetry.job_stats",
        body,
        producer=f"dcgm/{options.node}",
        at_us=options.read_us,
        observed_us=options.observed_us,
    )
