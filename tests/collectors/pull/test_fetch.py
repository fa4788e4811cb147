"""Fetching: every sample exactly once, from servers of either kind and of either border."""

import pytest

from tallystick.collectors.pull.errors import (
    AnswerTooLargeError,
    BadAnswerError,
    ServerAwayError,
    ServerRefusedError,
    UnknownServerError,
)
from tallystick.collectors.pull.fetch import Fetcher, Kind, OnPart, jobs_of, probe, scrapes_of
from tallystick.collectors.pull.rows import Stretch
from tests.collectors.pull.fake_server import (
    START_MS,
    FakeServer,
    Fault,
    at_ms,
    device,
    scrapes,
    serving,
)

KINDS = ["prometheus", "victoriametrics"]
MINUTE = Stretch(START_MS, START_MS + 60_000)
EVERY = " ".join(f"{second / 2:g}" for second in range(130))


def fetched(
    fake: FakeServer, *stretches: Stretch, match: str = "m", bytes_max: int = 1 << 20
) -> list[int]:
    """Fetch some stretches; give the times of all samples, in milliseconds after the start."""
    times: list[int] = []
    with serving(fake) as server:
        fetcher = Fetcher(server, Kind(fake.kind), bytes_max)
        for stretch in stretches or (MINUTE,):
            found: list[int] = []

            def begin(found: list[int] = found) -> OnPart:
                found.clear()
                return lambda _, part: found.extend(part.times_us.tolist())

            fetcher.fetch(match, stretch, begin)
            times += found
    return [at_us // 1000 - START_MS for at_us in times]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_left_open", [False, True], ids=["closed", "left-open"])
def test_every_sample_comes_exactly_once(kind: str, *, is_left_open: bool) -> None:
    """Samples on borders of stretches and of chunks are neither lost nor doubled."""
    fake = FakeServer(
        [device("m", "g", EVERY)], kind=kind, is_left_open=is_left_open, samples_max=7
    )
    middle_ms = START_MS + 30_000

    times = fetched(fake, Stretch(START_MS, middle_ms), Stretch(middle_ms, START_MS + 60_000))

    assert times == [500 * number for number in range(120)]


@pytest.mark.parametrize("is_left_open", [False, True], ids=["closed", "left-open"])
def test_a_stretch_of_a_millisecond_has_its_sample(*, is_left_open: bool) -> None:
    """The shortest range selector has one moment, or two of which one is not asked."""
    fake = FakeServer([device("m", "g", "0.000 0.001 0.002")], is_left_open=is_left_open)

    assert fetched(fake, Stretch(START_MS + 1, START_MS + 2)) == [1]


def test_samples_are_asked_for_by_range_selectors_only() -> None:
    """A query_range would give the times of a grid, and fill holes."""
    fake = FakeServer([device("m", "g", "1")])

    fetched(fake)

    assert fake.asked == [("/api/v1/query", {"query": ["m[60000ms]"], "time": ["1772323259.999"]})]


@pytest.mark.parametrize("kind", KINDS)
def test_what_fails_in_passing_is_asked_again(kind: str) -> None:
    """A status of the server, and an answer that breaks off, lose and double nothing."""
    line = b'{"metric":{"__name__":"m"},"values":[1],"timestamps":[1772323200000]}\n'
    faults = [Fault(503, b"not ready"), Fault(0, line)]
    fake = FakeServer([device("m", "g", "1 2 3")], kind=kind, faults=faults)

    assert fetched(fake) == [1000, 2000, 3000]


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_keeps_failing_is_an_error(kind: str) -> None:
    """The message says what the server said last."""
    fake = FakeServer([], kind=kind, faults=[Fault(503, b"not ready")] * 3)

    with pytest.raises(ServerAwayError, match="status 503 'not ready'") as error:
        fetched(fake)

    assert error.value.code == "pull_server_away"


def test_a_selector_that_is_none_is_an_error_at_once() -> None:
    """The server's reason is passed on."""
    fake = FakeServer([], faults=[Fault(400, b"parse error: unexpected {")])

    with pytest.raises(ServerRefusedError, match=r"400.*parse error") as error:
        fetched(fake, match="m{{")

    assert error.value.code == "pull_refused"


def test_a_redirect_is_not_followed() -> None:
    """A token is for the server that was named."""
    fake = FakeServer([], faults=[Fault(302)])

    with pytest.raises(ServerRefusedError, match="302"):
        fetched(fake)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("prometheus", b'{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}'),
        (
            "prometheus",
            b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"x"]]}]}}',
        ),
        ("victoriametrics", b'{"metric":{},"values":[1,2],"timestamps":[1]}\n'),
    ],
)
def test_an_answer_of_another_form_is_an_error(kind: str, said: bytes) -> None:
    """Something else answers at the address."""
    fake = FakeServer([], kind=kind, faults=[Fault(200, said)])

    with pytest.raises(BadAnswerError, match="gave no answer of its kind") as error:
        fetched(fake)

    assert error.value.code == "pull_bad_answer"


@pytest.mark.parametrize(
    "said",
    [
        b"query processing would load too many samples into memory in query execution",
        b"exceeding maximum resolution",
        b"query timed out in expression evaluation",
    ],
)
def test_what_is_too_large_is_asked_in_halves(said: bytes) -> None:
    """The next stretch begins with the length that was answered."""
    fake = FakeServer([device("m", "g", "1 31 61 91")], faults=[Fault(422, said)])

    times = fetched(fake, MINUTE, Stretch(MINUTE.end_ms, MINUTE.end_ms + 60_000))

    ranges = [fields["query"][0] for _, fields in fake.asked]
    assert times == [1000, 31_000, 61_000, 91_000]
    assert ranges == ["m[60000ms]", *["m[30000ms]"] * 4]


def test_an_answer_that_is_longer_than_can_be_held_is_asked_in_halves() -> None:
    """Memory is bounded whatever a server answers."""
    fake = FakeServer([device("m", "g", EVERY)])

    times = fetched(fake, bytes_max=1000)

    assert times == [500 * number for number in range(120)]


def test_a_millisecond_that_is_too_large_is_an_error() -> None:
    """There is nothing to cut."""
    fake = FakeServer([device("m", "g", "0"), device("m", "h", "0")], samples_max=1)

    with pytest.raises(AnswerTooLargeError, match="too large however short") as error:
        fetched(fake)

    assert error.value.code == "pull_too_large"


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_tells_its_kind(kind: str) -> None:
    """Only one of them has an export."""
    with serving(FakeServer([], kind=kind)) as server:
        assert probe(server) == kind


def test_another_server_is_an_error() -> None:
    """It is said how to overrule that."""
    with (
        serving(FakeServer([], kind="other")) as server,
        pytest.raises(UnknownServerError, match="--kind") as error,
    ):
        probe(server)

    assert error.value.code == "pull_unknown_server"


def test_jobs_are_those_of_the_series() -> None:
    """So that only scrapes of targets with devices are looked at."""
    fake = FakeServer([device("m", "g", "1", job="a"), device("m", "h", "1", job="b")])

    with serving(fake) as server:
        assert jobs_of(server, "m", MINUTE) == {"a", "b"}


class SaysJobs(FakeServer):
    """Answers with the same bytes whatever was asked."""

    said = b""

    def answer(self, path: str, fields: dict[str, list[str]]) -> tuple[int, bytes]:
        """Answer."""
        del path, fields
        return 200, self.said


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"no", BadAnswerError),
        (b'{"data":[1]}', BadAnswerError),
        (b'"' + b"a" * (2 << 20) + b'"', AnswerTooLargeError),
    ],
)
def test_jobs_that_cannot_be_read_are_an_error(said: bytes, error: type[Exception]) -> None:
    """Scrapes would be missed without anybody knowing."""
    fake = SaysJobs([])
    fake.said = said

    with serving(fake) as server, pytest.raises(error):
        jobs_of(server, "m", MINUTE)


def test_the_selector_of_scrapes_takes_job_names_literally() -> None:
    """A name is neither a pattern nor the end of the text."""
    assert scrapes_of(['a.b"', "c"]) == (
        '{__name__=~"up|scrape_samples_scraped",job=~"a\\\\.b\\"|c"}'
    )


def test_scrapes_are_fetched_like_samples() -> None:
    """One selector gives both series."""
    fake = FakeServer(scrapes("1 2"))

    times = fetched(fake, match=scrapes_of(["dcgm"]))

    assert sorted(times) == [1000, 1000, 2000, 2000]
    assert at_ms("1") == START_MS + 1000
