"""Pulling: raw samples of a live server, span by span, sealed into a store.

A span is sealed and then noted as done, with what is carried into the next. Spans lie on a
grid of whole lengths since 1970, so the same time is cut the same way.
"""

from collections.abc import Callable
from pathlib import Path

from tallystick.app.errors import UnwritableFileError
from tallystick.app.pull_request import Progress, Pulled, PullRequest
from tallystick.app.pull_spans import SpanWork
from tallystick.app.pull_state import PullState, load_state, save_state, state_file
from tallystick.app.store import OpenStore
from tallystick.collectors.pull.fetch import Fetcher, jobs_of, probe, scrapes_of
from tallystick.collectors.pull.rows import US_OF_MS, Stretch
from tallystick.collectors.pull.wire import Server

__all__ = ["Progress", "PullRequest", "Pulled", "pull"]

OnProgress = Callable[[Progress], None]


def pull(
    store: OpenStore,
    server: Server,
    request: PullRequest,
    on_progress: OnProgress = lambda _: None,
) -> Pulled:
    """Pull raw samples into a store; a pull that was cut short goes on where it was.

    Raises:
        TallystickError: the server or the disk fails; what was sealed is kept.
    """
    kind = request.kind or probe(server)
    asked = request.to_json(server.url)
    path = state_file(store.folder.path, asked)
    _make_folder(path.parent)
    start_ms = -(-request.from_us // US_OF_MS)
    whole = Stretch(start_ms, -(-request.to_us // US_OF_MS))
    found = load_state(path, asked)
    state = found or PullState(
        asked=asked, done_ms=start_ms, span_ms=max(request.span_us // US_OF_MS, 1)
    )
    work = SpanWork(store, Fetcher(server, kind), request, state, Pulled(kind))
    work.pulled.resumed = found is not None
    jobs = {job for query in request.queries for job in jobs_of(server, query.match, whole)}
    work.scrapes_match = scrapes_of(jobs) if jobs else None
    while state.done_ms < whole.end_ms:
        if work.do_span(whole.end_ms):
            save_state(path, state)
            on_progress(
                Progress(state.done_ms - start_ms, whole.end_ms - start_ms, work.pulled.rows)
            )
    work.finish()
    state.is_complete = True
    save_state(path, state)
    with store.log.reading() as log:
        work.pulled.size = log.size
    return work.pulled


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(str(folder), (error.strerror or str(error)).lower()) from error
