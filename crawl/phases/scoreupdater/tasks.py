"""Scores of the link graph on their way into the CrawlDb."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_array, required_schema, with_column
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.storage.folder import Folder
from crawl.tables.bucket_files import BucketTarget, WrittenBucket, stored_groups, write_bucket
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.merge import overlaps, sort_by_key
from crawl.tables.ranges import NewRows, StoredGroups
from crawl.tables.slices import Router, Slice

SCORES = RowKind("scores", required_schema({"url": pa.string(), "score": pa.float32()}))
"""The score of a node."""


@dataclass(frozen=True, slots=True)
class NodesTask:
    """A file of nodes by its place."""

    part: int
    rows: int


def send_scores(
    graph: StoredGraph, router: Router, scale: float, task: NodesTask, outbox: Outbox
) -> None:
    """Sends the scores of the nodes of a file, multiplied by the scale, to the CrawlDb's slices."""
    scores = (scale * graph.scores_of(task.part)).astype(np.float32)
    begin = int(graph.bounds[task.part])
    for first, rows in graph.node_groups(task.part, ["url", "host"]):
        values = scores[first - begin : first - begin + rows.num_rows]
        slices = router.slices_of(rows["host"], rows["url"])
        outbox.send(SCORES, pa.table([rows["url"], values], schema=SCORES.schema), slices)


def update_scores(
    target: BucketTarget, clear_score: float, base: Slice, received: Received
) -> WrittenBucket:
    """Writes a slice of the CrawlDb with the scores of the link graph; pages that this has not get
    `clear_score`."""
    counters = Counters()
    rows = _updated(target.folder, clear_score, base, received, counters)
    return WrittenBucket(write_bucket(target, base.bucket, rows, base.rows), counters)


def _updated(
    crawldb: Folder, clear_score: float, base: Slice, received: Received, counters: Counters
) -> Iterator[pa.Table]:
    stored = StoredGroups(stored_groups(crawldb, base.files), "url")
    for new in NewRows.received(received, SCORES, "url").ranges():
        nodes = sort_by_key(new.rows, ("url",))
        urls = as_array(nodes["url"])
        values = nodes["score"].to_numpy()
        matches = 0
        for group, first, end in overlaps(stored.below(new.end), [urls], ("url",)):
            if group is None:
                continue
            scores = np.full(group.num_rows, clear_score, dtype=np.float32)
            # of the few nodes before the group's last URL, where each record is
            there = urls.slice(first, end - first)
            places = pc.index_in(as_array(group["url"]), there)
            is_node = places.is_valid().to_numpy(zero_copy_only=False)
            scores[is_node] = values[first:end][places.drop_null().to_numpy()]
            matches += int(np.count_nonzero(is_node))
            counters["urls_cleared"] += int(np.count_nonzero(~is_node))
            yield with_column(group, "score", pa.array(scores))
        counters["urls_scored"] += matches
        counters["nodes_unknown"] += nodes.num_rows - matches
