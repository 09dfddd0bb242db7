"""Links of pages become links of hosts: sent to where they lead, each pair once, and counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.graph.aggregate import links_between, summed_links
from crawl.model.derived_tables import HOSTGRAPH_EDGES
from crawl.phases.webgraph.tasks.edges import EdgesTask, edge_ranges
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.names import NAMED
from crawl.phases.webgraph.tasks.vectors import VectorPiece, whole_vector
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.tables.bucket_files import BucketTarget, BucketWriter
from crawl.tables.exchange import Outbox, Received, RowKind

Numbers = npt.NDArray[np.int64]

LINKS = RowKind("links", HOSTGRAPH_EDGES.schema)
"""A link between hosts, and how many links of pages it stands for."""
DEGREES = RowKind(
    "degrees", pa.schema([(name, pa.int64()) for name in ("node", "inlinks", "outlinks")])
)
"""How many links lead to a host, or leave it, as far as somebody counted."""
LINKED = pa.schema([*NAMED, pa.field("inlinks", pa.int64()), pa.field("outlinks", pa.int64())])
"""Rows of hosts before they are ranked."""


@dataclass(frozen=True)
class SendLinksJob:
    """The turning of page links into host links: the graph, the host of every page, and the ranges
    of hosts that links are sent to."""

    graph: StoredGraph
    scratch: Folder
    groups: tuple[VectorPiece, ...]
    """The host of every page, by their numbers."""
    bounds: Numbers
    """The first host of every range, and the number of hosts at the end."""


def send_links(job: SendLinksJob, part: int, outbox: Outbox) -> Counters:
    """Sends the links of hosts that the links into some pages make."""
    groups = whole_vector(job.scratch, job.groups, job.graph.node_count)
    counters = Counters()
    for block in job.graph.blocks(part):
        sources = groups[block.sources].astype(np.int64)
        destinations = groups[block.destinations].astype(np.int64)
        has_hosts = (sources >= 0) & (destinations >= 0)
        links = links_between(sources[has_hosts], destinations[has_hosts])
        rows = pa.table([links.destinations, links.sources, links.pages], schema=LINKS.schema)
        parts = np.searchsorted(job.bounds, links.destinations, side="right") - 1
        outbox.send(LINKS, rows, parts)
        counters["page_links"] += len(block.sources)
        counters["page_links_between"] += int(links.pages.sum())
    return counters


def write_links(
    target: BucketTarget, bounds: Numbers, task: EdgesTask, received: Received, outbox: Outbox
) -> list[BucketFile]:
    """Writes the links into the hosts of a range, and counts them for both of their ends; no file
    where nothing leads to these hosts."""
    with BucketWriter(target, task.part) as writer:
        for to, of, pages in edge_ranges(task, received, LINKS):
            # by destination, then source: the order of the file
            links = summed_links(to, of, pages)
            destinations, sources = links.sources, links.destinations
            writer.write(pa.table([destinations, sources, links.pages], schema=LINKS.schema))
            for place, ends in enumerate((destinations, sources), start=1):
                nodes, counts = np.unique(ends, return_counts=True)
                columns = [nodes, np.zeros_like(nodes), np.zeros_like(nodes)]
                columns[place] = counts
                rows = pa.table(columns, schema=DEGREES.schema)
                parts = np.searchsorted(bounds, np.asarray(nodes), side="right") - 1
                outbox.send(DEGREES, rows, parts)
    return writer.files


@dataclass(frozen=True, slots=True)
class LinkedTask(EdgesTask):
    """A range of hosts, whose names are in a file of the job's."""

    path: str


def write_linked(
    folder: Folder, scratch_place: str, task: LinkedTask, received: Received
) -> BucketFile:
    """Writes the hosts of a range with the numbers of their links to another file of the job's;
    its path is relative to the folder."""
    inlinks, outlinks = (np.zeros(task.end - task.first, dtype=np.int64) for _ in range(2))
    for rows in received.tables(DEGREES):
        nodes = rows["node"].to_numpy() - task.first
        # a host may be there several times in a block
        np.add.at(inlinks, nodes, rows["inlinks"].to_numpy())
        np.add.at(outlinks, nodes, rows["outlinks"].to_numpy())
    path = f"{scratch_place}/{attempt_name(f'linked-{task.part:05d}')}"
    place = 0
    with open_table(folder, task.path) as source, open_writer(folder, path, LINKED) as writer:
        for rows in each_group(source):
            end = place + rows.num_rows
            columns = [*rows.columns, inlinks[place:end], outlinks[place:end]]
            writer.write(pa.table(columns, schema=LINKED))
            place = end
    return BucketFile(task.part, path, place, writer.bytes)
