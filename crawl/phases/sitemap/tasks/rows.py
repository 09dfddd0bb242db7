"""Entries of sitemaps as rows for the CrawlDb; whatever is dropped is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import properties
from crawl.counters import Counters
from crawl.model.arrow import as_mask, strings
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.parsing.formats.sitemaps import SitemapEntry
from crawl.phases.sitemap import rules
from crawl.phases.sitemap.tasks.values import LISTED, UNPROVED, SitemapJob, SitemapSource
from crawl.storage.row_files import write_rows
from crawl.tables.samples import Samples
from crawl.urls.hosts import hosts_of
from crawl.urls.parse import authority_of

_ROWS_IN_MEMORY = 200_000
_BATCH = 20_000
_MAX_UNPROVED = 1000
"""Hosts of which a task remembers that their URLs are listed elsewhere."""
_ALTERNATE = "link"
"""The tag of translations among an entry's extras; the others are images and videos."""
_UNRANKED = -1
"""The rank of an entry without a date; a translation that says nothing ranks below."""


class ListedRows:
    """The rows of one task."""

    def __init__(self, job: SitemapJob, counters: Counters, samples: Samples) -> None:
        self._job = job
        self._counters = counters
        self._samples = samples
        self._longest = int(job.config[properties.DB_FETCH_INTERVAL_MAX])
        self._shortest = min(int(job.config[properties.SITEMAP_INTERVAL_MIN]), self._longest)
        self._usual = int(job.config[properties.DB_FETCH_INTERVAL_DEFAULT])
        self._tables: list[pa.Table] = []
        self._rows = 0
        self.files: list[str] = []
        self.unproved_files: list[str] = []
        self.unproved: dict[str, tuple[str, int]] = {}

    def add(self, source: SitemapSource, entries: Iterable[SitemapEntry]) -> None:
        """Takes the entries of a sitemap."""
        listed = iter(self._with_alternates(entries))
        while batch := list(islice(listed, _BATCH)):
            self._add(source, batch)
        if self._rows >= _ROWS_IN_MEMORY:
            self.flush()

    def flush(self) -> None:
        """Writes what waits in memory."""
        if self._rows:
            table, scratch = pa.concat_tables(self._tables), self._job.scratch
            is_proved = pc.is_null(table["sitemap"])
            proved, unproved = table.filter(is_proved), table.filter(pc.invert(is_proved))
            if proved.num_rows:
                self.files.append(write_rows(scratch, "sitemap", proved.select(LISTED.names)))
            if unproved.num_rows:
                name = write_rows(scratch, "unproved", unproved.cast(UNPROVED))
                self.unproved_files.append(name)
        self._tables, self._rows = [], 0

    def _with_alternates(
        self, entries: Iterable[SitemapEntry]
    ) -> Iterable[tuple[str, SitemapEntry | None]]:
        media = self._job.config[properties.SITEMAP_URL_MEDIA]
        for entry in entries:
            self._counters["urls_listed"] += 1
            yield entry.url, entry
            for extra in entry.extras:
                self._counters["urls_listed"] += 1
                if extra.tag == _ALTERNATE or media:
                    yield extra.url, None
                else:
                    self._count("urls_dropped.media", extra.url)

    def _add(
        self, source: SitemapSource, listed: Sequence[tuple[str, SitemapEntry | None]]
    ) -> None:
        job, counters = self._job, self._counters
        texts: pa.Array[Any] = pa.array([url for url, _ in listed], pa.string())
        urls = texts
        if job.normalizers is not None:
            urls = job.normalizers.normalize_batch(texts, counters)
        hosts = hosts_of(urls)
        usable = as_mask(pc.and_(pc.is_valid(urls), pc.is_valid(hosts)))
        usable &= as_mask(pc.match_substring_regex(urls, "^https?://"))
        for url in strings(texts.filter(pa.array(~usable))):
            self._count("urls_dropped.no_url", url)
        if job.filters is not None:
            candidates = urls.filter(pa.array(usable))
            accepted = as_mask(job.filters.filter_batch(candidates, counters))
            for url in strings(candidates.filter(pa.array(~accepted))):
                self._count("urls_dropped.filtered", url)
            usable[usable] = accepted
        is_strict, scopes = job.config[properties.SITEMAP_STRICT_PARSING], source.all_scopes
        rows: list[tuple[str, str, CrawlDatum, int, str | None]] = []
        mask = pa.array(usable)
        entries = [listed[row][1] for row in np.flatnonzero(usable).tolist()]
        columns = strings(urls.filter(mask)), strings(hosts.filter(mask))
        for url, host, entry in zip(*columns, entries, strict=True):
            datum, rank = self._record(url, entry)
            is_proved = not is_strict or rules.is_within(scopes, url, host)
            sitemap = None if is_proved else self._unproved_sitemap(source, url, host)
            rows.append((url, host, datum, rank, sitemap))
        table = to_table((url, host, datum) for url, host, datum, _, _ in rows)
        ranks = pa.array([rank for _, _, _, rank, _ in rows], pa.int64())
        sitemaps = pa.array([sitemap for *_, sitemap in rows], pa.string())
        table = table.append_column(LISTED.field("rank"), ranks)
        self._tables.append(table.append_column("sitemap", sitemaps))
        self._rows += table.num_rows

    def _record(self, url: str, entry: SitemapEntry | None) -> tuple[CrawlDatum, int]:
        """The record of a new URL, and its rank."""
        metadata: dict[str, str] = {}
        now_ms = self._job.now_ms
        score, interval, rank = rules.DEFAULT_PRIORITY, self._usual, _UNRANKED
        if entry is None:
            rank -= 1
        else:
            priority = rules.priority_of(entry.priority)
            if priority is not None:
                score, metadata[rules.PRIORITY_KEY] = priority, entry.priority
            elif entry.priority:
                self._count("facts_ignored.priority", entry.priority)
            seconds = rules.interval_of(entry.changefreq, self._shortest, self._longest)
            if seconds is not None:
                interval, metadata[rules.CHANGEFREQ_KEY] = seconds, entry.changefreq.lower()
            elif entry.changefreq:
                self._count("facts_ignored.changefreq", entry.changefreq)
            modified_ms = rules.lastmod_ms(entry.lastmod, now_ms)
            if modified_ms is not None:
                rank, metadata[rules.LASTMOD_KEY] = modified_ms, entry.lastmod
            elif entry.lastmod:
                self._count("facts_ignored.lastmod", entry.lastmod)
        datum = CrawlDatum(
            Status.DB_UNFETCHED, now_ms, fetch_interval=interval, score=score, metadata=metadata
        )
        scoring = self._job.scoring
        if scoring.has_moment("injected_score"):
            datum = scoring.injected_score(url, datum, self._counters)
        return datum, rank

    def _unproved_sitemap(self, source: SitemapSource, url: str, host: str) -> str:
        """The sitemap, which is not known to be one that may list the URL."""
        origin, count = self.unproved.get(host, (authority_of(url) or "", 0))
        if count or len(self.unproved) < _MAX_UNPROVED:
            self.unproved[host] = origin, count + 1
        return source.url

    def _count(self, reason: str, text: str) -> None:
        """Counts a reason, with the text as an example."""
        self._counters[reason] += 1
        self._samples.add(reason, text)
