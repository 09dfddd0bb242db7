"""Evidence: pages that name another URL as canonical are of one cluster with the page there, and
a URL that is named so is the first to survive.

A page can only stand back behind others by what it says, so nothing is to be gained by a lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.dedup.components import write_edges
from crawl.buckets.dedup.keys import schema_of
from crawl.buckets.dedup.near import TextFile, latest, located
from crawl.buckets.dedup.records import DedupJob, SliceRecords
from crawl.buckets.exchange import Outbox, Received, RowKind
from crawl.buckets.ranges import NewRows
from crawl.buckets.slices import Router, Slice
from crawl.counters import Counters
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.row_files import read_rows, write_rows
from crawl.urls.hosts import hosts_of

CANONICALS = RowKind(
    "canonicals",
    schema_of(url=pa.string(), segment=pa.int32(), canonical=pa.string()),
)
"""What the parse of a page says."""
NAMINGS = RowKind("namings", schema_of(url=pa.string(), page=pa.int64(), scope=pa.uint64()))
"""A URL that a page names; what the page is grouped by."""
_NAMED = schema_of(id=pa.int64())


@dataclass(frozen=True)
class EvidenceJob:
    """What every task of the steps knows."""

    dedup: DedupJob
    router: Router
    scratch: Folder


@dataclass(frozen=True, slots=True)
class EvidenceTaskResult:
    """Files with edges, and with the ids of records that are named."""

    edges: str | None
    named: str | None
    counters: Counters


def send_canonicals(router: Router, file: TextFile, outbox: Outbox) -> None:
    """Sends what the pages of a file of parse_data say to their slices."""
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["url", "canonical"]):
            urls = rows["url"].combine_chunks()
            numbers = np.full(len(urls), file.segment, np.int32)
            table = pa.table([urls, numbers, rows["canonical"]], schema=CANONICALS.schema)
            outbox.send(CANONICALS, table, _slices(router, urls))


def send_namings(
    job: EvidenceJob, records: SliceRecords, base: Slice, received: Received, outbox: Outbox
) -> Counters:
    """Sends what the latest parse of each page names to the slice of that."""
    counters = Counters()
    nodes = records.nodes()
    for each in NewRows.received(received, CANONICALS, "url").ranges():
        rows = latest(each.rows)
        others = pc.and_(
            pc.not_equal(cast("Any", rows["canonical"]), pa.scalar("")),
            pc.not_equal(cast("Any", rows["canonical"]), cast("Any", rows["url"])),
        )
        rows = rows.filter(cast("Any", others))
        places, ids, scopes = located(job.dedup, base, rows["url"].combine_chunks())
        node = nodes[np.searchsorted(records.ids, ids)]
        named = rows["canonical"].take(places).combine_chunks()
        counters["canonicals"] += len(named)
        outbox.send(
            NAMINGS,
            pa.table([named, node, scopes], schema=NAMINGS.schema),
            _slices(job.router, named),
        )
    return +counters


def find_named(
    job: EvidenceJob, records: SliceRecords, base: Slice, received: Received
) -> EvidenceTaskResult:
    """Connects pages with what they name, where the slice has it as a page."""
    counters = Counters()
    nodes = records.nodes()
    ones, others, named = [], [], []
    for each in NewRows.received(received, NAMINGS, "url").ranges():
        rows = each.rows.sort_by("url").combine_chunks()
        codes: Any = rows["url"].combine_chunks().dictionary_encode()
        places, ids, scopes = located(job.dedup, base, codes.dictionary)
        at = np.full(len(codes.dictionary), -1, np.int64)
        at[places] = np.arange(len(places))
        target = at[codes.indices.to_numpy()]
        fits = target >= 0
        counters["canonicals_unknown"] += int((~fits).sum())
        pages, scope = rows["page"].to_numpy()[fits], rows["scope"].to_numpy()[fits]
        target = target[fits]
        same = scopes[target] == scope
        counters["canonicals_of_other_groups"] += int((~same).sum())
        pages, target = pages[same], target[same]
        ones.append(pages)
        others.append(nodes[np.searchsorted(records.ids, ids[target])])
        named.append(np.unique(ids[target]))
    none = np.zeros(0, np.int64)
    edges = write_edges(job.scratch, np.concatenate([none, *ones]), np.concatenate([none, *others]))
    found = np.unique(np.concatenate([none, *named]))
    file = (
        write_rows(job.scratch, "named", pa.table([found], schema=_NAMED)) if len(found) else None
    )
    return EvidenceTaskResult(edges, file, +counters)


def read_named(scratch: Folder, name: str | None) -> Any:
    """The ids in a file of `find_named`."""
    if name is None:
        return np.zeros(0, np.int64)
    return read_rows(scratch, name)["id"].to_numpy()


def _slices(router: Router, urls: pa.Array[Any]) -> Any:
    hosts: Any = pc.fill_null(cast("Any", hosts_of(urls)), "")
    return router.slices_of(hosts, urls)
