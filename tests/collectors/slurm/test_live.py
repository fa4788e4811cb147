"""Questions to sacct and slurmrestd, asked of stand-ins that answer as those were seen to."""

import http.server
import json
import socketserver
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tallystick.collectors.slurm import SlurmOptions, collect_slurm
from tallystick.collectors.slurm.live.changes import differences
from tallystick.collectors.slurm.live.errors import (
    BadRestTokenError,
    BadRestUrlError,
    PollFailedError,
)
from tallystick.collectors.slurm.live.rest import SlurmRest
from tallystick.collectors.slurm.live.sacct import DELIMITER, WANTED, Sacct
from tallystick.core.instant import SECOND_US

FIXTURES = Path(__file__).parents[2] / "fixtures" / "slurm"
SIGNED = "eyJhbGciOi"
OPTIONS = SlurmOptions(cluster="testc", timezone="UTC", observed_us=1)
FROM_US, TO_US = 1_770_000_000 * SECOND_US, 1_770_086_400 * SECOND_US


def program(folder: Path, script: str, offered: str = " ".join(WANTED)) -> Sacct:
    """Make a sacct that offers fields and answers with a script; calls go to ``calls``."""
    path = folder / "sacct"
    path.write_text(
        f"""#!/bin/sh
if [ "$1" = --helpformat ]; then echo "{offered}"; exit 0; fi
for word in "$@"; do printf '%s\\n' "$word"; done >> {folder}/calls
env >> {folder}/calls
{script}
"""
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Sacct(str(path))


def test_sacct_is_asked_for_all_rows_of_a_window(tmp_path: Path) -> None:
    """With duplicates, an explicit window, epoch times, and free text last."""
    program(tmp_path, "true").window(FROM_US, TO_US)

    calls = (tmp_path / "calls").read_text().splitlines()
    fields = calls[calls.index("-o") + 1].split(",")
    assert {"-D", "-X", "-P", "-a", "--noconvert", f"--delimiter={DELIMITER}"} <= set(calls)
    assert calls[calls.index("-S") + 1] == "2026-02-02T02:40:00"
    assert calls[calls.index("-E") + 1] == "2026-02-03T02:40:00"
    assert {"TZ=UTC0", "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0", "LC_ALL=C"} <= set(calls)
    assert fields[-1] == "Comment"
    assert "-T" not in calls


def test_fields_that_are_not_offered_are_left_out(tmp_path: Path) -> None:
    """B43: a field that a version does not have would be a fatal error."""
    program(tmp_path, "true", "JobIDRaw Submit Start").window(FROM_US, TO_US)

    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[calls.index("-o") + 1] == "JobIDRaw,Submit,Start"


def test_a_sacct_without_identity_is_no_source(tmp_path: Path) -> None:
    """Without the submit time attempts have no key."""
    with pytest.raises(PollFailedError, match="does not offer the field Submit"):
        program(tmp_path, "true", "JobIDRaw").window(FROM_US, TO_US)


def test_many_jobs_are_asked_for_in_parts(tmp_path: Path) -> None:
    """A command line has an end."""
    sources = program(tmp_path, "true").jobs([str(n) for n in range(1200)], TO_US)

    assert len(sources) == 3


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'sacct: error: Connection refused' >&2; exit 1", "Connection refused"),
        ("echo header; echo 'sacct: error: slow' >&2; exit 0", "slow"),
        ("exit 3", "ended with 3"),
    ],
)
def test_a_sacct_that_fails_is_no_answer(tmp_path: Path, script: str, reason: str) -> None:
    """Older versions ended with 0 all the same, so what they say counts, too."""
    with pytest.raises(PollFailedError, match=reason):
        program(tmp_path, script).window(FROM_US, TO_US)


def test_a_sacct_that_is_not_there_is_no_answer() -> None:
    """The message names it."""
    with pytest.raises(PollFailedError, match="/none/sacct: no such file"):
        Sacct("/none/sacct").window(FROM_US, TO_US)


def test_a_sacct_that_hangs_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up after its limit."""
    monkeypatch.setattr("tallystick.collectors.slurm.live.sacct.LIMIT_S", 0.2)

    with pytest.raises(PollFailedError, match="no answer in"):
        program(tmp_path, "exec sleep 60").window(FROM_US, TO_US)


class Rest(http.server.BaseHTTPRequestHandler):
    """Answers as slurmrestd 22.05 does."""

    answers: dict[str, tuple[int, bytes]]
    asked: list[tuple[str, dict[str, str]]]

    def do_GET(self) -> None:
        """Answer what was put there for the path."""
        self.asked.append((self.path, dict(self.headers)))
        status, data = self.answers.get(urlsplit(self.path).path, (404, b"{}"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """A server on a unix socket."""

    daemon_threads = True

    def get_request(self) -> Any:
        """Give a request the kind of address that its handler wants."""
        request, _ = super().get_request()
        return request, ("local", 0)


OPENAPI = json.dumps(
    {"paths": {f"/slurmdb/v0.0.{n}/jobs/": {} for n in (36, 38, 37)} | {"/slurm/v0.0.38/jobs": {}}}
).encode()
JOBS = (FIXTURES / "b4_sacct_D_final.json").read_bytes()


@contextmanager
def served(answers: dict[str, tuple[int, bytes]], unix: Path | None = None) -> Iterator[Any]:
    """Serve answers; gives the address and what was asked."""
    handler = type("Handler", (Rest,), {"answers": answers, "asked": []})
    if unix is None:
        server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        url = f"http://127.0.0.1:{server.server_address[1]}"
    else:
        server = UnixServer(str(unix), handler)
        url = f"unix:{unix}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield url, handler.asked  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


WELL = {
    "/openapi/v3": (200, OPENAPI),
    "/slurmdb/v0.0.38/jobs": (200, JOBS),
    "/slurmdb/v0.0.38/job/4": (200, JOBS),
}


def test_slurmrestd_is_asked_in_its_newest_version() -> None:
    """For the window in epoch seconds, and the rows are those of files."""
    with served(WELL) as (url, asked):
        source = SlurmRest(url, user="alice", token=SIGNED).window(FROM_US, TO_US)

    path, headers = asked[-1]
    assert urlsplit(path).path == "/slurmdb/v0.0.38/jobs"
    assert parse_qs(urlsplit(path).query) == {
        "start_time": ["uts1770000000"],
        "end_time": ["uts1770086400"],
    }
    assert (headers["X-SLURM-USER-NAME"], headers["X-SLURM-USER-TOKEN"]) == ("alice", SIGNED)
    assert collect_slurm((source,), OPTIONS).records


def test_slurmrestd_is_asked_over_a_unix_socket(tmp_path: Path) -> None:
    """There no token is needed."""
    with served(WELL, tmp_path / "s") as (url, asked):
        sources = SlurmRest(url).jobs(["4"], TO_US)

    assert len(sources) == 1
    assert asked[-1][0] == "/slurmdb/v0.0.38/job/4"
    assert "X-SLURM-USER-TOKEN" not in asked[-1][1]


_CAPTURED_DOWN = (FIXTURES / "h_rest_slurmdb_down.json").read_bytes()
DOWN = _CAPTURED_DOWN[: _CAPTURED_DOWN.rindex(b"}") + 1]  # After it stands the HTTP status.


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (WELL | {"/slurmdb/v0.0.38/jobs": (200, DOWN)}, "it answered with an error"),
        (WELL | {"/slurmdb/v0.0.38/jobs": (401, b"")}, "does not take the token"),
        (WELL | {"/slurmdb/v0.0.38/jobs": (500, b"")}, "it answered 500"),
        (WELL | {"/slurmdb/v0.0.38/jobs": (200, b"<html>")}, "no JSON"),
        (WELL | {"/slurmdb/v0.0.38/jobs": (200, b"[]")}, "no object"),
        (WELL | {"/openapi/v3": (200, b'{"paths": {}}')}, "offers no accounting"),
    ],
)
def test_a_slurmrestd_without_data_is_no_answer(
    answers: dict[str, tuple[int, bytes]], reason: str
) -> None:
    """With the database away it still answers 200, with errors and no jobs."""
    with served(answers) as (url, _), pytest.raises(PollFailedError, match=reason):
        SlurmRest(url).window(FROM_US, TO_US)


def test_a_slurmrestd_that_is_not_there_is_no_answer(tmp_path: Path) -> None:
    """The message names it."""
    with pytest.raises(PollFailedError, match="no such file"):
        SlurmRest(f"unix:{tmp_path}/none").window(FROM_US, TO_US)


@pytest.mark.parametrize(
    "url",
    [
        *("", "ftp://x", "unix:relative", "http://", "localhost:6820"),
        *("http://h:99999", "http://h:port", "http://[::1", "http://h:0"),
    ],
)
def test_an_address_of_another_kind_is_refused(url: str) -> None:
    """Before anything is asked."""
    with pytest.raises(BadRestUrlError):
        SlurmRest(url)


NOTHING = {
    "description": "Nothing found",
    "error_number": 9003,
    "error": "Nothing found with query",
    "source": "slurmdb_jobs_get",
}


def test_a_slurmrestd_that_found_nothing_has_answered() -> None:
    """To it that is an error; an idle cluster or a deleted job must not stop the polls."""
    nothing = (200, json.dumps({"errors": [NOTHING], "jobs": []}).encode())
    with served(WELL | {"/slurmdb/v0.0.38/jobs": nothing}) as (url, _):
        source = SlurmRest(url).window(FROM_US, TO_US)

    collected = collect_slurm((source,), OPTIONS)
    assert collected.records == []
    assert [finding.code for finding in collected.findings] == ["nothing_collected"]


@pytest.mark.parametrize("errors", [[NOTHING, {"error_number": 7000}], ["9003"], {"x": 1}, "9003"])
def test_nothing_found_beside_another_error_is_no_answer(errors: Any) -> None:
    """Only if there is nothing else to say is it one."""
    data = json.dumps({"errors": errors, "jobs": []}).encode()
    answers = WELL | {"/slurmdb/v0.0.38/jobs": (200, data)}
    with served(answers) as (url, _), pytest.raises(PollFailedError, match="with an error"):
        SlurmRest(url).window(FROM_US, TO_US)


def test_a_token_is_taken_as_scontrol_prints_it() -> None:
    """With its name before it and the end of the line behind it."""
    with served(WELL) as (url, asked):
        SlurmRest(url, token=f"SLURM_JWT={SIGNED}\n").window(FROM_US, TO_US)

    assert asked[-1][1]["X-SLURM-USER-TOKEN"] == SIGNED


@pytest.mark.parametrize("token", ["", "two words", "a\nb", "caf\u00e9"])
def test_a_token_that_cannot_be_sent_is_refused(token: str) -> None:
    """Before anything is asked, and without printing it."""
    with pytest.raises(BadRestTokenError) as raised:
        SlurmRest("unix:/x", token=token)

    assert not token.strip() or token not in str(raised.value)


def test_readings_differ_in_fields_that_both_have() -> None:
    """Groups of JSON are looked into, and that time passes is no difference."""
    was = {"state": "R", "time": {"elapsed": 1, "end": 0}, "old": 1, "steps": [1]}
    now = {"state": "R", "time": {"elapsed": 2, "end": 9}, "new": 1, "steps": []}

    assert differences(was, now) == {"time.end": [0, 9]}


def test_readings_without_a_common_field_cannot_be_compared() -> None:
    """They are of different readers."""
    assert differences({"JobIDRaw": "1"}, {"job_id": 1}) is None
