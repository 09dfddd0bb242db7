"""Evidence: a page and the URL that it names as canonical, and a URL and where it redirects to, are
of one cluster. A URL that is named as canonical is the first to survive, a page that redirects
elsewhere is the last.

| what is said | what follows |
|---|---|
| a page names a page | one cluster; the page that is named survives |
| a URL redirects to a page, over any number of other redirects | one cluster; the target survives |
| pages redirect in a circle (meta refresh) | one cluster; they are compared by the rest |
| the target is no page of the CrawlDb, and leads to none | nothing: a count |
| the target is of another host, with `--group host` | nothing: a count |

By a redirect a page can only stand back behind others, so nothing is to be gained by a lie.

The CrawlDb knows that a URL redirects, and segments know where to: the Location header is stored
with the answer (content), the target of a refresh with the parse. Of each URL the latest answer or
page counts: an answer's word for records that redirect, a page's word for those that are pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.interfaces.chains import NormalizerChain
from crawl.model.arrow import Column, fill_null, strings
from crawl.model.parse import REDIRECT_KEY
from crawl.model.status import Status
from crawl.phases.dedup.rules import CANONICAL, REDIRECT, REDIRECTING
from crawl.phases.dedup.tasks.components import write_edges
from crawl.phases.dedup.tasks.keys import Numbers, schema_of
from crawl.phases.dedup.tasks.near import located
from crawl.phases.dedup.tasks.parsed_pages import PartFile, latest, send_to_slices
from crawl.phases.dedup.tasks.records import DedupJob, SliceRecords, read_records
from crawl.rules.redirect import redirect_target
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table, read_groups
from crawl.storage.row_files import read_rows, write_rows
from crawl.storage.segments import PARSE_DATA
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows
from crawl.tables.slices import Router, Slice

_SAID = schema_of(url=pa.string(), segment=pa.int32(), target=pa.string())
CANONICALS = RowKind("canonicals", _SAID)
"""What the parse of a page says."""
MOVES = RowKind("moves", _SAID)
"""What an answer says."""
REFRESHES = RowKind("refreshes", _SAID)
"""What a page says: also that it sends nobody on."""
NAMINGS = RowKind("namings", schema_of(url=pa.string(), page=pa.int64(), scope=pa.uint64()))
"""A URL that a page names; what the page is grouped by."""
_NAMED = schema_of(id=pa.int64())
_MOVED = (Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)
_SOURCES: dict[str, tuple[tuple[RowKind, tuple[Status, ...]], ...]] = {
    CANONICAL: ((CANONICALS, ()),),
    REDIRECT: ((MOVES, REDIRECTING), (REFRESHES, ())),
}
"""Who says what is named, by the line of the table of what is compared: pages, or where there are
statuses the records that have one of them."""


@dataclass(frozen=True)
class EvidenceJob:
    """A search for evidence of one kind: the dedup that it is for, where records meet, and which of
    them may be named."""

    dedup: DedupJob
    router: Router
    scratch: Folder
    line: str
    """Of the table of what is compared: what the evidence decides."""
    also: tuple[Status, ...] = ()
    """Statuses of records that are no pages, but may be what is named."""

    @property
    def name(self) -> str:
        """Under which it is counted."""
        return f"{self.line}s"


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
class EvidenceTaskResult:
    """Files with edges, and with the ids of records that the evidence speaks of."""

    edges: str | None
    named: str | None
    counters: Counters
    known_count: int = 0
    """How often something was named that the slice has."""


def send_canonicals(router: Router, file: PartFile, outbox: Outbox) -> Counters:
    """Sends what the pages of a file of parse_data say to their slices."""
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["url", "canonical"]):
            _send_said(router, CANONICALS, file, rows["url"], rows["canonical"], outbox)
    return Counters()


def send_redirects(job: RedirectsJob, file: PartFile, outbox: Outbox) -> Counters:
    """Sends where the answers or pages of a file lead to the slices of their URLs."""
    counters = Counters()
    if file.part == PARSE_DATA:
        _send_refreshes(job, file, outbox)
    else:
        _send_moves(job, file, outbox, counters)
    return +counters


def _send_refreshes(job: RedirectsJob, file: PartFile, outbox: Outbox) -> None:
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["url", "metadata"]):
            named: Any = pc.map_lookup(cast("Any", rows["metadata"]), REDIRECT_KEY, "first")
            _send_said(job.router, REFRESHES, file, rows["url"], fill_null(named, ""), outbox)


def _send_moves(job: RedirectsJob, file: PartFile, outbox: Outbox, counters: Counters) -> None:
    with open_table(file.folder, file.path) as source:
        for group in range(source.num_row_groups):
            moved = np.isin(read_groups(source, [group], ["status"])["status"].to_numpy(), _MOVED)
            if not moved.any():
                continue
            rows = read_groups(source, [group], ["url", "headers"]).filter(pa.array(moved))
            where: Any = pc.map_lookup(cast("Any", rows["headers"]), "location", "last")
            locations = strings(fill_null(where, ""))
            targets = [
                _target(job, url, location)
                for url, location in zip(strings(rows["url"]), locations, strict=True)
            ]
            normal = job.normalizers.normalize_batch(pa.array(targets, pa.string()), counters)
            counters["redirects_without_target"] += normal.null_count
            _send_said(job.router, MOVES, file, rows["url"], fill_null(normal, ""), outbox)


def _target(job: RedirectsJob, url: str, location: str) -> str | None:
    target = redirect_target(url, location) if len(location) <= job.max_length else None
    return None if target is None or len(target) > job.max_length else target


def _send_said(
    router: Router, kind: RowKind, file: PartFile, urls: Column, targets: Column, outbox: Outbox
) -> None:
    numbers = np.full(len(urls), file.segment, np.int32)
    rows = pa.table([urls, numbers, targets], schema=kind.schema)
    send_to_slices(router, kind, rows, outbox)


def send_namings(
    job: EvidenceJob, base: Slice, received: Received, outbox: Outbox
) -> EvidenceTaskResult:
    """Sends what was said last of each record to the slice of what it names; tells which pages
    redirect."""
    counters = Counters()
    records = read_records(job.dedup, base, Counters())
    nodes = records.nodes()
    pages = [np.zeros(0, np.int64)]
    for kind, also in _SOURCES[job.line]:
        for each in NewRows.received(received, kind, "url").ranges():
            rows = latest(each.rows)
            others = pc.and_(
                pc.not_equal(cast("Any", rows["target"]), pa.scalar("")),
                pc.not_equal(cast("Any", rows["target"]), cast("Any", rows["url"])),
            )
            rows = rows.filter(cast("Any", others))
            places, ids, scopes = located(job.dedup, base, rows["url"].combine_chunks(), also)
            if also:
                fits = ~np.isin(ids, records.ids)
                places, ids, scopes = places[fits], ids[fits], scopes[fits]
            elif job.line == REDIRECT:
                pages.append(ids)
            named = rows["target"].take(places).combine_chunks()
            counters[job.name] += len(named)
            columns = [named, nodes_of(records, nodes, ids), scopes]
            namings = pa.table(columns, schema=NAMINGS.schema)
            send_to_slices(job.router, NAMINGS, namings, outbox)
    return EvidenceTaskResult(None, write_named(job.scratch, np.concatenate(pages)), +counters)


def find_named(job: EvidenceJob, base: Slice, received: Received) -> EvidenceTaskResult:
    """Connects records with what they name, where the slice has it; tells which pages are named as
    canonical."""
    counters = Counters()
    records = read_records(job.dedup, base, Counters())
    nodes = records.nodes()
    none = np.zeros(0, np.int64)
    ones, others, named = [none], [none], [none]
    known_count = 0
    for each in NewRows.received(received, NAMINGS, "url").ranges():
        rows = each.rows.sort_by("url").combine_chunks()
        codes: Any = rows["url"].combine_chunks().dictionary_encode()
        places, ids, scopes = located(job.dedup, base, codes.dictionary, job.also)
        at = np.full(len(codes.dictionary), -1, np.int64)
        at[places] = np.arange(len(places))
        target = at[codes.indices.to_numpy()]
        fits = target >= 0
        pages, scope = rows["page"].to_numpy()[fits], rows["scope"].to_numpy()[fits]
        target = target[fits]
        same = scopes[target] == scope
        counters[f"{job.name}_of_other_groups"] += int((~same).sum())
        pages, target = pages[same], target[same]
        known_count += int(fits.sum())
        ones.append(pages)
        others.append(nodes_of(records, nodes, ids[target]))
        if job.line == CANONICAL:
            named.append(np.unique(ids[target]))
    edges = write_edges(job.scratch, np.concatenate(ones), np.concatenate(others))
    named_ids = np.intersect1d(np.concatenate(named), records.ids)
    return EvidenceTaskResult(edges, write_named(job.scratch, named_ids), +counters, known_count)


def nodes_of(records: SliceRecords, nodes: Numbers, ids: Numbers) -> Numbers:
    """What stands for records among clusters: of a page its node, of others they themselves."""
    if not len(records):
        return ids
    places = np.minimum(np.searchsorted(records.ids, ids), len(records) - 1)
    return np.where(records.ids[places] == ids, nodes[places], ids)


def write_named(scratch: Folder, ids: Numbers) -> str | None:
    """A file with ids of a slice's records; None where there are none."""
    if not len(ids):
        return None
    return write_rows(scratch, "named", pa.table([np.unique(ids)], schema=_NAMED))


def read_named(scratch: Folder, name: str) -> Any:
    """The ids in a file of `write_named`."""
    return read_rows(scratch, name)["id"].to_numpy()
