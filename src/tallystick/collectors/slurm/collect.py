"""Collecting from Slurm: inputs of any kind and number in, records and findings out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from tallystick.collectors.collected import Collected, Place, Source
from tallystick.collectors.json_text import NotJsonError, part, read_json, read_text
from tallystick.collectors.slurm import jobs_json, psv, scontrol
from tallystick.collectors.slurm.attempts import (
    Output,
    attempt_keys,
    begin_after_resize,
    describe_attempt,
    describe_row,
    missing_history,
)
from tallystick.collectors.slurm.errors import BadHookError, BadRowError
from tallystick.collectors.slurm.hooks import HookCall, read_hook
from tallystick.collectors.slurm.join import (
    HookKey,
    describe_hooks,
    group_calls,
    join_hook,
    merge_attempts,
    recorded_hooks,
)
from tallystick.collectors.slurm.options import SlurmOptions, check_options
from tallystick.collectors.slurm.passed import read_evidence
from tallystick.collectors.slurm.recognise import InputKind, decode, recognise, spell_out
from tallystick.collectors.slurm.row import JobRow
from tallystick.core.canonical import canonical_bytes, sha256_digest
from tallystick.core.finding import InputFinding

_Read = JobRow | HookCall | Output


@dataclass(slots=True)
class _Inputs:
    """What all inputs of a call hold, each thing once."""

    rows: list[JobRow] = field(default_factory=list)
    calls: list[HookCall] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """What was collected, and the rows that it came from, each with its attempt key."""

    collected: Collected
    rows: tuple[tuple[JobRow, str], ...]


def collect_slurm(sources: Sequence[Source], options: SlurmOptions) -> Collected:
    """Read accounting rows, controller rows, hook dumps and evidence lines, in any mix.

    Raises:
        TallystickError: an option is wrong; see ``check_options``.
    """
    return collect_rows(sources, options).collected


def keyed_rows(sources: Sequence[Source], options: SlurmOptions) -> list[tuple[JobRow, str]]:
    """Read the rows of inputs, each with its attempt key, and nothing else.

    Raises:
        TallystickError: an option is wrong; see ``check_options``.
    """
    rows = _read_sources(sources, check_options(options)).rows
    return list(zip(rows, attempt_keys(rows, options.cluster), strict=True))


def collect_rows(
    sources: Sequence[Source], options: SlurmOptions, hooks: Iterable[HookKey] = ()
) -> KeyedRows:
    """Read inputs as ``collect_slurm`` does, and give the rows too.

    Args:
        sources: The inputs.
        options: Declared facts about the cluster.
        hooks: Attempts that hooks told of before, to be joined to the rows.

    Raises:
        TallystickError: an option is wrong; see ``check_options``.
    """
    inputs = _read_sources(sources, check_options(options))
    rows, resized = begin_after_resize(inputs.rows)
    keyed = list(zip(rows, attempt_keys(rows, options.cluster), strict=True))
    attempts = merge_attempts(
        attempt for row, key in keyed if (attempt := describe_attempt(row, key, options))
    )
    passed = [each for each in inputs.outputs if isinstance(each, dict)]
    recorded = [*recorded_hooks(passed, options.cluster), *hooks]
    dumped, unpaired = group_calls(inputs.calls, options.cluster)
    outputs = chain(
        inputs.outputs,
        resized,
        chain.from_iterable(describe_row(row, key, options) for row, key in keyed),
        missing_history(rows),
        _foreign_clusters(rows, options.cluster),
        unpaired,
        *(describe_hooks(hook, attempts.get(hook.known.job_id, ()), options) for hook in dumped),
        *(join_hook(hook, attempts.get(hook.job_id, ()), options) for hook in recorded),
    )
    return KeyedRows(_collect(outputs), tuple(keyed))


def _read_sources(sources: Sequence[Source], zone: ZoneInfo) -> _Inputs:
    inputs = _Inputs()
    seen: set[str] = set()
    for source in sources:
        for item in _read_source(source, zone):
            if isinstance(item, JobRow):
                if _is_new(seen, [item.origin, item.raw]):
                    inputs.rows.append(item)
            elif isinstance(item, HookCall):
                if _is_new(seen, item.text):
                    inputs.calls.append(item)
            else:
                inputs.outputs.append(item)
    return inputs


def _is_new(seen: set[str], content: Any) -> bool:
    digest = sha256_digest(canonical_bytes(content))
    is_new = digest not in seen
    seen.add(digest)
    return is_new


def _read_source(source: Source, zone: ZoneInfo) -> Iterator[_Read]:
    text, place = decode(source.data), source.place
    kind = recognise(text)
    if kind is InputKind.HOOK:
        yield from _read_dump(text, place)
    elif kind is InputKind.EVIDENCE:
        yield from read_evidence(source)
    elif kind is InputKind.JSON:
        yield from _read_document(text, place)
    elif kind is InputKind.SCONTROL:
        yield from _read_scontrol(spell_out(text), place, zone)
    elif kind is InputKind.TABLE:
        yield from _read_table(text, place, zone)
    else:
        wanted = "a sacct -P table with its header, job JSON, scontrol show job or a hook dump"
        found = "an empty input" if not text.strip() else repr(spell_out(text.lstrip()[:40]))
        yield place.finding("unrecognised_input", f"expected {wanted}, got {found}")


def _read_dump(text: str, place: Place) -> Iterator[_Read]:
    try:
        call = read_hook(spell_out(text.lstrip()), place)
    except BadHookError as error:
        yield place.finding(error.code, str(error))
    else:
        if call is not None:
            yield call


def _read_table(text: str, place: Place, zone: ZoneInfo) -> Iterator[_Read]:
    lines = iter(enumerate(text.split("\n"), start=1))
    first = next(line for _, line in lines if line.strip("\r\t "))
    header = psv.read_header(first.lstrip("\t "))
    assert header is not None, "a table is recognised by its header"
    if header.missing:
        names = " and ".join(header.missing)
        yield place.finding("missing_column", f"expected the column {names} for attempt keys")
        return
    for number, line in lines:
        if not line.strip("\r\t ") or line.removesuffix("\r") == header.text:
            continue  # The header comes again where outputs were put behind one another.
        there = place.on_line(number)
        try:
            fields = psv.split_row(header, line)
            if not psv.is_step(fields):
                yield psv.read_row(fields, there, zone)
        except BadRowError as error:
            yield there.finding(error.code, str(error))


def _read_scontrol(text: str, place: Place, zone: ZoneInfo) -> Iterator[_Read]:
    for number, lines in scontrol.split_jobs(text):
        there = place.on_line(number)
        try:
            yield scontrol.read_job(scontrol.split_fields(lines), there, zone)
        except BadRowError as error:
            yield there.finding(error.code, str(error))


def _read_document(text: str, place: Place) -> Iterator[_Read]:
    try:
        document, rest = read_json(text)
    except NotJsonError as error:
        yield place.finding("bad_json", f"expected JSON, got: {error}")
        return
    if rest:
        yield place.finding("trailing_text", f"ignored after the JSON: {spell_out(rest[:40])!r}")
    errors, jobs = part(document, "errors"), part(document, "jobs")
    yield from _source_errors(errors, place)
    if isinstance(jobs, list):
        version = jobs_json.plugin_version(document)
        for number, job in enumerate(jobs, start=1):
            try:
                yield jobs_json.read_job(job, place, version)
            except BadRowError as error:
                yield place.finding(error.code, f"job {number} of the list: {error}")
    elif not errors:
        yield place.finding("unrecognised_input", "expected JSON with a list of jobs, got none")


def _source_errors(errors: Any, place: Place) -> Iterator[InputFinding]:
    for error in errors if isinstance(errors, list) else ():
        texts = [read_text(part(error, name)) for name in ("source", "error", "description")]
        said = ": ".join(filter(None, texts)) or "an error without text"
        yield place.finding("source_error", f"the source answered with an error: {said}")


def _foreign_clusters(rows: Iterable[JobRow], cluster: str) -> Iterator[InputFinding]:
    """Tell once of each other cluster that rows name: their keys bear the one that was given."""
    seen = {"", cluster}
    for row in rows:
        if row.cluster not in seen:
            seen.add(row.cluster)
            message = f"rows name the cluster {row.cluster!r}; their keys bear {cluster!r}"
            yield row.place.finding("cluster_differs", message)


def _collect(outputs: Iterable[Output]) -> Collected:
    collected = Collected()
    for output in outputs:
        if isinstance(output, InputFinding):
            collected.findings.append(output)
        else:
            collected.add(output)
    if not collected.records and not collected.findings:
        message = "the inputs hold no job and no hook of a node: nothing was collected"
        collected.findings.append(InputFinding("nothing_collected", message))
    return collected
