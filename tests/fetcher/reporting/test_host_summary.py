from __future__ import annotations

from dataclasses import replace

from crawl.fetcher.reporting.host_summary import MAX_HOSTS, HostSummaries, HostSummary
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.status import Status
from tests.fetcher.small_web import DUE


def record(host: str, status: Status, body: bytes = b"") -> FetchRecord:
    datum = replace(DUE, status=status)
    content = Content("u", body) if body else None
    return FetchRecord(f"http://{host}/", host, datum, content, response_ms=5)


def test_records_add_up_by_host() -> None:
    hosts = HostSummaries()
    hosts.observe(record("a.org", Status.FETCH_SUCCESS, b"12345"))
    hosts.observe(record("a.org", Status.FETCH_RETRY))
    hosts.observe(record("b.org", Status.FETCH_GONE))
    hosts.observe(record("c.org", Status.LINKED))
    assert hosts.largest() == [
        HostSummary("a.org", pages=2, failed=1, bytes=5, response_ms=10),
        HostSummary("b.org", pages=1, gone=1, response_ms=5),
    ]


def test_only_the_largest_are_reported() -> None:
    hosts = HostSummaries()
    for n in range(MAX_HOSTS + 10):
        for _ in range(1 + (n == 55)):
            hosts.observe(record(f"h{n}.org", Status.FETCH_SUCCESS))
    assert len(hosts.largest()) == MAX_HOSTS
    assert hosts.largest()[0].host == "h55.org"
