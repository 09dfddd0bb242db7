"""updatedb's hot path: what was told is merged into a bucket's old records as they stream.

Old records of which nothing is told pass as they are. Where only links are told the score
changes, for a whole row group at once if the scoring plugins can do that; every other
record goes through the rules. In memory are one row group and the bucket's delta.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.bucket_files import BucketTarget, write_bucket
from crawl.buckets.merge import overlaps
from crawl.buckets.renormalize import StoredRecords, stored_rows
from crawl.buckets.updatedb.delta import BucketDelta
from crawl.buckets.updatedb.hosts import HostUpdateJob, NewPages, update_hosts
from crawl.buckets.updatedb.reservations import has_reserved, lift_reservations
from crawl.buckets.updatedb.url_updates import Rows, UrlUpdates, arrange_updates
from crawl.counters import Counters
from crawl.model.datum import GENERATE_TIME_KEY, CrawlDatum
from crawl.model.metadata import without_entry
from crawl.model.records import to_records, to_table
from crawl.model.status import DB_STATUSES, Status
from crawl.model.tables import CRAWLDB
from crawl.rules.updatedb import NOT_ALLOWED, Event, UpdateRules, UrlUpdate, update_record
from crawl.storage.manifest import BucketFile
from crawl.storage.split import SplitFile

_REST_ROWS = 65_536
"""URLs behind the last old record that are made at a time."""


@dataclass(frozen=True)
class UpdateDbJob:
    """What every task needs to know."""

    updating: UpdateRules
    moving: StoredRecords
    target: BucketTarget
    max_inlinks: int
    purge_gone: bool
    purge_orphans: bool
    marks: frozenset[str] = frozenset()
    """Of reservations that are over (see `reserved`)."""
    hosts: HostUpdateJob | None = None

    @property
    def asks_every_record(self) -> bool:
        """Whether a bucket of which nothing is told may change all the same."""
        return (
            self.purge_gone
            or self.purge_orphans
            or self.moving.again is not None
            or self.updating.scoring.has_orphan_moment
        )


@dataclass(frozen=True, slots=True)
class UpdateDbTask:
    """One bucket: its present file, and where rows for it are."""

    bucket: int
    base: BucketFile | None
    delta: BucketDelta
    moved: Sequence[SplitFile] = ()
    hosts: BucketFile | None = None


@dataclass(frozen=True, slots=True)
class UpdateDbTaskResult:
    """The bucket's file, which may be the one before; None where no row is left. And that of
    its hosts."""

    bucket: int
    file: BucketFile | None
    counters: Counters
    hosts: BucketFile | None = None


def update_bucket(job: UpdateDbJob, work: UpdateDbTask) -> UpdateDbTaskResult:
    """Writes the bucket anew, if anything is told of its URLs."""
    counters = Counters()
    moving = job.moving
    rows = work.delta.read(moving.scratch, work.bucket, moving.buckets)
    if rows.num_rows == 0 and not work.moved and not job.asks_every_record:
        reserved = (
            job.marks and work.base and has_reserved(moving.crawldb, work.base.path, job.marks)
        )
        if not reserved:
            hosts = _hosts(job, work, rows, {}, counters)
            return UpdateDbTaskResult(work.bucket, work.base, +counters, hosts)
    told = arrange_updates(rows, job.max_inlinks, counters)
    old = stored_rows(moving, work.base, work.bucket, work.moved, counters)
    merge = _Merge(job, told, counters)
    file = write_bucket(job.target, work.bucket, merge.merge(old))
    hosts = _hosts(job, work, rows, merge.new_pages, counters)
    return UpdateDbTaskResult(work.bucket, file, +counters, hosts)


def _hosts(
    job: UpdateDbJob, work: UpdateDbTask, rows: pa.Table, pages: NewPages, counters: Counters
) -> BucketFile | None:
    if job.hosts is None:
        return work.hosts
    return update_hosts(job.hosts, work.bucket, work.hosts, rows, pages, counters)


class _Merge:
    """What is told meets the old records, a row group at a time."""

    def __init__(self, job: UpdateDbJob, told: UrlUpdates, counters: Counters) -> None:
        self._job = job
        self._told = told
        self._counters = counters
        self._updating = job.updating
        scoring = job.updating.scoring
        self._links_by_column = scoring.can_update_by_column
        self._new_by_column = self._links_by_column and scoring.can_start_by_column
        self.new_pages: NewPages = {}

    def merge(self, groups: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for group, first, end in overlaps(groups, [self._told.urls], CRAWLDB.key):
            if group is not None:
                yield self._group(group.combine_chunks(), first, end)
                continue
            for start in range(first, end, _REST_ROWS):
                yield self._new(np.arange(start, min(start + _REST_ROWS, end)))

    def _group(self, group: pa.Table, first: int, end: int) -> pa.Table:
        """The old records of a row group, with what is told of URLs `first` to `end`."""
        told_of = _places(group["url"].chunk(0), self._told.urls.slice(first, end - first)) + first
        told_of[told_of < first] = -1
        group, told_of = self._purged(group, told_of)
        fetched = (told_of >= 0) & (_at(self._told.fetch, told_of) >= 0)
        group = lift_reservations(group, fetched, self._job.marks, self._counters)
        known = np.flatnonzero(told_of >= 0)
        urls = told_of[known]
        is_new = np.ones(end - first, dtype=np.bool_)
        is_new[urls - first] = False
        by_row = self._told.fetch[urls] >= 0
        if self._links_by_column:
            group = self._linked(group, known[~by_row], urls[~by_row])
        else:
            by_row[:] = True
        visited = self._by_row(group, known[by_row], self._told.heard(urls[by_row]))
        self._note_new_pages(urls[by_row & group["signature"].is_null().to_numpy()[known]])
        orphans = self._silent(group, told_of < 0)
        forgotten = self._by_row(group, orphans, repeat(UrlUpdate(), len(orphans)))
        replaced = np.zeros(group.num_rows, dtype=np.bool_)
        replaced[known[by_row]] = True
        replaced[orphans] = True
        new = self._new(np.flatnonzero(is_new) + first)
        return _sorted_in(group, replaced, [visited, forgotten, new])

    def _purged(self, group: pa.Table, told_of: Rows) -> tuple[pa.Table, Rows]:
        """Without the records of gone pages and orphans, unless they were fetched again: of
        those the old record is needed. A link to a purged page finds it anew."""
        doomed = [
            (Status.DB_GONE, self._job.purge_gone, "urls_purged_404"),
            (Status.DB_ORPHAN, self._job.purge_orphans, "urls_purged_orphans"),
        ]
        for status, is_asked, counter in doomed:
            if not is_asked:
                continue
            fetched = (told_of >= 0) & (_at(self._told.fetch, told_of) >= 0)
            purged = (group["status"].to_numpy() == status) & ~fetched
            if purged.any():
                self._counters[counter] += int(purged.sum())
                group, told_of = group.filter(pa.array(~purged)).combine_chunks(), told_of[~purged]
        return group, told_of

    def _linked(self, group: pa.Table, rows: Rows, urls: Rows) -> pa.Table:
        """The group with the new scores of records to which there are links and no more."""
        if len(rows) == 0:
            return group
        linked = group.take(pa.array(rows))
        links = self._told.links_to(urls)
        scoring = self._updating.scoring
        scores = group["score"].to_numpy().copy()
        scores[rows] = scoring.update_scores(linked, links, self._updating.now, self._counters)
        self._count(Event.LINKED.value, linked["status"])
        return _with_scores(group, scores)

    def _by_row(self, group: pa.Table, rows: Rows, heard: Iterable[UrlUpdate]) -> pa.Table:
        """The new records of old ones, by the rules."""
        chosen = group.take(pa.array(rows))
        return self._ruled(to_records(chosen), chosen["host"].to_pylist(), heard)

    def _silent(self, group: pa.Table, is_silent: npt.NDArray[np.bool_]) -> Rows:
        """The rows of which nothing is told, where that may mean something for them."""
        scoring = self._updating.scoring
        if not scoring.has_orphan_moment or group.num_rows == 0:
            return np.empty(0, dtype=np.int64)
        asked = scoring.orphans(group, self._updating.now, self._counters)
        return np.flatnonzero(asked & is_silent)

    def _new(self, urls: Rows) -> pa.Table:
        """The records of URLs that the CrawlDb does not know."""
        if not self._updating.additions:
            self._counters[NOT_ALLOWED.reason] += len(urls)
            urls = urls[:0]
        by_row = self._told.fetch[urls] >= 0
        if not self._new_by_column:
            by_row[:] = True
        found, ruled = self._found(urls[~by_row]), self._new_by_rules(urls[by_row])
        self._counters["urls_new"] += found.num_rows + ruled.num_rows
        if found.num_rows == 0 or ruled.num_rows == 0:
            return found if ruled.num_rows == 0 else ruled
        return _sorted_in(found, np.zeros(found.num_rows, dtype=np.bool_), [ruled])

    def _note_new_pages(self, urls: Rows) -> None:
        """Counts the signatures of pages that had none before."""
        rows = self._told.signature[urls]
        signed = self._told.rows.select(["host", "signature"]).take(pa.array(rows[rows >= 0]))
        columns = signed["host"].to_pylist(), signed["signature"].to_pylist()
        for host, signature in zip(*columns, strict=True):
            self.new_pages.setdefault(host, Counter())[signature] += 1

    def _new_by_rules(self, urls: Rows) -> pa.Table:
        self._note_new_pages(urls)
        if len(urls) == 0:
            return CRAWLDB.schema.empty_table()
        names = self._told.urls.take(pa.array(urls)).to_pylist()
        unknown: Iterator[tuple[str, CrawlDatum | None]] = ((name, None) for name in names)
        return self._ruled(unknown, self._told.hosts_of(urls).to_pylist(), self._told.heard(urls))

    def _found(self, urls: Rows) -> pa.Table:
        """Records of URLs that only links tell of, all at once: as the rules make them."""
        if len(urls) == 0:
            return CRAWLDB.schema.empty_table()
        counters, updating = self._counters, self._updating
        rows = self._told.best_links(urls).select(CRAWLDB.names)
        count = rows.num_rows
        for name, column in (
            ("status", pa.array(np.full(count, Status.DB_UNFETCHED, dtype=np.int8))),
            ("modified_time", pa.nulls(count, CRAWLDB.schema.field("modified_time").type)),
            ("signature", pa.nulls(count, pa.binary())),
            ("metadata", without_entry(rows["metadata"].combine_chunks(), GENERATE_TIME_KEY)),
        ):
            rows = _with_column(rows, name, column)
        rows = updating.schedule.initialize_batch(rows, updating.now, counters)
        rows = _with_scores(rows, updating.scoring.initial_scores(rows, counters))
        links = self._told.links_to(urls)
        scores = updating.scoring.update_scores(rows, links, updating.now, counters)
        self._count(Event.FOUND.value, rows["status"])
        return _with_scores(rows, scores)

    def _ruled(
        self,
        records: Iterable[tuple[str, CrawlDatum | None]],
        hosts: list[str],
        heard: Iterable[UrlUpdate],
    ) -> pa.Table:
        """The records that the rules make."""
        made: list[tuple[str, str, CrawlDatum]] = []
        for (url, old), host, said in zip(records, hosts, heard, strict=True):
            outcome = update_record(url, old, said, self._updating, self._counters)
            self._counters[outcome.reason] += 1
            if outcome.datum is not None:
                made.append((url, host, outcome.datum))
        table = to_table(made)
        self._count(None, table["status"])
        return table

    def _count(self, event: str | None, statuses: pa.ChunkedArray) -> None:
        """Counts records by their status, and by what happened."""
        if event is not None:
            self._counters[event] += len(statuses)
        counts = np.bincount(statuses.to_numpy(), minlength=len(DB_STATUSES) + 1)
        for status in DB_STATUSES:
            self._counters[status.label] += int(counts[status])


def _places(urls: pa.Array, among: pa.Array) -> Rows:
    """Where each URL stands among others; -1 where it does not."""
    if len(among) == 0:
        return np.full(len(urls), -1, dtype=np.int64)
    found = pc.index_in(urls, value_set=among)
    places: Rows = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return places


def _at(values: Rows, places: Rows) -> Rows:
    """The values at these places; what stands for place -1 means nothing."""
    return values[places] if len(values) else np.full(len(places), -1, dtype=np.int64)


def _with_column(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), column)


def _with_scores(rows: pa.Table, scores: npt.NDArray[np.float32]) -> pa.Table:
    return _with_column(rows, "score", pa.array(scores, pa.float32()))


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
    return both.combine_chunks().take(pa.array(order[stays[order]]))
