"""A bucket's delta in order of URLs: of each URL the latest fetch, what its parse says,
and the links to it, best first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.interfaces.scoring import Links
from crawl.model.arrow import first_chunk, with_column
from crawl.model.datum import CrawlDatum
from crawl.model.records import dicts, to_records
from crawl.model.status import Status
from crawl.phases.updatedb.rules import UrlUpdate
from crawl.phases.updatedb.tasks.links import Rows, link_rows, ranges, sorted_links
from crawl.storage.layout import sorted_distinct

_FETCHES = [int(status) for status in Status if status.is_fetch]
_SAY_NOTHING = [int(Status.FETCH_NOTMODIFIED), int(Status.FETCH_RETRY)]
"""Fetches after which it counts what was fetched before them, be it in another segment."""
_UPDATE_STATUSES = [
    *_FETCHES,
    int(Status.SIGNATURE),
    int(Status.LINKED),
    int(Status.PARSE_METADATA),
]


@dataclass(frozen=True, slots=True)
class FetchRows:
    """The row of a fetch of each URL, and of what its parse says; -1 where there is none."""

    fetch: Rows
    signature: Rows
    metadata: Rows
    failed: npt.NDArray[np.bool_]
    """Whether the parse of the fetch failed."""

    def of(self, urls: Rows | npt.NDArray[np.bool_] | slice) -> FetchRows:
        """Those of some URLs."""
        return FetchRows(
            self.fetch[urls], self.signature[urls], self.metadata[urls], self.failed[urls]
        )


@dataclass(frozen=True, slots=True)
class UrlUpdates:
    """The URLs that segments have news of, a fetch or links, sorted; and the rows behind each."""

    rows: pa.Table
    urls: pa.Array[Any]
    last: FetchRows
    link_rows: Rows
    """The rows of links, those to one URL together, best score first; a row that stands for
    several comes several times."""
    link_scores: npt.NDArray[np.float32]
    first_link: Rows
    """Where the links to a URL begin among them; one more at the end."""
    before: FetchRows
    """What was fetched before a fetch that says nothing of the page."""

    @property
    def fetch(self) -> Rows:
        """The row of the latest fetch of each URL."""
        return self.last.fetch

    def link_counts(self, urls: Rows) -> Rows:
        counts: Rows = self.first_link[urls + 1] - self.first_link[urls]
        return counts

    def links_to(self, urls: Rows) -> Links:
        """The links to these URLs, the owners numbered in their order."""
        counts = self.link_counts(urls)
        owner = np.repeat(np.arange(len(urls)), counts)
        return Links(owner, self.link_scores[ranges(self.first_link[urls], counts)])

    def best_links(self, urls: Rows) -> pa.Table:
        """The row of the best link to each of these URLs."""
        return self.rows.take(self.link_rows[self.first_link[urls]])

    def hosts_of(self, urls: Rows) -> pa.Array[Any]:
        links = self.first_link[urls]
        if len(self.link_rows):
            links = self.link_rows[np.minimum(links, len(self.link_rows) - 1)]
        rows = np.where(self.fetch[urls] >= 0, self.fetch[urls], links)
        return first_chunk(self.rows["host"]).take(rows)

    def updates_of(self, urls: Rows) -> Iterator[UrlUpdate]:
        """The update of each of these URLs, record by record."""
        for first in range(0, len(urls), _AT_ONCE):
            yield from self._updates_of(urls[first : first + _AT_ONCE])

    def _updates_of(self, urls: Rows) -> Iterator[UrlUpdate]:
        counts = self.link_counts(urls)
        links = self._links(ranges(self.first_link[urls], counts))
        begin = 0
        for update, before, count in zip(
            self._fetches(self.last.of(urls)),
            self._earlier(self.before.of(urls)),
            counts.tolist(),
            strict=True,
        ):
            mine = links[begin : begin + count]
            yield UrlUpdate(
                *(update.fetch, update.signature, update.parse_metadata, update.parse_failed),
                *(mine, before),
            )
            begin += count

    def _fetches(self, found: FetchRows) -> Iterator[UrlUpdate]:
        fetch = found.fetch
        fetches = to_records(self.rows.take(fetch[fetch >= 0]))
        for is_fetch, signature, metadata, failed in zip(
            (fetch >= 0).tolist(),
            self._taken("signature", found.signature).to_pylist(),
            self._metadata(found.metadata),
            found.failed.tolist(),
            strict=True,
        ):
            fetched = next(fetches)[1] if is_fetch else None
            yield UrlUpdate(fetched, signature, metadata, failed)

    def _earlier(self, found: FetchRows) -> Iterator[UrlUpdate | None]:
        if (found.fetch < 0).all():
            return repeat(None, len(found.fetch))
        updates = self._fetches(found)
        return (None if update.fetch is None else update for update in updates)

    def _links(self, links: Rows) -> list[CrawlDatum]:
        """The records of these links."""
        rows = self.rows.take(self.link_rows[links])
        rows = with_column(rows, "score", pa.array(self.link_scores[links]))
        return [datum for _, datum in to_records(rows)]

    def _taken(self, column: str, rows: Rows) -> pa.Array[Any]:
        """The values at these rows; null for row -1."""
        places = pa.array(rows, pa.int64(), mask=rows < 0)
        return first_chunk(self.rows[column]).take(places)

    def _metadata(self, rows: Rows) -> Iterator[dict[str, str]]:
        if (rows < 0).all():
            return repeat({}, len(rows))
        entries = dicts(cast("pa.MapArray[Any, Any]", self._taken("metadata", rows[rows >= 0])))
        return (next(entries) if row >= 0 else {} for row in rows.tolist())


_AT_ONCE = 1024
"""URLs whose records are made at a time: those are far larger than the rows."""


def arrange_updates(rows: pa.Table, max_inlinks: int, counters: Counters) -> UrlUpdates:
    """Puts a bucket's delta (see `delta.DELTA`) in order."""
    rows = rows.combine_chunks() if rows.num_rows else _one_empty_chunk(rows)
    urls, owner = sorted_distinct(rows["url"])

    status = rows["status"].chunk(0).to_numpy()
    origin = rows["origin"].chunk(0).to_numpy()
    counters["records_ignored"] += int(np.count_nonzero(~np.isin(status, _UPDATE_STATUSES)))
    # in crawl_parse it is about a page that has a record of its fetch in crawl_fetch
    is_failure = (status == Status.PARSE_FAILED) & (origin % 2 == 1)
    is_fetch = np.isin(status, _FETCHES) & ~is_failure
    times = rows["fetch_time"].chunk(0).cast(pa.int64()).to_numpy()
    fetch = _last(np.flatnonzero(is_fetch), (origin, times), owner, len(urls))
    counters["fetches_superseded"] += int(is_fetch.sum() - (fetch >= 0).sum())
    says_nothing = np.isin(status, _SAY_NOTHING)
    before = _last(np.flatnonzero(is_fetch & ~says_nothing), (origin, times), owner, len(urls))
    before[(fetch < 0) | ~says_nothing[fetch]] = -1
    is_signature, is_metadata = status == Status.SIGNATURE, status == Status.PARSE_METADATA

    def told(fetch: Rows) -> FetchRows:
        is_said = is_failure | is_signature | is_metadata
        is_said[is_said] = _of_fetch(np.flatnonzero(is_said), owner, fetch, origin, times)

        def of_parse(mask: npt.NDArray[np.bool_]) -> Rows:
            return _last(np.flatnonzero(mask & is_said), (times,), owner, len(urls))

        failure, metadata = of_parse(is_failure), of_parse(is_metadata)
        metadata = np.where(failure >= 0, failure, metadata)
        return FetchRows(fetch, of_parse(is_signature), metadata, failure >= 0)

    linking = link_rows(rows)
    links = sorted_links(rows, linking, owner[linking], max_inlinks, counters)
    link_counts = links.counts(len(urls))
    has_news = (fetch >= 0) | (link_counts > 0)
    lone = len(has_news) - int(np.count_nonzero(has_news))
    counters["parses_without_fetch"] += lone
    # without those that only a parse speaks of: it says nothing without its fetch
    places = has_news if lone else slice(None)
    return UrlUpdates(
        rows,
        urls.filter(pa.array(has_news)) if lone else urls,
        told(fetch).of(places),
        links.rows,
        links.scores,
        np.concatenate([[0], np.cumsum(link_counts[places])]),
        (told(before) if (before >= 0).any() else _nothing(len(urls))).of(places),
    )


def _nothing(urls: int) -> FetchRows:
    none = np.full(urls, -1, dtype=np.int64)
    return FetchRows(none, none, none, np.zeros(urls, dtype=np.bool_))


def _of_fetch(
    rows: Rows,
    owner: Rows,
    fetch: Rows,
    origin: npt.NDArray[np.int32],
    times: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Whether what a parse said is about the fetch that counts: of the same segment, and of
    the very answer if any is (a feed may bring a page that was fetched by itself, too)."""
    page = owner[rows]
    of_segment = (fetch[page] >= 0) & (origin[fetch[page]] // 2 == origin[rows] // 2)
    exact = of_segment & (times[fetch[page]] == times[rows])
    has_exact = np.zeros(len(fetch), dtype=np.bool_)
    has_exact[page[exact]] = True
    is_of_fetch: npt.NDArray[np.bool_] = of_segment & (exact | ~has_exact[page])
    return is_of_fetch


def _last(rows: Rows, ranks: tuple[npt.NDArray[np.integer], ...], owner: Rows, urls: int) -> Rows:
    """The row of each URL that ranks highest; `ranks` from the least important on."""
    ordered = rows[np.lexsort(tuple(rank[rows] for rank in ranks))]
    last = np.full(urls, -1, dtype=np.int64)
    last[owner[ordered]] = ordered  # of several the last stays
    return last


def _one_empty_chunk(rows: pa.Table) -> pa.Table:
    return pa.table([pa.array([], field.type) for field in rows.schema], schema=rows.schema)
