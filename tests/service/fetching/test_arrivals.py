from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.fetching.arrivals import MAX_BYTES, MAX_WAITING, Arrivals

LONG_S = 120


def record(number: int, size: int = 0, status: Status = Status.FETCH_SUCCESS) -> FetchRecord:
    url = f"http://a.org/{number}"
    datum = CrawlDatum(status, 0, 0, 86_400, score=1.0, metadata={})
    return FetchRecord(url, "a.org", datum, Content(url, b"x" * size) if size else None)


def arrivals() -> Arrivals:
    return Arrivals(lambda answer: None)


def test_records_come_in_their_order_some_at_a_time() -> None:
    port = arrivals()
    records = [record(n) for n in range(5)]
    for each in records:
        port.add(each)
    assert port.take(3, 0)[0] == records[:3]
    assert port.take(3, 0)[0] == records[3:]
    assert port.take(3, 0) == ([], [], [])


def test_nothing_more_is_asked_for_while_much_is_unfinished() -> None:
    port = arrivals()
    for number in range(MAX_WAITING):
        assert not port.is_behind
        port.add(record(number))
    assert port.is_behind
    taken, _, _ = port.take(1, 0)
    assert port.is_behind, "until it is stored"
    port.finished(taken)
    assert not port.is_behind


def test_a_few_large_pages_are_much() -> None:
    port = arrivals()
    large = [record(n, MAX_BYTES // 2) for n in range(2)]
    for each in large:
        port.add(each)
    assert port.is_behind
    port.finished(large[:1])
    assert not port.is_behind


def test_targets_of_redirects_are_no_answers() -> None:
    port = arrivals()
    port.add(record(1, status=Status.LINKED))
    assert port.take(1, 0)[0] == []


def test_who_waits_is_woken_by_what_comes_and_by_a_word() -> None:
    port = arrivals()
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(port.take, 1, LONG_S)
        item = FetchItem("http://a.org/", "a.org", "", "a.org", record(1).datum)
        port.add_returned(item, "stuck")
        assert waiting.result(LONG_S)[1] == [(item, "stuck")]
        waiting = thread.submit(port.take, 1, LONG_S)
        port.wake()
        assert waiting.result(LONG_S) == ([], [], [])
