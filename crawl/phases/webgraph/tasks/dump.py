"""What nodedumper lists: values of nodes, or of their hosts or domains; and how it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.graph.kernels.page_rank import Floats
from crawl.model.arrow import as_array, optional_schema, strings
from crawl.phases.webgraph.tasks import listing
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.values import ListFormat, NodeGroup, NodeValue
from crawl.printable import json_text, printable
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of, sorted_distinct
from crawl.storage.parquet import open_writer
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.urls.domains import domains_of

GROUPED = RowKind("grouped", optional_schema({"name": pa.string(), "value": pa.float64()}))
"""A host or domain, and what some of its pages have together."""


@dataclass(frozen=True)
class NodeValues:
    """The values of nodes, part by part: a `Values`."""

    graph: StoredGraph
    by: NodeValue

    def values(self, part: int) -> Floats:
        if self.by is NodeValue.SCORES:
            return self.graph.scores_of(part)
        return self.graph.counts_of(part, self.by.value).astype(np.float64)

    def names(self, part: int) -> Iterator[pa.ChunkedArray[Any]]:
        for _, rows in self.graph.node_groups(part, ["url"]):
            yield rows["url"]


@dataclass(frozen=True)
class GroupValues:
    """The values of the hosts or domains of one part: a `Values`."""

    rows: pa.Table

    def values(self, part: int) -> Floats:
        values: Floats = self.rows["value"].to_numpy()
        return values

    def names(self, part: int) -> Iterator[pa.ChunkedArray[Any]]:
        yield self.rows["name"]


@dataclass(frozen=True)
class GroupJob:
    """The gathering of nodes by host or domain: their values, and whether these are added up."""

    source: NodeValues
    group: NodeGroup
    is_sum: bool
    destinations: int


def send_groups(job: GroupJob, part: int, outbox: Outbox) -> None:
    """Sends what the nodes of a file have together, by host or domain."""
    groups = job.source.graph.node_groups(part, ["host"])
    names = pa.concat_arrays([as_array(rows["host"]) for _, rows in groups])
    if job.group is NodeGroup.DOMAIN:
        names = domains_of(names)
    rows = _grouped(pa.table([names, job.source.values(part)], schema=GROUPED.schema), job.is_sum)
    outbox.send(GROUPED, rows, buckets_of(rows["name"], job.destinations))


def count_groups(job: GroupJob, number: int, received: Received) -> listing.BinCounts:
    """The values of the hosts or domains that a destination received, by bin."""
    return listing.count_bins(_received_groups(job, received), number)


def list_groups(
    job: GroupJob, plan: listing.ListPlan, number: int, received: Received, outbox: Outbox
) -> None:
    """Sends those of them that may be listed to their ranges. They are gathered once more: a
    reader has no folder in the crawl to keep them in."""
    listing.send_listed(_received_groups(job, received), plan, number, outbox)


def _received_groups(job: GroupJob, received: Received) -> GroupValues:
    return GroupValues(_grouped(received.rows(GROUPED), job.is_sum))


def _grouped(rows: pa.Table, is_sum: bool) -> pa.Table:
    """One row a name, in order of names."""
    names, places = sorted_distinct(rows["name"])
    values = rows["value"].to_numpy()
    if is_sum:
        totals = np.bincount(places, weights=values, minlength=len(names))
    else:
        totals = np.full(len(names), -np.inf)
        np.maximum.at(totals, places, values)
    return pa.table([names, totals], schema=GROUPED.schema)


@dataclass(frozen=True, slots=True)
class WriteListJob:
    """How ranges of a list are written."""

    output: Folder
    format: ListFormat
    separator: str = "\t"


def write_list(job: WriteListJob, task: tuple[int, int], received: Received) -> int:
    """Writes the file of a range, of which so many are listed; returns how many."""
    number, count = task
    rows = listing.sorted_list(count, received)
    suffix = {"text": "txt", "json": "jsonl", "parquet": "parquet"}[job.format.value]
    name = f"part-{number:05d}.{suffix}"
    if job.format is ListFormat.PARQUET:
        with open_writer(job.output, name, rows.schema, whole=True) as writer:
            writer.write(rows)
        return rows.num_rows
    with job.output.open_write(name, whole=True) as stream:
        stream.write("".join(_lines(job, rows)).encode())
    return rows.num_rows


def _lines(job: WriteListJob, rows: pa.Table) -> Iterator[str]:
    for name, value in listed(rows):
        if job.format is ListFormat.JSON:
            yield json_text({"name": name, "value": value}) + "\n"
        else:
            yield f"{printable(name)}{job.separator}{value:.10g}\n"


def listed(rows: pa.Table) -> list[tuple[str, float]]:
    """Rows of a list as pairs."""
    return list(zip(strings(rows["name"]), rows["value"].to_numpy().tolist(), strict=True))


def take_list(task: tuple[int, int], received: Received) -> list[tuple[str, float]]:
    """The pairs of a range, for a short list."""
    return listed(listing.sorted_list(task[1], received))
