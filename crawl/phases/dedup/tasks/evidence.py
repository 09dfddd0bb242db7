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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.status import Status
from crawl.phases.dedup.tasks.components import write_edges
from crawl.phases.dedup.tasks.keys import Keys, Numbers, schema_of
from crawl.phases.dedup.tasks.near import located
from crawl.phases.dedup.tasks.parsed_pages import TextFile, latest
from crawl.phases.dedup.tasks.records import DedupJob, SliceRecords
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.row_files import read_rows, write_rows
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows
from crawl.tables.slices import Router, Slice
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
    """A search for evidence of one kind: the dedup that it is for, where records meet, and which of
    them may be named."""

    dedup: DedupJob
    router: Router
    scratch: Folder
    name: str = "canonicals"
    """Under which it is counted."""
    also: tuple[Status, ...] = ()
    """Statuses of records that are no pages, but may be what is named."""


@dataclass(frozen=True, slots=True)
class EvidenceTaskResult:
    """Files with edges, and with the ids of records that are named."""

    edges: str | None
    named: str | None
    counters: Counters
    known: int = 0
    """How often something was named that the slice has."""


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
        counters[job.name] += len(named)
        send_named(job, named, node, scopes, outbox)
    return +counters


def send_named(
    job: EvidenceJob, named: pa.Array[Any], nodes: Numbers, scopes: Keys, outbox: Outbox
) -> None:
    """Sends what records name to the slices where that is."""
    rows = pa.table([named, nodes, scopes], schema=NAMINGS.schema)
    outbox.send(NAMINGS, rows, _slices(job.router, named))


def find_named(
    job: EvidenceJob, records: SliceRecords, base: Slice, received: Received
) -> EvidenceTaskResult:
    """Connects records with what they name, where the slice has it."""
    counters = Counters()
    nodes = records.nodes()
    ones, others, named = [], [], []
    known = 0
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
        known += int(fits.sum())
        ones.append(pages)
        others.append(nodes_of(records, nodes, ids[target]))
        named.append(np.unique(ids[target]))
    none = np.zeros(0, np.int64)
    edges = write_edges(job.scratch, np.concatenate([none, *ones]), np.concatenate([none, *others]))
    found = np.intersect1d(np.concatenate([none, *named]), records.ids)
    return EvidenceTaskResult(edges, write_named(job.scratch, found), +counters, known)


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


def read_named(scratch: Folder, name: str | None) -> Any:
    """The ids in a file of `write_named`."""
    if name is None:
        return np.zeros(0, np.int64)
    return read_rows(scratch, name)["id"].to_numpy()


def _slices(router: Router, urls: pa.Array[Any]) -> Any:
    hosts: Any = pc.fill_null(cast("Any", hosts_of(urls)), "")
    return router.slices_of(hosts, urls)
