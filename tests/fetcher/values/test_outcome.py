from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.fetcher.values.outcome import (
    BY_CLASS,
    BY_CODE,
    BY_FAILURE,
    ROBOTS_DENIED,
    Blame,
    Outcome,
    outcome_of,
    reason_of,
)
from crawl.interfaces.protocol import Failure, FailureKind, Response
from crawl.model.protocol_status import ProtocolStatus
from crawl.model.status import Status

CODES = range(100, 600)


def of_code(code: int) -> Outcome:
    return outcome_of(Response("http://a.org/", code))


def of_kind(kind: FailureKind) -> Outcome:
    return outcome_of(Failure("http://a.org/", kind))


@pytest.mark.parametrize("hundred", [1, 2, 3, 4, 5])
def test_every_code_comes_to_a_fetch_status(hundred: int) -> None:
    for code in range(hundred * 100, hundred * 100 + 100):
        found = of_code(code)
        assert found.status.is_fetch
        assert found == BY_CODE.get(code, BY_CLASS[hundred])


@given(st.integers(-1000, 10_000))
def test_a_code_out_of_the_way_is_no_reason_to_stumble(code: int) -> None:
    assert of_code(code).status.is_fetch


@pytest.mark.parametrize("kind", FailureKind)
def test_every_failure_comes_to_a_fetch_status(kind: FailureKind) -> None:
    assert kind in BY_FAILURE
    found = of_kind(kind)
    assert found.status in (Status.FETCH_RETRY, Status.FETCH_GONE)
    assert not found.store


EXPECTED = {
    Status.FETCH_SUCCESS: (*range(200, 300),),
    Status.FETCH_NOTMODIFIED: (304,),
    Status.FETCH_REDIR_TEMP: (302, 303, 307),
    Status.FETCH_REDIR_PERM: (300, 301, 305, 308),
    Status.FETCH_GONE: (400, 401, 402, 403, 404, 405, 406, 410, 411, 414, 418, 451, 499),
    Status.FETCH_RETRY: (100, 103, 407, 408, 421, 423, 425, 429, 500, 502, 503, 504, 520, 599),
}


@pytest.mark.parametrize("status", EXPECTED)
def test_codes_mean_what_the_reference_and_rfc_9110_say(status: Status) -> None:
    assert {of_code(code).status for code in EXPECTED[status]} == {status}


def test_content_is_kept_of_pages_and_redirects_only() -> None:
    kept = {code for code in CODES if of_code(code).store}
    assert kept == {*range(200, 400)} - {304}


def test_only_a_server_that_asks_for_a_pause_gets_one() -> None:
    assert {code for code in CODES if of_code(code).blame is Blame.PAUSE} == {429, 503}


def test_only_a_server_that_does_not_work_is_blamed() -> None:
    blamed = {code for code in CODES if of_code(code).blame is Blame.FAILURE}
    assert blamed == ({*range(500, 600)} - {503}) | {407}
    innocent = {kind for kind in FailureKind if of_kind(kind).blame is Blame.NONE}
    assert innocent == {
        FailureKind.REFUSED_HEAD,
        FailureKind.MALFORMED_RESPONSE,
        FailureKind.HEADERS_TOO_LARGE,
        FailureKind.BAD_ENCODING,
        FailureKind.OTHER,
        FailureKind.ADDRESS_REFUSED,
        FailureKind.NOT_SUPPORTED,
        FailureKind.WITHHELD,
    }


def test_a_page_of_a_blamed_host_is_tried_again() -> None:
    every = [*map(of_code, CODES), *map(of_kind, FailureKind)]
    assert all(
        found.status is Status.FETCH_RETRY for found in every if found.blame is not Blame.NONE
    )


def test_what_must_not_be_asked_is_gone() -> None:
    assert of_kind(FailureKind.ADDRESS_REFUSED).protocol_status is ProtocolStatus.BLOCKED
    assert of_kind(FailureKind.ADDRESS_REFUSED).status is Status.FETCH_GONE
    assert ROBOTS_DENIED.status is Status.FETCH_GONE
    assert ROBOTS_DENIED.blame is Blame.NONE


def test_the_name_of_an_answer() -> None:
    assert reason_of(Response("http://a.org/", 404)) == "http_404"
    assert reason_of(Failure("http://a.org/", FailureKind.CONNECT_TIMEOUT)) == "connect_timeout"
