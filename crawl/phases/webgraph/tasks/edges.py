"""Links as pairs of numbers: sent to the nodes that they lead to, sorted there and written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.arrow import strings
from crawl.model.derived_tables import WEBGRAPH_EDGES
from crawl.phases.webgraph.rules import LinkRules
from crawl.phases.webgraph.tasks.link_rules import sites_of
from crawl.phases.webgraph.tasks.nodes import Endpoints, OutlinksFile, numbers_of
from crawl.storage.folder import Folder
from crawl.storage.layout import distinct, number_of
from crawl.tables.bucket_files import BucketTarget, BucketWriter, WrittenBucket
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.urls.hosts import hosts_of

Numbers = npt.NDArray[np.int64]

EDGES = RowKind(
    "edges", pa.schema([("destination", pa.int64()), ("source", pa.int64()), ("site", pa.int64())])
)
"""A link, and a number of the site that it comes from."""

EDGE_GROUP_ROWS = 1 << 20
"""Edges in a row group: what a task that streams them has in memory."""
_MAX_ROWS = 1 << 22
"""Edges that are sorted at once."""


@dataclass(frozen=True)
class SendEdgesJob:
    """The sending of links as pairs of numbers: the files of outlinks, which links count, and the
    numbers of nodes."""

    folder: Folder
    rules: LinkRules
    offsets: Numbers
    """The number of the first node of every slice."""
    bounds: Numbers
    """The number of the first node of every file of nodes, and of nodes at the end."""


def send_edges(job: SendEdgesJob, task: OutlinksFile, received: Received, outbox: Outbox) -> None:
    """Sends the links of a file to the files of nodes that they lead to."""
    links = Endpoints.of(job.folder, task.file)
    numbers = numbers_of(len(links.urls), job.offsets, received)
    destinations = numbers[links.targets]
    columns = [
        destinations,
        np.repeat(numbers[links.pages], links.outlinks),
        np.repeat(_sites(job.rules, links), links.outlinks),
    ]
    parts = np.searchsorted(job.bounds, destinations, side="right") - 1
    outbox.send(EDGES, pa.table(columns, schema=EDGES.schema), parts)


def _sites(rules: LinkRules, links: Endpoints) -> Numbers:
    """A number of the site of each page that links; of links of one site one counts."""
    if not rules.is_limited:
        return np.zeros(len(links.pages), dtype=np.int64)
    urls = links.urls.take(links.pages)
    names, places = distinct(sites_of(rules, urls, hosts_of(urls)))
    numbers = np.array([number_of(name) for name in strings(names)], dtype=np.uint64)
    return numbers.view(np.int64)[places]


@dataclass(frozen=True, slots=True)
class EdgesTask:
    """The nodes of a file, by their numbers."""

    part: int
    first: int
    end: int

    @property
    def rows(self) -> int:
        return self.end - self.first


def write_edges(
    target: BucketTarget, is_limited: bool, task: EdgesTask, received: Received
) -> WrittenBucket:
    """Writes the edges into the nodes of a file, by destination and source; `is_limited`: of the
    links of one site to a page only one counts."""
    counters = Counters(edges=received.row_count(EDGES))
    with BucketWriter(target, task.part) as writer:
        for destinations, sources, sites in edge_ranges(task, received, EDGES):
            order = np.lexsort((sources, destinations))
            destinations, sources = destinations[order], sources[order]
            limited = np.zeros(len(order), dtype=np.bool_)
            if is_limited:
                limited = _repeated(destinations, sites[order])
            counters["edges_limited"] += int(np.count_nonzero(limited))
            writer.write(pa.table([destinations, sources, limited], schema=WEBGRAPH_EDGES.schema))
    return WrittenBucket(tuple(writer.files), counters)


def _repeated(destinations: Numbers, sites: Numbers) -> npt.NDArray[np.bool_]:
    """Whether another link from the same site to the same destination comes before."""
    order = np.lexsort((sites, destinations))  # stable: of a site the first stays first
    to, of = destinations[order], sites[order]
    repeats = np.zeros(len(order), dtype=np.bool_)
    repeats[order[1:]] = (to[1:] == to[:-1]) & (of[1:] == of[:-1])
    return repeats


def edge_ranges(
    task: EdgesTask, received: Received, kind: RowKind
) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Edges, of which `kind` has the destination, the source and a number, in ascending ranges of
    destinations that fit into memory, each in any order."""
    total = received.row_count(kind)
    if total == 0:
        return
    if total <= _MAX_ROWS:
        yield _arrays(received.rows(kind))
        return
    counts = np.zeros(task.end - task.first, dtype=np.int64)
    for rows in received.tables(kind):
        counts += np.bincount(rows["destination"].to_numpy() - task.first, minlength=len(counts))
    shares = np.cumsum(counts) // _MAX_ROWS
    for share in np.unique(shares[counts > 0]).tolist():
        gathered: list[pa.Table] = []
        for rows in received.tables(kind):
            is_here = shares[rows["destination"].to_numpy() - task.first] == share
            gathered.append(rows.filter(pa.array(is_here)))
        yield _arrays(pa.concat_tables(gathered))


def _arrays(rows: pa.Table) -> tuple[Numbers, Numbers, Numbers]:
    destinations, sources, numbers = (column.to_numpy() for column in rows.columns)
    return destinations, sources, numbers
