"""Nodes that a list names: where a surfer begins, and whom nobody is to trust.

The names lie in a file of the job's, each with the bucket of its pages (that of a domain may be
any). A task reads those of its own nodes and leaves a number for every node: a piece of a vector
that the iterations read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array, as_mask, optional_schema, strings
from crawl.phases.webgraph.tasks.edges import EDGES
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.ranking import RankTask
from crawl.phases.webgraph.tasks.vectors import read_piece, write_piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.layout import distinct
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.tables.exchange import Outbox
from crawl.urls.domains import registered_domain

NAMES = optional_schema({"name": pa.string(), "is_url": pa.bool_(), "bucket": pa.int32()})
ANY_BUCKET = -1

Flags = npt.NDArray[np.bool_]


def write_names(scratch: Folder, stem: str, names: pa.Table) -> str:
    """Writes a list to where tasks find it."""
    path = attempt_name(stem)
    with open_writer(scratch, path, NAMES) as writer:
        writer.write(names)
    return path


@dataclass(frozen=True)
class MarkJob:
    """The marking of nodes that lists name: the graph, and the files of names to begin at and of
    names not to trust."""

    graph: StoredGraph
    scratch: Folder
    seeds: str | None = None
    """The file of names that a surfer begins at."""
    denied: str | None = None


@dataclass(frozen=True, slots=True)
class MarkTaskResult:
    """The task with a number for every node, by list, and how many nodes are on it."""

    task: RankTask
    seeds: int = 0
    denied: int = 0


def mark_nodes(job: MarkJob, task: RankTask) -> MarkTaskResult:
    """Looks for the nodes of a task in the lists: seeds get 1, denied nodes have no vote."""
    first, _ = job.graph.nodes_of(task.parts)
    result = MarkTaskResult(task)
    if job.seeds is not None:
        seeds = _named(job, job.seeds, task)
        teleport = write_piece(job.scratch, f"teleport-{first}", first, seeds.astype(np.float64))
        task = replace(task, teleport=teleport)
        result = MarkTaskResult(task, int(np.count_nonzero(seeds)))
    if job.denied is not None:
        denied = _named(job, job.denied, task)
        voting = write_piece(job.scratch, f"voting-{first}", first, (~denied).astype(np.float64))
        task = replace(task, voting=voting)
        result = MarkTaskResult(task, result.seeds, int(np.count_nonzero(denied)))
    return result


def _named(job: MarkJob, path: str, task: RankTask) -> Flags:
    """Whether each node of a task is named."""
    buckets = {job.graph.nodes[part].bucket for part in task.parts}
    urls, hosts = _names_of(job.scratch, path, buckets)
    flags: list[Flags] = [np.zeros(0, np.bool_)]
    for part in task.parts:
        for _, rows in job.graph.node_groups(part, ["url", "host"]):
            values, places = distinct(rows["host"])
            by_place = np.array(
                [host in hosts or registered_domain(host) in hosts for host in strings(values)],
                np.bool_,
            )
            is_named = by_place[places]
            if len(urls):
                is_named |= as_mask(pc.is_in(as_array(rows["url"]), urls))
            flags.append(is_named)
    return np.concatenate(flags)


def _names_of(scratch: Folder, path: str, buckets: set[int]) -> tuple[pa.Array[Any], set[str]]:
    """URLs, and hosts or domains, of a list that may be in these buckets."""
    with_any = np.array([ANY_BUCKET, *buckets], np.int32)
    urls: list[pa.Array[Any]] = [pa.array([], pa.string())]
    hosts: set[str] = set()
    with open_table(scratch, path) as source:
        for rows in each_group(source):
            rows = rows.filter(pa.array(np.isin(rows["bucket"].to_numpy(), with_any)))
            urls.append(as_array(rows.filter(rows["is_url"])["name"]))
            hosts.update(strings(rows.filter(pc.invert(rows["is_url"]))["name"]))
    return pa.concat_arrays(urls), hosts


def trust_nodes(scratch: Folder, task: RankTask) -> RankTask:
    """Makes votes and beginnings of distrust, which `task.scores` is; nobody begins where he
    trusts nobody."""
    assert task.scores is not None
    first = task.scores.first
    trusted = 1.0 - read_piece(scratch, task.scores)
    teleport = trusted if task.teleport is None else trusted * read_piece(scratch, task.teleport)
    return replace(
        task,
        scores=None,
        teleport=write_piece(scratch, f"teleport-{first}", first, teleport),
        voting=write_piece(scratch, f"voting-{first}", first, trusted),
    )


def send_turned(graph: StoredGraph, part: int, outbox: Outbox) -> None:
    """Sends the edges into the nodes of a file, turned round, to the nodes that they leave."""
    for block in graph.blocks(part):
        nobody = np.zeros(len(block.sources), dtype=np.int64)
        rows = pa.table([block.sources, block.destinations, nobody], schema=EDGES.schema)
        parts = np.searchsorted(graph.bounds, block.sources, side="right") - 1
        outbox.send(EDGES, rows, parts)
