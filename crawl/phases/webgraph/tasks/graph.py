"""The stored link graph, to be read: nodes, edges and scores of one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.errors import StorageError
from crawl.graph.edges import EdgeBlock
from crawl.graph.kernels.page_rank import Counts, Floats
from crawl.model.derived_tables import WEBGRAPH_EDGES, WEBGRAPH_OUTLINKS, WEBGRAPH_SCORES
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.parquet import open_table
from crawl.tables.bucket_files import stored_groups


@dataclass(frozen=True)
class StoredGraph:
    """A graph on disk, its edges stored by destination: buckets are the files of nodes."""

    folder: Folder
    nodes: tuple[BucketFile, ...]
    edges: dict[int, BucketFile] = field(default_factory=dict)
    """By the place of the file of the nodes that they lead to."""
    scores: dict[int, BucketFile] = field(default_factory=dict)
    counts_limited: bool = True
    """Whether links are there that are one of several of a site."""

    @classmethod
    def of(cls, folder: Folder, snapshot: Snapshot, *, counts_limited: bool = True) -> StoredGraph:
        attached = snapshot.attached
        return cls(
            folder,
            snapshot.files,
            {file.bucket: file for file in attached.get(WEBGRAPH_EDGES.name, ())},
            {file.bucket: file for file in attached.get(WEBGRAPH_SCORES.name, ())},
            counts_limited,
        )

    @cached_property
    def bounds(self) -> npt.NDArray[np.int64]:
        rows = [file.rows for file in self.nodes]
        return np.cumsum([0, *rows], dtype=np.int64)

    @property
    def node_count(self) -> int:
        return int(self.bounds[-1])

    @property
    def edge_count(self) -> int:
        """Those that LinkRank leaves out included."""
        return sum(file.rows for file in self.edges.values())

    @property
    def has_scores(self) -> bool:
        return not self.nodes or bool(self.scores)

    def range_of(self, part: int) -> tuple[int, int]:
        """The first node of a file, and the first behind it."""
        return int(self.bounds[part]), int(self.bounds[part + 1])

    def nodes_of(self, parts: range) -> tuple[int, int]:
        """The first node of neighbouring files, and the first behind them."""
        return int(self.bounds[parts[0]]), int(self.bounds[parts[-1] + 1])

    def blocks(self, bucket: int) -> Iterator[EdgeBlock]:
        """The edges into the nodes of a file, a row group at a time."""
        file = self.edges.get(bucket)
        if file is None:
            return
        columns = ["destination", "source"] + ([] if self.counts_limited else ["limited"])
        first, end = self.range_of(bucket)
        for rows in stored_groups(self.folder, [file], columns):
            block = EdgeBlock(rows["source"].to_numpy(), rows["destination"].to_numpy())
            self._check(block, first, end, file)
            if not self.counts_limited:
                counted = ~rows["limited"].to_numpy()
                if not counted.all():
                    block = EdgeBlock(block.sources[counted], block.destinations[counted])
            yield block

    def _check(self, block: EdgeBlock, first: int, end: int, file: BucketFile) -> None:
        """Numbers beyond the nodes would be read as those of others."""
        if len(block.sources) and not (
            first <= int(block.destinations[0])
            and int(block.destinations[-1]) < end
            and int(block.sources.min()) >= 0
            and int(block.sources.max()) < self.node_count
        ):
            raise StorageError(f"{self.folder.path(file.path)} has edges of another graph")

    def counts_of(self, part: int, name: str) -> Counts:
        """The inlinks or outlinks of each node of a file, those within limits included."""
        return self._column(self.nodes[part], name).to_numpy().astype(np.int64)

    def scores_of(self, part: int) -> Floats:
        """The scores of the nodes of a file."""
        scores: Floats = self._column(self.scores[part], "score").to_numpy()
        return scores

    def _column(self, file: BucketFile, name: str) -> pa.ChunkedArray[Any]:
        with open_table(self.folder, file.path) as source:
            return source.read(columns=[name], use_threads=False)[name]

    def node_groups(self, part: int, columns: list[str]) -> Iterator[tuple[int, pa.Table]]:
        """The nodes of a file, a row group at a time, each with the number of its first."""
        first = int(self.bounds[part])
        for rows in stored_groups(self.folder, [self.nodes[part]], columns):
            yield first, rows
            first += rows.num_rows


def outlinks_view(snapshot: Snapshot) -> Snapshot:
    """The snapshot of the table of outlinks that is attached to one of nodes."""
    return Snapshot(
        snapshot.number,
        snapshot.buckets,
        snapshot.attached.get(WEBGRAPH_OUTLINKS.name, ()),
        snapshot.created_ms,
        snapshot.phase,
    )
