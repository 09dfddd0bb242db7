"""What the roles say to each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.errors import UsageError
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.kafka.host_topic import Inheritance
from crawl.service.kafka.messages import (
    host_message,
    host_message_of,
    job_message,
    job_message_of,
    owner_message,
    record_of_message,
    result_message,
    result_message_of,
    returned_message,
    state_of,
)
from crawl.service.kafka.partitions import Partitions
from crawl.service.kafka.wish_messages import refusal_of, wish_of
from crawl.service.values import Hop, Job, Priority, Wish

JOB = Job(
    id="a",
    wish=Wish(url="http://a.test/", tags=("x",)),
    url="http://b.test/",
    submitted_ms=7,
    hops=(Hop("http://a.test/", 3, 301, 9),),
    tries=1,
)


def test_a_job_comes_as_it_went() -> None:
    message = job_message_of(job_message(JOB, 99, '"etag"', "date", 5, is_known=True))
    assert (message.job, message.not_before_ms) == (JOB, 99)
    assert (message.etag, message.last_modified, message.modified_ms) == ('"etag"', "date", 5)


def test_a_record_comes_as_it_went() -> None:
    datum = CrawlDatum(Status.FETCH_SUCCESS, 5, metadata={"k": "v"})
    content = Content("http://b.test/", b"\x00body\xff", "text/html", 200, headers={"a": "b"})
    record = FetchRecord("http://b.test/", "b.test", datum, content, response_ms=3, location="x")
    message = result_message_of(result_message(record, (JOB,), 1.5))
    assert record_of_message(message) == record
    assert (message.jobs, message.pause_s, message.reason) == ((JOB,), 1.5, "")
    assert (message.robots_from_ms, message.robots_until_ms) == (0, 0)
    timed = result_message_of(result_message(record, (), 0.0, robots_span=(7, 9)))
    assert (timed.robots_from_ms, timed.robots_until_ms) == (7, 9)
    returned = result_message_of(returned_message("u", "h", (), 0.0, "why"))
    assert record_of_message(returned) is None
    assert returned.reason == "why"


@given(st.binary(max_size=200))
def test_anything_else_is_a_value_error(raw: bytes) -> None:
    for read in (job_message_of, result_message_of, host_message_of):
        with pytest.raises(ValueError):
            read(raw)


def test_a_damaged_record_is_a_value_error() -> None:
    record = FetchRecord("u", "h", CrawlDatum(Status.FETCH_GONE, 5))
    raw = result_message(record, (), 0.0)
    with pytest.raises(ValueError):
        record_of_message(result_message_of(raw[:-3] + b"\x00\x00\x00"))


def test_what_a_server_is_owed_becomes_less_with_time_but_never_too_soon() -> None:
    state = ServerState("a.test", 10.0, 2, "closed", 30.0, 3.0, "why")
    message = host_message_of(host_message(state, 1_000))
    assert state_of(message, 1_000, 1.0) == state
    assert state_of(message, 2_000, 1.0) == state  # the other's clock may be ahead
    later = state_of(message, 5_000, 1.0)
    assert later is not None
    assert (later.pause_s, later.counts_s, later.min_delay_s) == (7.0, 27.0, 3.0)
    over = state_of(message, 100_000, 1.0)
    assert over is not None
    assert (over.pause_s, over.closed_reason, over.min_delay_s) == (0.0, "", 3.0)
    before = state_of(message, 0, 1.0)
    assert before == state


def test_an_owner_that_did_not_say_that_it_ended_may_have_asked_anybody() -> None:
    left, clean = Inheritance(), []
    for moment, (key, owner) in enumerate(
        (
            (b"!begun", "one"),
            (b"!ended", "one"),
            (b"!begun", "two"),
            (b"!ended", "one"),  # one that stood still says so too late
            (b"!ended", "two"),
        )
    ):
        clean.append(left.is_clean)
        left.take(key, owner_message(owner, moment))
    assert clean == [True, False, True, False, False]
    assert left.is_clean
    left.take(b"a.test", host_message(ServerState("a.test", 5.0), 1))
    assert [each.key for each in left.owed(1)] == ["a.test"]
    left.take(b"a.test", None)
    assert left.owed(1) == []


@given(st.integers(1, 500))
def test_all_hosts_of_a_domain_are_in_one_partition(count: int) -> None:
    partitions = Partitions(count)
    hosts = ("example.co.uk", "www.example.co.uk", "a.b.example.co.uk")
    (partition,) = {partitions.of_host(host) for host in hosts}
    assert 0 <= partition < count


def test_wishes_are_read_as_the_api_reads_them() -> None:
    raw = b'{"url": "http://a.test/", "priority": "high", "max_age": "15min", "tags": ["x"]}'
    assert wish_of(raw) == Wish(
        url="http://a.test/", priority=Priority.HIGH, max_age_s=900.0, tags=("x",)
    )
    raw = b'{"url": "http://a.test/", "formats": ["metadata", "markdown"], "image": true}'
    assert wish_of(raw) == Wish(url="http://a.test/", formats=("markdown",), image=True)


@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"url": ""}',
        b'{"url": "http://a.test/", "more": 1}',
        b'{"url": "http://a.test/", "priority": "urgent"}',
        b'{"url": "http://a.test/", "priority": "high\\n"}',
        b'{"url": "http://a.test/", "max_age": "soon"}',
        b'{"url": "http://a.test/", "tags": ["\\u001b[2J"]}',
        b'{"url": "http://a.test/", "tags": ["' + b"x" * 200 + b'"]}',
        b"[" * 60_000,
        b" " * 70_000,
        b"\xff",
    ],
)
def test_a_wish_that_is_none_is_told_why(raw: bytes | None) -> None:
    with pytest.raises(UsageError, match="message|: expected |there is no field") as told:
        wish_of(raw)
    assert refusal_of(raw, str(told.value), "topic/0/1").isascii() or raw is not None
