"""Redirects as evidence: where the latest answer of a URL, or its latest page (meta refresh), sends
its reader on.

The CrawlDb knows that a URL redirects, and segments know where to: the Location header is stored
with the answer (content), the target of a refresh with the parse. An answer's word counts for
records that redirect, a page's word for those that are pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.interfaces.chains import NormalizerChain
from crawl.model.arrow import as_mask, fill_null, strings
from crawl.model.parse import REDIRECT_KEY
from crawl.model.status import Status
from crawl.phases.dedup.rules import REDIRECTING
from crawl.phases.dedup.tasks.evidence import (
    EvidenceJob,
    EvidenceTaskResult,
    nodes_of,
    send_named,
    write_named,
)
from crawl.phases.dedup.tasks.keys import schema_of
from crawl.phases.dedup.tasks.near import located
from crawl.phases.dedup.tasks.parsed_pages import TextFile, latest
from crawl.phases.dedup.tasks.records import SliceRecords
from crawl.rules.redirect import redirect_target
from crawl.storage.parquet import each_group, open_table, read_groups
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows
from crawl.tables.slices import Router, Slice
from crawl.urls.hosts import hosts_of

_COLUMNS = schema_of(url=pa.string(), segment=pa.int32(), target=pa.string())
MOVES = RowKind("moves", _COLUMNS)
"""What an answer says."""
REFRESHES = RowKind("refreshes", _COLUMNS)
"""What a page says: also that it sends nobody on."""
_MOVED = (Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)


@dataclass(frozen=True)
class RedirectsJob:
    """The reading of redirects from answers and pages: where their rows are sent, and how targets
    are normalized."""

    router: Router
    normalizers: NormalizerChain
    """By which a fetch brings targets into normal form."""
    max_length: int
    """A longer target is no URL of the CrawlDb."""


@dataclass(frozen=True, slots=True)
class ParseFile:
    """A file of parse_data; others are of content."""

    file: TextFile

    @property
    def rows(self) -> int:
        return self.file.rows


def send_redirects(job: RedirectsJob, file: TextFile | ParseFile, outbox: Outbox) -> Counters:
    """Sends where the answers or pages of a file lead to the slices of their URLs."""
    counters = Counters()
    if isinstance(file, ParseFile):
        _send_refreshes(job, file.file, outbox)
    else:
        _send_moves(job, file, outbox, counters)
    return +counters


def _send_refreshes(job: RedirectsJob, file: TextFile, outbox: Outbox) -> None:
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["url", "metadata"]):
            named: Any = pc.map_lookup(cast("Any", rows["metadata"]), REDIRECT_KEY, "first")
            targets = fill_null(named, "")
            _send(job, REFRESHES, file, rows["url"].combine_chunks(), targets, outbox)


def _send_moves(job: RedirectsJob, file: TextFile, outbox: Outbox, counters: Counters) -> None:
    with open_table(file.folder, file.path) as source:
        for group in range(source.num_row_groups):
            moved = np.isin(read_groups(source, [group], ["status"])["status"].to_numpy(), _MOVED)
            if not moved.any():
                continue
            rows = read_groups(source, [group], ["url", "headers"]).filter(pa.array(moved))
            where: Any = pc.map_lookup(cast("Any", rows["headers"]), "location", "last")
            urls = rows["url"].combine_chunks()
            targets = [
                _target(job, url, location)
                for url, location in zip(strings(urls), strings(fill_null(where, "")), strict=True)
            ]
            normal = job.normalizers.normalize_batch(pa.array(targets, pa.string()), counters)
            counters["redirects_without_target"] += normal.null_count
            _send(job, MOVES, file, urls, fill_null(normal, ""), outbox)


def _target(job: RedirectsJob, url: str, location: str) -> str | None:
    target = redirect_target(url, location) if len(location) <= job.max_length else None
    return None if target is None or len(target) > job.max_length else target


def _send(
    job: RedirectsJob,
    kind: RowKind,
    file: TextFile,
    urls: pa.Array[Any],
    targets: Any,
    outbox: Outbox,
) -> None:
    numbers = np.full(len(urls), file.segment, np.int32)
    hosts = fill_null(hosts_of(urls), "")
    rows = pa.table([urls, numbers, targets], schema=kind.schema)
    outbox.send(kind, rows, job.router.slices_of(hosts, urls))


def send_targets(
    job: EvidenceJob, records: SliceRecords, base: Slice, received: Received, outbox: Outbox
) -> EvidenceTaskResult:
    """Sends the latest target of each record that redirects to the slice of that; returns which
    pages are among them."""
    counters = Counters()
    nodes = records.nodes()
    pages = [np.zeros(0, np.int64)]
    for kind, also in ((MOVES, REDIRECTING), (REFRESHES, ())):
        for each in NewRows.received(received, kind, "url").ranges():
            rows = latest(each.rows)
            leads_on = pc.and_(
                pc.not_equal(cast("Any", rows["target"]), pa.scalar("")),
                pc.not_equal(cast("Any", rows["target"]), cast("Any", rows["url"])),
            )
            rows = rows.filter(pa.array(as_mask(cast("Any", leads_on))))
            places, ids, scopes = located(job.dedup, base, rows["url"].combine_chunks(), also)
            is_page = np.isin(ids, records.ids)
            fits = ~is_page if also else is_page
            places, ids, scopes = places[fits], ids[fits], scopes[fits]
            targets = rows["target"].take(places).combine_chunks()
            counters[job.name] += len(targets)
            send_named(job, targets, nodes_of(records, nodes, ids), scopes, outbox)
            pages.append(ids if not also else pages[0])
    return EvidenceTaskResult(None, write_named(job.scratch, np.concatenate(pages)), +counters)
