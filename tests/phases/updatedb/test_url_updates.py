from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.arrow import strings
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.phases.updatedb.rules import UrlUpdate
from crawl.phases.updatedb.tasks.links import DELTA, single_rows
from crawl.phases.updatedb.tasks.url_updates import UrlUpdates, arrange_updates

Row = tuple[str, int, CrawlDatum]


def delta(*rows: Row) -> pa.Table:
    """A delta of (url, origin, record), in a chunk each."""
    single = [single_rows(to_table([(url, "a.org", datum)]), origin) for url, origin, datum in rows]
    return pa.concat_tables([DELTA.empty_table(), *single])


def row(url: str, origin: int, status: Status, **fields: Any) -> Row:
    return url, origin, CrawlDatum(status, **{"fetch_time": 1, **fields})


def arranged(*rows: Row, most: int = 100) -> tuple[UrlUpdates, Counters]:
    counters = Counters()
    return arrange_updates(delta(*rows), most, counters), +counters


def by_url(updates: UrlUpdates) -> dict[str, UrlUpdate]:
    urls = strings(updates.urls)
    assert urls == sorted(set(urls))
    return dict(zip(urls, updates.updates_of(np.arange(len(urls))), strict=True))


def test_nothing() -> None:
    updates, counters = arranged()
    assert by_url(updates) == {} and not counters


def test_the_latest_fetch_counts_and_what_its_own_parse_says() -> None:
    rows = [
        row("b", 2, Status.FETCH_SUCCESS, fetch_time=9),
        row("b", 0, Status.FETCH_GONE, fetch_time=5),
        row("b", 1, Status.SIGNATURE, signature=b"of segment 0"),
        row("b", 3, Status.PARSE_METADATA, metadata={"k": "v"}),
        row("b", 1, Status.PARSE_FAILED),
        row("a", 0, Status.FETCH_RETRY, fetch_time=7),
        row("a", 2, Status.FETCH_GONE, fetch_time=7),
    ]
    updates, counters = arranged(*rows)
    found = by_url(updates)
    assert found["b"] == UrlUpdate(rows[0][2], None, {"k": "v"}, False, [])
    assert found["a"] == UrlUpdate(rows[6][2], None, {}, False, [])
    assert counters == {"fetches_superseded": 2}


def test_of_two_answers_in_one_segment_the_parse_of_the_later_one_counts() -> None:
    rows = [
        row("a", 0, Status.FETCH_SUCCESS, fetch_time=5),
        row("a", 1, Status.FETCH_SUCCESS, fetch_time=9),  # an entry of a feed
        row("a", 1, Status.SIGNATURE, fetch_time=9, signature=b"feed"),
        row("a", 1, Status.SIGNATURE, fetch_time=5, signature=b"page"),
        row("a", 1, Status.PARSE_METADATA, fetch_time=5, metadata={"k": "v"}),
        row("b", 0, Status.FETCH_SUCCESS, fetch_time=5),
        row("b", 0, Status.FETCH_SUCCESS, fetch_time=9),
        row("b", 1, Status.PARSE_FAILED, fetch_time=5),
        row("b", 1, Status.SIGNATURE, fetch_time=9, signature=b"later"),
    ]
    for order in (rows, rows[::-1]):
        found = by_url(arranged(*order)[0])
        assert found["a"] == UrlUpdate(rows[1][2], b"feed", {}, False, [])
        assert found["b"] == UrlUpdate(rows[6][2], b"later", {}, False, [])


def test_a_failed_parse_is_a_fetch_only_where_the_fetch_says_so() -> None:
    updates, _ = arranged(
        row("a", 0, Status.PARSE_FAILED),
        row("b", 0, Status.FETCH_SUCCESS),
        row("b", 1, Status.PARSE_FAILED),
    )
    found = by_url(updates)
    assert found["a"].fetch is not None and found["a"].fetch.status is Status.PARSE_FAILED
    assert found["b"].fetch is not None and found["b"].fetch.status is Status.FETCH_SUCCESS
    assert (found["a"].parse_failed, found["b"].parse_failed) == (False, True)


def test_links_best_first_and_no_more_than_allowed() -> None:
    scores = [("b", 1.0), ("a", 2.0), ("b", 3.0), ("b", 2.0), ("c", 5.0)]
    rows = [row(url, 1, Status.LINKED, score=score) for url, score in scores]
    updates, counters = arranged(*rows, most=2)
    found = {url: [link.score for link in each.inlinks] for url, each in by_url(updates).items()}
    assert found == {"a": [2.0], "b": [3.0, 2.0], "c": [5.0]}
    assert counters == {"inlinks_over_limit": 1}
    links = updates.links_to(np.array([1, 2]))
    assert links.owner.tolist() == [0, 0, 1] and links.score.tolist() == [3.0, 2.0, 5.0]
    assert updates.best_links(np.array([0, 1]))["score"].to_pylist() == [2.0, 3.0]


def test_what_says_nothing_is_left_out() -> None:
    updates, counters = arranged(
        row("a", 1, Status.SIGNATURE, signature=b"x"),
        row("b", 1, Status.LINKED),
        row("c", 1, Status.INJECTED),
        row("d", 0, Status.DB_FETCHED),
        row("e", 0, Status.FETCH_GONE),
    )
    assert updates.urls.to_pylist() == ["b", "e"]
    assert updates.hosts_of(np.array([0, 1])).to_pylist() == ["a.org", "a.org"]
    assert counters == {"parses_without_fetch": 3, "records_ignored": 2}
