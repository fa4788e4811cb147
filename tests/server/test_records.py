"""Records over HTTP: each is answered in its place, and what is answered is in the log."""

import threading
from contextlib import closing

import pytest

from tallystick.app.admit import clock_us
from tallystick.app.tokens import revoke_token
from tallystick.emit.post import Answer, Poster
from tests.evidence.records import as_line, by, declared
from tests.server.servers import (
    Server,
    body_of,
    line_of,
    stored,
    stored_runs,
    token_of,
    words,
)


def test_records_are_answered_in_their_order(server: Server) -> None:
    """New, known, contradicted and refused ones stand where they were sent."""
    known = by("order", declared("order"))
    contradicted = {
        **known,
        "observed": "2026-03-01T00:00:00.000000Z",
        "at": "2026-03-02T00:00:00.000000Z",
    }
    body = body_of(as_line(known), as_line(known), as_line(contradicted), b"{}")

    said = server.post(body)

    first, again, conflict, refused = said.json["answers"]
    assert first == {"answer": "accepted", "leaf": first["leaf"]}
    assert again == {"answer": "exists", "leaf": first["leaf"]}
    assert (conflict["answer"], conflict["code"]) == ("conflict", "record_conflict")
    assert (refused["answer"], refused["code"]) == ("refused", "bad_record")
    assert said.json["size"] == len(stored(server.store))


def test_what_is_accepted_is_in_the_log(server: Server) -> None:
    """The record lies there as it was sent, while the server runs."""
    record = by("kept", declared("kept"))

    said = server.post(body_of(as_line(record)))

    assert stored(server.store)[said.json["answers"][0]["leaf"]] == record


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n", b"\n \t\r\n"])
def test_blank_lines_and_a_missing_last_break_change_nothing(server: Server, end: bytes) -> None:
    """A line is a record if it is not blank, as in files."""
    said = server.post(b"\n" + line_of(1) + b"\n\r\n" + line_of(2) + end)

    assert len(words(said)) == 2


def test_no_records_are_answered_too(server: Server) -> None:
    """An empty body asks for the size of the log, and whether the token is good."""
    said = server.post(b"")

    assert said.json == {"answers": [], "size": len(stored(server.store))}


def test_a_token_sends_only_what_it_may(server: Server) -> None:
    """Another producer's record is refused, the others go on, and it leaves no trace in the log."""
    token = token_of(server.store, "slurm-hook/n1")
    before = len(stored(server.store))
    foreign = line_of(50, "slurm-hook/n10")

    said = server.post(body_of(line_of(51), foreign, line_of(52)), token)

    assert words(said) == ["accepted", "refused", "accepted"]
    assert said.json["answers"][1]["code"] == "producer_not_allowed"
    assert [each["body"] for each in stored(server.store)[before:]] == [
        {"run": "run-51"},
        {"run": "run-52"},
    ]


def test_a_bounded_token_is_told_why_a_line_is_no_record(server: Server) -> None:
    """What has no producer is the log's to refuse, which notes it."""
    token = token_of(server.store, "slurm-hook/n1")

    said = server.post(body_of(b'{"producer":{"name":"slurm-hook/n1"}}'), token)

    assert said.json["answers"][0]["code"] == "bad_record"
    assert stored(server.store)[-1]["kind"] == "delivery.refused"


def test_the_log_itself_cannot_be_sent_by_anybody(server: Server) -> None:
    """What the log says of deliveries is its own, also for a token without bounds."""
    said = server.post(body_of(line_of(1, "tallystick/log")))

    assert said.json["answers"][0]["code"] == "reserved_producer"


def test_a_revoked_token_is_refused_by_a_server_that_runs(server: Server) -> None:
    """The next request sees it; other tokens stay."""
    token = token_of(server.store)
    before = server.post(b"", token).status

    revoke_token(server.store / "keys", token.split("_")[1], clock_us())
    after = server.post(b"", token)

    assert before == 200
    assert (after.status, after.code) == (401, "token_rejected")
    assert "revoked" in after.json["message"]
    assert server.post(b"").status == 200


def test_an_expired_token_is_refused(server: Server) -> None:
    """A token ends by itself."""
    token = token_of(server.store, expires_us=1_700_000_000_000_000)

    said = server.post(b"", token)

    assert (said.status, said.code) == (401, "token_rejected")
    assert "expired" in said.json["message"]


@pytest.mark.parametrize("authorization", ["", "Bearer", "Basic bjE6eA==", "Bearer  "])
def test_without_a_token_nothing_is_read(server: Server, authorization: str) -> None:
    """The answer says how to come in."""
    headers = {"Authorization": authorization, "Content-Type": "application/x-ndjson"}

    said = server.ask("POST", "/v1/records", body_of(line_of(60)), headers)

    assert (said.status, said.code) == (401, "token_missing")
    assert said.headers["WWW-Authenticate"].startswith("Bearer")
    assert "run-60" not in stored_runs(server.store)


def test_a_wrong_token_is_refused(server: Server) -> None:
    """A secret that is wrong in one place opens nothing."""
    wrong = server.token[:-1] + ("0" if server.token[-1] != "0" else "1")

    said = server.post(body_of(line_of(61)), wrong)

    assert (said.status, said.code) == (401, "token_rejected")
    assert "error" in said.headers["WWW-Authenticate"]
    assert "run-61" not in stored_runs(server.store)


def test_many_can_send_at_once(server: Server) -> None:
    """Eight senders: every record is accepted once, and the counts add up."""
    before = int(server.metric('records_total{answer="accepted"}') or 0)
    answers: list[Answer] = []

    def send(sender: int) -> None:
        with closing(Poster(server.url, server.token)) as poster:
            for batch in range(10):
                first = 10_000 + 1000 * sender + 10 * batch
                answers.extend(poster.post([line_of(first + each) for each in range(10)]))

    threads = [threading.Thread(target=send, args=(sender,)) for sender in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [answer.word for answer in answers] == ["accepted"] * 800
    assert server.metric('records_total{answer="accepted"}') == str(before + 800)
    sent = {f"run-{10_000 + 1000 * sender + each}" for sender in range(8) for each in range(100)}
    assert sent <= stored_runs(server.store)


def test_the_same_record_from_many_is_accepted_once(server: Server) -> None:
    """What comes at once is told apart by the log alone."""
    words_said: list[str] = []

    def send() -> None:
        words_said.extend(words(server.post(body_of(line_of(70)))))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(words_said) == ["accepted"] + ["exists"] * 7
