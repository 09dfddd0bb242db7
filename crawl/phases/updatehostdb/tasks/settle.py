"""One row for each host of a bucket: what the CrawlDb says now, and what all fetches say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_array, fill_null, places_in, with_all_columns
from crawl.model.derived_tables import HOSTDB
from crawl.model.sketches import Sketches
from crawl.model.tables import HOSTS
from crawl.phases.updatehostdb.tasks import sums
from crawl.phases.updatehostdb.tasks.read_crawldb import NO_HOMEPAGE, best_homepages
from crawl.phases.updatehostdb.tasks.signatures import distinct, estimates, smallest
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, WrittenBucket, stored_groups, write_bucket
from crawl.tables.exchange import Received, RowKind

PERCENTILES = (50, 75, 95, 99)
"""Those that are columns; the sketches tell any other."""
RESOLVED, UNRESOLVED = "resolved", "failed"


@dataclass(frozen=True)
class SettleJob:
    """The making of the HostDb's rows: where it is written, the CrawlDb, and the moment."""

    target: BucketTarget
    crawldb: Folder
    now_ms: int


@dataclass(frozen=True, slots=True)
class SettleTask:
    """A bucket: its file in the HostDb of before, unless that has another number of buckets,
    and its hosts in trouble."""

    bucket: int
    base: tuple[BucketFile, ...]
    troubles: BucketFile | None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.base)


def settle_bucket(job: SettleJob, task: SettleTask, received: Received) -> WrittenBucket:
    """Writes the bucket of the HostDb from what its CrawlDb and the fetches were sent to say."""
    base = [HOSTDB.schema.empty_table(), received.rows(sums.BASE)]
    base += [
        with_all_columns(rows, HOSTDB.schema)
        for rows in stored_groups(job.target.folder, task.base)
    ]
    files = [] if task.troubles is None else [task.troubles]
    troubles = [
        HOSTS.schema.empty_table(),
        *(rows.replace_schema_metadata(None) for rows in stored_groups(job.crawldb, files)),
    ]
    hosts = _Hosts(received, pa.concat_tables(base), pa.concat_tables(troubles))
    rows, counters = hosts.settled(job.now_ms)
    written = write_bucket(job.target, task.bucket, [rows], rows.num_rows)
    return WrittenBucket(written, counters)


class _Hosts:
    """All hosts that anything is said of, in order."""

    def __init__(self, received: Received, base: pa.Table, troubles: pa.Table) -> None:
        self._received = received
        self._base = base
        self._troubles = troubles
        named: list[Any] = [
            received.rows(kind)["host"].unique()
            for kind in (sums.RECORDS, sums.REQUESTS, sums.CONTENTS)
        ]
        named += [base["host"].unique()]
        names = pa.concat_arrays(named).unique()
        self._names = names.take(pc.sort_indices(names))
        self._count = len(names)
        self._before = self._places(base["host"])

    def settled(self, now_ms: int) -> tuple[pa.Table, Counters]:
        """The rows, and what is to be counted."""
        columns: dict[str, Any] = {"host": self._names}
        self._add_records(columns)
        self._add_requests(columns, now_ms)
        self._add_sketches(columns)
        self._add_troubles(columns)
        self._add_robots(columns)
        self._add_sitemaps(columns)
        table = sums.table_of(sums.BASE, columns)
        stays = (columns["urls"] > 0) | (columns["requests"] > 0) | (columns["robots_denied"] > 0)
        is_new = self._places(self._names, self._base["host"]) < 0
        counters = Counters(
            hosts=int(np.count_nonzero(stays)),
            hosts_new=int(np.count_nonzero(stays & is_new)),
            hosts_without_urls=int(np.count_nonzero(stays & (columns["urls"] == 0))),
            hosts_forgotten=int(np.count_nonzero(~stays)),
        )
        return (table if stays.all() else table.filter(pa.array(stays))), +counters

    def _add_records(self, columns: dict[str, Any]) -> None:
        rows, places = self._rows(sums.RECORDS)
        for name in ("urls", *sums.STATUS_COLUMNS, "connection_failures", "pages"):
            columns[name] = self._sum(places, rows[name])
        columns["distinct_pages"] = self._sum(places, rows["distinct_pages"])
        if self._received.has(sums.SIGNATURES):
            signed, owners = self._rows(sums.SIGNATURES)
            owners, numbers = distinct(owners, signed["signature"].to_numpy())
            numbers_of_all = estimates(*smallest(owners, numbers), self._count)
            columns["distinct_pages"] = np.minimum(numbers_of_all, columns["pages"])
        pages = columns["pages"]
        share = 1 - columns["distinct_pages"] / np.maximum(pages, 1)
        columns["duplicates_share"] = np.where(pages > 0, share, 0.0)
        ranks = rows["homepage_rank"].to_numpy()
        named = as_array(rows["homepage"])
        columns["homepage"] = best_homepages(
            places, np.where(named.is_null(), NO_HOMEPAGE, ranks), named, self._count
        )[1]

    def _add_requests(self, columns: dict[str, Any], now_ms: int) -> None:
        rows, places = self._rows(sums.REQUESTS)
        before = self._before
        for name in sums.REQUEST_COUNTS:
            columns[name] = self._sum(places, rows[name]) + self._sum(before, self._base[name])
        stored, at = self._rows(sums.CONTENTS)
        for name in ("contents", "bytes"):
            columns[name] = self._sum(at, stored[name]) + self._sum(before, self._base[name])
        for name, new, owners in (("response_ms_max", rows, places), ("size_max", stored, at)):
            columns[name] = self._greatest((owners, new[name]), (before, self._base[name]))
        first = np.full(self._count, now_ms, dtype=np.int64)
        np.minimum.at(first, places, rows["first"].to_numpy())
        np.minimum.at(first, before, _moments(self._base["first_seen"]))
        columns["first_seen"] = first
        for name in ("last_fetched", "last_seen"):
            moments = self._greatest((places, rows[name]), (before, self._base[name]))
            columns[name] = _or_null(moments)
        unresolved = self._greatest((places, rows["unresolved_at"]))
        fetched = self._greatest((places, rows["last_fetched"]))
        states = np.full(self._count, "", dtype=object)
        states[before] = self._base["dns_state"].to_numpy()
        states[fetched > 0] = RESOLVED
        states[(unresolved > 0) & (unresolved >= fetched)] = UNRESOLVED
        columns["dns_state"] = pa.array(states, pa.string())

    def _add_sketches(self, columns: dict[str, Any]) -> None:
        rows, places = self._rows(sums.BINS)
        of, before = rows["of"].to_numpy(), self._before
        for what, name in ((sums.RESPONSE_MS, "response_ms"), (sums.SIZE, "size")):
            old = Sketches.of_lists(
                as_array(self._base[f"{name}_bins"]), as_array(self._base[f"{name}_counts"])
            )
            mine = of == what
            sketches = Sketches.of(
                self._count,
                np.concatenate([before[old.owner], places[mine]]),
                np.concatenate([old.bins, rows["bin"].to_numpy()[mine].astype(np.int64)]),
                np.concatenate([old.counts, rows["count"].to_numpy()[mine]]),
            )
            columns[f"{name}_bins"], columns[f"{name}_counts"] = sketches.lists()
            values = sketches.quantiles([share / 100 for share in PERCENTILES])
            for share, quantiles in zip(PERCENTILES, values, strict=True):
                columns[f"{name}_p{share}"] = pa.array(quantiles, mask=np.isnan(quantiles))

    def _add_troubles(self, columns: dict[str, Any]) -> None:
        rows = self._troubles
        places = self._places(rows["host"])
        rows, places = rows.filter(pa.array(places >= 0)), places[places >= 0]
        columns["failures"] = self._sum(places, rows["failures"])
        reasons = np.full(self._count, "", dtype=object)
        reasons[places] = rows["reason"].to_numpy()
        columns["trouble"] = pa.array(reasons, pa.string())
        columns["wait_until"] = _or_null(self._greatest((places, rows["wait_until"])))

    def _add_robots(self, columns: dict[str, Any]) -> None:
        """What was asked this time, or else what was known before: both are caches, of which
        the old is forgotten."""
        rows, places = self._rows(sums.ROBOTS_STATE)
        asked = _moments(rows["asked_at"])
        order = np.argsort(asked, kind="stable")  # of several authorities the last asked
        rows, places, asked = rows.take(order), places[order], asked[order]
        before = self._before
        moments, codes, sitemaps = np.zeros((3, self._count), dtype=np.int64)
        moments[before] = _moments(self._base["robots_asked_at"])
        codes[before] = _moments(self._base["robots_code"])
        sitemaps[before] = self._base["robots_sitemaps"].to_numpy()
        moments[places], codes[places] = asked, rows["code"].to_numpy()
        sitemaps[np.unique(places)] = 0
        np.maximum.at(sitemaps, places, rows["sitemaps"].to_numpy())
        columns["robots_asked_at"] = _or_null(moments)
        columns["robots_code"] = pa.array(codes, mask=moments == 0).cast(pa.int32())
        columns["robots_sitemaps"] = sitemaps
        delays = np.zeros(self._count)
        delays[before] = self._base["crawl_delay_s"].to_numpy()
        answered = rows["code"].to_numpy() // 100 == 2
        by_servers, servers = self._rows(sums.CRAWL_DELAYS)
        delays[places[answered]] = delays[servers] = 0.0
        np.maximum.at(delays, places, rows["crawl_delay_s"].to_numpy())
        np.maximum.at(delays, servers, by_servers["crawl_delay_s"].to_numpy())
        columns["crawl_delay_s"] = delays

    def _add_sitemaps(self, columns: dict[str, Any]) -> None:
        """The newest state of each host's sitemaps: the received one, else the stored one."""
        rows, places = self._rows(sums.SITEMAP_STATE)
        before = self._before
        row_numbers = np.full(self._count, -1, dtype=np.int64)
        row_numbers[before] = np.arange(len(before))
        row_numbers[places] = len(before) + np.arange(len(places))
        newest: Any = pa.array(row_numbers, mask=row_numbers < 0)
        for name in sums.SITEMAP_STATE.schema.names[1:]:
            states = pa.chunked_array(
                [*self._base[f"sitemaps_{name}"].chunks, *rows[name].chunks], rows[name].type
            )
            columns[f"sitemaps_{name}"] = states.take(newest).combine_chunks()

    def _rows(self, kind: RowKind) -> tuple[pa.Table, sums.Integers]:
        """The rows of a kind that are about hosts of the CrawlDb or of fetches, and the places of
        these."""
        rows = self._received.rows(kind).combine_chunks()
        places = self._places(rows["host"])
        is_known = places >= 0
        if is_known.all():
            return rows, places
        return rows.filter(pa.array(is_known)), places[is_known]

    def _places(self, hosts: Any, among: Any = None) -> sums.Integers:
        """Where each host is in the order of all (or among others); -1 where it is not."""
        return places_in(hosts, self._names if among is None else as_array(among))

    def _sum(self, places: sums.Integers, values: pa.ChunkedArray[Any]) -> sums.Integers:
        totals = np.zeros(self._count, dtype=np.int64)
        np.add.at(totals, places, values.to_numpy().astype(np.int64))
        return totals

    def _greatest(self, *columns: tuple[sums.Integers, pa.ChunkedArray[Any]]) -> sums.Integers:
        maxima = np.zeros(self._count, dtype=np.int64)
        for places, values in columns:
            np.maximum.at(maxima, places, _moments(values))
        return maxima


def _moments(values: pa.ChunkedArray[Any]) -> sums.Integers:
    """Numbers, or moments as milliseconds; 0 for null."""
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    numbers: sums.Integers = fill_null(values, 0).to_numpy().astype(np.int64)
    return numbers


def _or_null(moments: sums.Integers) -> pa.Array[Any]:
    return pa.array(moments, mask=moments == 0)
