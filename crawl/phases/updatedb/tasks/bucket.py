"""updatedb's hot path: what segments say of URLs is merged into a slice's stored records as they
stream.

Stored records that no segment mentions pass as they are. Where there are only links the score
changes, for a whole row group at once if the scoring plugins can do that; every other
record goes through the rules. In memory are one row group and a range of the delta.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import first_chunk, places_in, strings, with_column
from crawl.model.datum import GENERATE_TIME_KEY, CrawlDatum
from crawl.model.metadata import without_entry
from crawl.model.records import to_records, to_table
from crawl.model.status import DB_STATUSES, Status
from crawl.model.tables import CRAWLDB
from crawl.phases.updatedb.rules import NOT_ALLOWED, Event, UpdateRules, UrlUpdate, update_record
from crawl.phases.updatedb.tasks.delta import UPDATES
from crawl.phases.updatedb.tasks.hosts import (
    TROUBLES,
    HostNews,
    HostUpdateJob,
    NewPages,
    update_hosts,
)
from crawl.phases.updatedb.tasks.links import Rows, without_weak_links
from crawl.phases.updatedb.tasks.reservations import has_reserved, lift_reservations
from crawl.phases.updatedb.tasks.url_updates import UrlUpdates, arrange_updates
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, WrittenBucket, write_bucket
from crawl.tables.exchange import Outbox, Received
from crawl.tables.merge import overlaps
from crawl.tables.ranges import KeyRange, NewRows, StoredGroups
from crawl.tables.renormalize import MOVED, StoredRecords, stored_rows
from crawl.tables.slices import Slice

_REST_ROWS = 65_536
"""URLs behind the last old record that are made at a time."""


@dataclass(frozen=True)
class UpdateDbJob:
    """An update of the CrawlDb: the rules, its stored records, where it is written, and what is
    purged."""

    rules: UpdateRules
    stored: StoredRecords
    target: BucketTarget
    max_inlinks: int
    purge_gone: bool
    purge_orphans: bool
    marks: frozenset[str]
    """The marks of reservations that are over (see `reservations`)."""
    hosts: HostUpdateJob

    @property
    def asks_every_record(self) -> bool:
        """Whether a slice that no segment mentions may change all the same."""
        return (
            self.purge_gone
            or self.purge_orphans
            or self.stored.renormalization is not None
            or self.rules.scoring.has_moment("orphaned_score")
        )


@dataclass(frozen=True, slots=True)
class UpdateDbTask:
    """One slice."""

    base: Slice
    hosts: BucketFile | None = None
    """Of its bucket, if the slice is all of it."""
    hosts_at: int = -1
    """Else where what is learned of hosts is sent."""

    @property
    def rows(self) -> int:
        return self.base.rows


@dataclass(frozen=True, slots=True)
class UpdateDbTaskResult(WrittenBucket):
    """The slice's files, which may be those before. And that of the hosts, if the slice is a whole
    bucket."""

    hosts: BucketFile | None = None


def update_bucket(job: UpdateDbJob, task: UpdateDbTask, received: Received) -> UpdateDbTaskResult:
    """Writes a slice that is a whole bucket anew, if a segment has anything of its URLs."""
    counters, news = Counters(), HostNews()
    files = _update(job, task, received, news, counters)
    hosts = update_hosts(job.hosts, task.base.bucket, task.hosts, received, news, counters)
    return UpdateDbTaskResult(files, +counters, hosts)


def update_slice(
    job: UpdateDbJob, task: UpdateDbTask, received: Received, outbox: Outbox
) -> UpdateDbTaskResult:
    """Writes any slice anew; one of several of a bucket sends what it learned of hosts."""
    if task.base.is_whole:
        return update_bucket(job, task, received)
    counters, news = Counters(), HostNews()
    files = _update(job, task, received, news, counters)
    news.send(task.hosts_at, outbox)
    outbox.send_all(TROUBLES, received.rows(TROUBLES), task.hosts_at)
    return UpdateDbTaskResult(files, +counters)


def _update(
    job: UpdateDbJob, task: UpdateDbTask, received: Received, news: HostNews, counters: Counters
) -> tuple[BucketFile, ...]:
    base, crawldb = task.base, job.stored.crawldb
    thin = partial(without_weak_links, most=job.max_inlinks, counters=counters)
    if not received.has(UPDATES) and not received.has(MOVED) and not job.asks_every_record:
        paths = [file.path for file in base.files] if job.marks else []
        if not any(has_reserved(crawldb, path, job.marks) for path in paths):
            return base.files
    ranges = NewRows.received(received, UPDATES, CRAWLDB.key[0], thin).ranges()
    rows = _updated(job, base, ranges, received, news, counters)
    expected = base.rows + received.row_count(UPDATES) + received.row_count(MOVED)
    return write_bucket(job.target, base.bucket, rows, expected)


def _updated(
    job: UpdateDbJob,
    base: Slice,
    ranges: Iterable[KeyRange],
    received: Received,
    news: HostNews,
    counters: Counters,
) -> Iterator[pa.Table]:
    old = StoredGroups(stored_rows(job.stored, base, received, counters), CRAWLDB.key[0])
    for each in ranges:
        news.take_answers(each.rows)
        updates = arrange_updates(each.rows, job.max_inlinks, counters)
        yield from _Merge(job, updates, news.pages, counters).merge(old.below(each.end))
        del each, updates  # before the next is read


class _Merge:
    """Merges the updates into the stored records, a row group at a time."""

    def __init__(
        self, job: UpdateDbJob, updates: UrlUpdates, new_pages: NewPages, counters: Counters
    ) -> None:
        self._job = job
        self._updates = updates
        self._counters = counters
        self._rules = job.rules
        scoring = job.rules.scoring
        self._links_by_column = scoring.can_update_by_column
        self._new_by_column = self._links_by_column and scoring.can_start_by_column
        self._new_pages = new_pages

    def merge(self, groups: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for group, first, end in overlaps(groups, [self._updates.urls], CRAWLDB.key):
            if group is not None:
                yield self._group(group.combine_chunks(), first, end)
                continue
            for start in range(first, end, _REST_ROWS):
                yield self._new(np.arange(start, min(start + _REST_ROWS, end)))

    def _group(self, group: pa.Table, first: int, end: int) -> pa.Table:
        """The stored records of a row group, with the updates `first` to `end`."""
        among = self._updates.urls.slice(first, end - first)
        update_of = places_in(first_chunk(group["url"]), among) + first
        update_of[update_of < first] = -1
        group, update_of = self._purged(group, update_of)
        fetched = (update_of >= 0) & (_at(self._updates.fetch, update_of) >= 0)
        group = lift_reservations(group, fetched, self._job.marks, self._counters)
        rows = np.flatnonzero(update_of >= 0)
        urls = update_of[rows]
        is_new = np.ones(end - first, dtype=np.bool_)
        is_new[urls - first] = False
        by_row = self._updates.fetch[urls] >= 0
        if self._links_by_column:
            group = self._linked(group, rows[~by_row], urls[~by_row])
        else:
            by_row[:] = True
        visited = self._by_row(group, rows[by_row], self._updates.updates_of(urls[by_row]))
        self._note_new_pages(urls[by_row & group["signature"].is_null().to_numpy()[rows]])
        orphans = self._silent(group, update_of < 0)
        forgotten = self._by_row(group, orphans, repeat(UrlUpdate(), len(orphans)))
        replaced = np.zeros(group.num_rows, dtype=np.bool_)
        replaced[rows[by_row]] = True
        replaced[orphans] = True
        new = self._new(np.flatnonzero(is_new) + first)
        return _sorted_in(group, replaced, [visited, forgotten, new])

    def _purged(self, group: pa.Table, update_of: Rows) -> tuple[pa.Table, Rows]:
        """Without the records of gone pages and orphans, unless they were fetched again: of
        those the old record is needed. A link to a purged page finds it anew."""
        doomed = [
            (Status.DB_GONE, self._job.purge_gone, "urls_purged_404"),
            (Status.DB_ORPHAN, self._job.purge_orphans, "urls_purged_orphans"),
        ]
        for status, is_asked, counter in doomed:
            if not is_asked:
                continue
            fetched = (update_of >= 0) & (_at(self._updates.fetch, update_of) >= 0)
            purged = (group["status"].to_numpy() == status) & ~fetched
            if purged.any():
                self._counters[counter] += int(purged.sum())
                group = group.filter(pa.array(~purged)).combine_chunks()
                update_of = update_of[~purged]
        return group, update_of

    def _linked(self, group: pa.Table, rows: Rows, urls: Rows) -> pa.Table:
        """The group with the new scores of records to which there are links and no more."""
        if len(rows) == 0:
            return group
        linked = group.take(rows)
        links = self._updates.links_to(urls)
        scoring = self._rules.scoring
        scores = group["score"].to_numpy().copy()
        scores[rows] = scoring.update_scores(linked, links, self._rules.now, self._counters)
        self._count(Event.LINKED.value, linked["status"])
        return _with_scores(group, scores)

    def _by_row(self, group: pa.Table, rows: Rows, updates: Iterable[UrlUpdate]) -> pa.Table:
        """The new records of old ones, by the rules."""
        records = group.take(rows)
        return self._ruled(to_records(records), strings(records["host"]), updates)

    def _silent(self, group: pa.Table, is_silent: npt.NDArray[np.bool_]) -> Rows:
        """The rows that no segment mentions, where that may make them orphans."""
        scoring = self._rules.scoring
        if not scoring.has_moment("orphaned_score") or group.num_rows == 0:
            return np.empty(0, dtype=np.int64)
        asked = scoring.orphans(group, self._rules.now, self._counters)
        return np.flatnonzero(asked & is_silent)

    def _new(self, urls: Rows) -> pa.Table:
        """The records of URLs that the CrawlDb does not know."""
        if not self._rules.additions:
            self._counters[NOT_ALLOWED.reason] += len(urls)
            urls = urls[:0]
        by_row = self._updates.fetch[urls] >= 0
        if not self._new_by_column:
            by_row[:] = True
        linked, ruled = self._linked_only(urls[~by_row]), self._new_by_rules(urls[by_row])
        self._counters["urls_new"] += linked.num_rows + ruled.num_rows
        if linked.num_rows == 0 or ruled.num_rows == 0:
            return linked if ruled.num_rows == 0 else ruled
        return _sorted_in(linked, np.zeros(linked.num_rows, dtype=np.bool_), [ruled])

    def _note_new_pages(self, urls: Rows) -> None:
        """Counts the signatures of pages that had none before."""
        rows = self._updates.last.signature[urls]
        signed = self._updates.rows.select(["host", "signature"]).take(rows[rows >= 0])
        signatures = cast("list[bytes]", signed["signature"].to_pylist())
        for host, signature in zip(strings(signed["host"]), signatures, strict=True):
            self._new_pages.setdefault(host, Counter())[signature] += 1

    def _new_by_rules(self, urls: Rows) -> pa.Table:
        self._note_new_pages(urls)
        if len(urls) == 0:
            return CRAWLDB.schema.empty_table()
        unknown = ((name, None) for name in strings(self._updates.urls.take(urls)))
        hosts = strings(self._updates.hosts_of(urls))
        return self._ruled(unknown, hosts, self._updates.updates_of(urls))

    def _linked_only(self, urls: Rows) -> pa.Table:
        """Records of URLs that only links tell of, all at once: as the rules make them."""
        if len(urls) == 0:
            return CRAWLDB.schema.empty_table()
        counters, rules = self._counters, self._rules
        rows = self._updates.best_links(urls).select(CRAWLDB.names)
        count = rows.num_rows
        for name, column in (
            ("status", pa.array(np.full(count, Status.DB_UNFETCHED, dtype=np.int8))),
            ("modified_time", pa.nulls(count, CRAWLDB.schema.field("modified_time").type)),
            ("signature", pa.nulls(count, pa.binary())),
            ("metadata", without_entry(rows["metadata"].combine_chunks(), GENERATE_TIME_KEY)),
        ):
            rows = with_column(rows, name, column)
        rows = rules.schedule.initialize_batch(rows, rules.now, counters)
        rows = _with_scores(rows, rules.scoring.initial_scores(rows, counters))
        links = self._updates.links_to(urls)
        scores = rules.scoring.update_scores(rows, links, rules.now, counters)
        self._count(Event.FOUND.value, rows["status"])
        return _with_scores(rows, scores)

    def _ruled(
        self,
        records: Iterable[tuple[str, CrawlDatum | None]],
        hosts: list[str],
        updates: Iterable[UrlUpdate],
    ) -> pa.Table:
        """The records that the rules make."""
        records_made: list[tuple[str, str, CrawlDatum]] = []
        for (url, old), host, update in zip(records, hosts, updates, strict=True):
            outcome = update_record(url, old, update, self._rules, self._counters)
            self._counters[outcome.reason] += 1
            if outcome.datum is not None:
                records_made.append((url, host, outcome.datum))
        table = to_table(records_made)
        self._count(None, table["status"])
        return table

    def _count(self, event: str | None, statuses: pa.ChunkedArray[Any]) -> None:
        """Counts records by their status, and by what happened."""
        if event is not None:
            self._counters[event] += len(statuses)
        counts = np.bincount(statuses.to_numpy(), minlength=len(DB_STATUSES) + 1)
        for status in DB_STATUSES:
            self._counters[status.label] += int(counts[status])


def _at(values: Rows, places: Rows) -> Rows:
    """The values at these places; what stands for place -1 means nothing."""
    return values[places] if len(values) else np.full(len(places), -1, dtype=np.int64)


def _with_scores(rows: pa.Table, scores: npt.NDArray[np.float32]) -> pa.Table:
    return with_column(rows, "score", pa.array(scores, pa.float32()))


def _sorted_in(
    rows: pa.Table, replaced: npt.NDArray[np.bool_], others: Sequence[pa.Table]
) -> pa.Table:
    """The rows without those replaced, and the others, in order of URL."""
    others = [table for table in others if table.num_rows]
    if not others:
        return rows if not replaced.any() else rows.filter(pa.array(~replaced))
    both = pa.concat_tables([rows, *others])
    order = pc.sort_indices(both["url"].combine_chunks()).to_numpy()
    stays = np.ones(both.num_rows, dtype=np.bool_)
    stays[: rows.num_rows] = ~replaced
    return both.combine_chunks().take(order[stays[order]])
