from __future__ import annotations

from dataclasses import replace

import pytest

from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.outcome import ROBOTS_DENIED, outcome_of
from crawl.fetcher.values.record import FetchRecord, linked_record, record_of
from crawl.interfaces.protocol import Failure, FailureKind, Headers, Response, Truncation
from crawl.model.contents import content_table
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status

URL = "http://a.org/p"
NOW = 1_800_000_000_000
OLD = CrawlDatum(
    Status.DB_FETCHED,
    5,
    modified_time=3,
    fetch_interval=100,
    retries=2,
    score=0.5,
    signature=b"old",
    metadata={
        "lang": "en",
        "ETag": '"old"',
        "Last-Modified": "then",
        "Content-Type": "text/old",
        "nutch.protocol.code": "200",
        "_rs_": "77",
        "_ip_": "192.0.2.9",
        "_pst_": "success(http_200)",
    },
)


def item(**changes: object) -> FetchItem:
    made = FetchItem(URL, "a.org", "http://a.org", "a.org", OLD)
    return replace(made, **changes)  # type: ignore[arg-type]


def answered(code: int, headers: Headers = (), **more: object) -> FetchRecord:
    answer = Response(URL, code, headers, **more)  # type: ignore[arg-type]
    return record_of(item(), outcome_of(answer), NOW, answer)


def failed(kind: FailureKind, message: str = "") -> FetchRecord:
    answer = Failure(URL, kind, message)
    return record_of(item(), outcome_of(answer), NOW, answer)


def test_a_page() -> None:
    record = answered(
        200,
        (
            ("Content-Type", "text/html"),
            ("ETag", '"new"'),
            ("last-modified", "Sun Nov  6 08:49:37 1994"),
            ("X-One", "1"),
            ("x-one", "2"),
        ),
        body=b"<p>",
        ip="192.0.2.1",
        elapsed_ms=12,
        version="HTTP/2",
        cipher="TLS_X",
        request_headers=b"GET",
        response_headers=b"HTTP",
    )
    assert (record.url, record.host) == (URL, "a.org")
    datum = record.datum
    assert (datum.status, datum.fetch_time) == (Status.FETCH_SUCCESS, NOW)
    assert datum.signature is None
    assert (datum.retries, datum.score, datum.fetch_interval, datum.modified_time) == (
        2,
        0.5,
        100,
        3,
    )
    assert datum.metadata == {
        "lang": "en",
        "_pst_": "success(http_200)",
        "nutch.protocol.code": "200",
        "_rs_": "12",
        "Content-Type": "text/html",
        "ETag": '"new"',
        "Last-Modified": "Sun Nov  6 08:49:37 1994",
        "_ip_": "192.0.2.1",
    }
    content = record.content
    assert content is not None
    assert (content.body, content.content_type, content.code) == (b"<p>", "text/html", 200)
    assert (content.truncated, content.fetch_time, content.ip) == ("", NOW, "192.0.2.1")
    assert (content.version, content.cipher) == ("HTTP/2", "TLS_X")
    assert (content.request_headers, content.response_headers) == (b"GET", b"HTTP")
    assert content.headers["x-one"] == "2"
    assert OLD.metadata["ETag"] == '"old"', "the list's record is not touched"


def test_a_page_that_was_cut_is_asked_for_whole_the_next_time() -> None:
    headers = (("ETag", '"new"'), ("Last-Modified", "now"), ("Content-Type", "text/html"))
    record = answered(200, headers, body=b"<p>", truncated=Truncation.LENGTH)
    assert record.content is not None and record.content.truncated == "length"
    assert not {"ETag", "Last-Modified"} & record.datum.metadata.keys()
    assert record.datum.metadata["Content-Type"] == "text/html"


def test_content_is_left_out_where_nobody_wants_it() -> None:
    answer = Response(URL, 200, body=b"x")
    record = record_of(item(), outcome_of(answer), NOW, answer, store_content=False)
    assert record.content is None
    assert answered(404, body=b"not here").content is None


def test_a_page_that_did_not_change_keeps_its_type_and_version() -> None:
    metadata = answered(304).datum.metadata
    assert (metadata["ETag"], metadata["Content-Type"]) == ('"old"', "text/old")
    assert metadata["Last-Modified"] == "then"
    assert metadata["nutch.protocol.code"] == "304"
    assert answered(304, (("ETag", '"newer"'),)).datum.metadata["ETag"] == '"newer"'
    metadata = answered(304, (("Last-Modified", "later"),)).datum.metadata
    assert (metadata["ETag"], metadata["Last-Modified"]) == ('"old"', "later")


def test_a_page_whose_server_names_no_version_any_more_has_none() -> None:
    assert not {"ETag", "Last-Modified"} & answered(200, body=b"x").datum.metadata.keys()
    long = answered(200, (("ETag", "e" * 1001), ("Last-Modified", "l" * 1001)), body=b"x")
    assert not {"ETag", "Last-Modified"} & long.datum.metadata.keys()


@pytest.mark.parametrize("code", [500, 503, 429, 408])
def test_a_server_in_trouble_says_nothing_about_the_page(code: int) -> None:
    metadata = answered(code, (("Content-Type", "text/error"), ("ETag", '"e"'))).datum.metadata
    assert (metadata["ETag"], metadata["Content-Type"]) == ('"old"', "text/old")
    assert metadata["nutch.protocol.code"] == str(code)


@pytest.mark.parametrize("code", [404, 410, 301, 302])
def test_the_version_of_an_error_or_a_redirect_is_not_the_pages(code: int) -> None:
    headers = (("ETag", '"error"'), ("Last-Modified", "now"), ("Content-Type", "text/error"))
    record = answered(code, headers)
    assert not {"ETag", "Last-Modified"} & record.datum.metadata.keys()
    assert record.datum.metadata["Content-Type"] == "text/error"


def test_a_page_without_type_or_version_has_none() -> None:
    metadata = answered(200).datum.metadata
    assert not metadata.keys() & {"ETag", "Content-Type", "_ip_"}


def test_a_failure_does_not_carry_the_last_answers_code_time_or_address() -> None:
    record = failed(FailureKind.CONNECT_TIMEOUT, "10 s were not enough")
    metadata = record.datum.metadata
    assert metadata["_pst_"] == "exception(connect_timeout: 10 s were not enough)"
    assert not metadata.keys() & {"nutch.protocol.code", "_rs_", "_ip_"}
    assert metadata["ETag"] == '"old"'
    assert record.datum.status is Status.FETCH_RETRY
    assert record.content is None


def test_a_refusal_of_robots_txt() -> None:
    record = record_of(item(), ROBOTS_DENIED, NOW)
    assert record.datum.status is Status.FETCH_GONE
    assert record.datum.metadata["_pst_"] == "robots_denied()"


def test_what_a_server_says_is_kept_only_so_far() -> None:
    long = "x" * 1_000_000
    record = answered(200, (("Content-Type", long), ("ETag", long)), body=b"")
    assert sum(map(len, record.datum.metadata.values())) < 1_200
    assert "ETag" not in record.datum.metadata, "a part of a version is another version"
    assert record.content is not None
    assert len(record.content.content_type) == 1000
    assert len(failed(FailureKind.OTHER, long).datum.metadata["_pst_"]) < 1_100


def test_the_representative_url_is_recorded() -> None:
    answer = Response(URL, 200)
    record = record_of(item(representative="http://a.org/"), outcome_of(answer), NOW, answer)
    assert record.datum.metadata["_repr_"] == "http://a.org/"


def test_a_target_left_for_later_inherits_what_it_should() -> None:
    unread = replace(OLD, metadata={**OLD.metadata, "_parse_status_": "failed_timeout"})
    record = linked_record("http://a.org/new", "a.org", item(datum=unread), URL)
    assert record.datum.status is Status.LINKED
    assert (record.datum.score, record.datum.fetch_interval) == (0.5, 100)
    assert (record.datum.signature, record.datum.modified_time) == (None, 0)
    assert record.datum.metadata == {"lang": "en", "_repr_": URL}
    assert record.content is None


def test_a_target_that_stands_for_itself_needs_no_word() -> None:
    record = linked_record("http://a.org/new", "a.org", item(), "http://a.org/new")
    assert "_repr_" not in record.datum.metadata


def test_headers_that_are_lists_are_kept_whole() -> None:
    record = answered(
        200,
        (
            ("X-Robots-Tag", "bot: noindex"),
            ("Link", "<a>; rel=next"),
            ("x-robots-tag", "nofollow"),
            ("Age", "1"),
            ("Age", "2"),
        ),
    )
    assert record.content is not None
    assert record.content.headers == {
        "x-robots-tag": "bot: noindex\nnofollow",
        "link": "<a>; rel=next",
        "age": "2",
    }


def test_whatever_a_protocol_says_can_be_stored() -> None:
    broken = failed(FailureKind.OTHER, "caf\udce9 é")
    assert broken.datum.metadata["_pst_"].endswith("caf? é)")
    page = answered(200, (("Content-Type", "a\udce9"), ("X\udce9", "é")), body=b"x")
    assert page.content is not None and page.content.headers == {"content-type": "a?", "x?": "é"}
    for each in (broken, page):
        assert to_table([(each.url, each.host, each.datum)]).num_rows == 1
    assert content_table([page.content]).num_rows == 1


def test_what_who_waits_for_a_page_wants_to_know() -> None:
    answer = Response(
        URL, 302, (("Location", "../x"),), sent=3.0, elapsed_ms=90, dns_ms=7, connect_ms=8
    )
    record = record_of(item(asked_again=True), outcome_of(answer), NOW, answer)
    assert (record.sent, record.location, record.response_ms) == (2, "../x", 90)
    assert (record.dns_ms, record.connect_ms, record.first_byte_ms) == (7, 8, None)
    page = answered(200, (("Location", "/nowhere"),), sent=1.0)
    assert (page.sent, page.location) == (1, "")
    assert failed(FailureKind.UNKNOWN_HOST).sent == 0
    denied = record_of(item(), ROBOTS_DENIED, NOW)
    assert (denied.sent, denied.location) == (0, "")
