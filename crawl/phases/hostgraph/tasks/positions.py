"""The place of each node by a value, the largest first: 1, 2, 3 … over the whole graph.

As nodedumper's lists (phases/webgraph/tasks/listing.py): each task counts its values by their
leading bits, the driver parts them into ranges, a task a range sorts, and tells the nodes their
places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.graph.kernels.page_rank import Floats
from crawl.model.arrow import optional_schema
from crawl.phases.webgraph.tasks.listing import ListPlan
from crawl.phases.webgraph.tasks.vectors import VectorPiece, read_piece, write_piece
from crawl.storage.folder import Folder
from crawl.tables.exchange import Outbox, Received, RowKind

Numbers = npt.NDArray[np.int64]

VALUES = RowKind("values", optional_schema({"node": pa.int64(), "value": pa.float64()}))
POSITIONS = RowKind("positions", pa.schema([("node", pa.int64()), ("position", pa.int64())]))


@dataclass(frozen=True)
class PieceValues:
    """Values in pieces of a vector, a part each: a `Values` without names."""

    scratch: Folder
    pieces: tuple[VectorPiece, ...]

    def values(self, part: int) -> Floats:
        return read_piece(self.scratch, self.pieces[part])

    def names(self, part: int) -> Iterator[pa.ChunkedArray[Any]]:
        return iter(())


@dataclass(frozen=True)
class PositionsJob:
    """A ranking of all nodes by a value: the values, the ranges that they are sorted in, and the
    pieces that get the positions."""

    source: PieceValues
    plan: ListPlan
    offsets: Numbers
    """How many values lie before each range."""
    bounds: Numbers
    """The first node of every piece."""


def send_values(job: PositionsJob, part: int, outbox: Outbox) -> None:
    """Sends the values of a piece to their ranges."""
    values = job.source.values(part)
    first = job.source.pieces[part].first
    rows = pa.table([np.arange(first, first + len(values)), values], schema=VALUES.schema)
    outbox.send(VALUES, rows, job.plan.range_of(part, values))


def send_positions(job: PositionsJob, number: int, received: Received, outbox: Outbox) -> None:
    """Sorts the values of a range; of equal ones the first node comes first."""
    rows = received.rows(VALUES)
    nodes = rows["node"].to_numpy()
    nodes = nodes[np.lexsort((nodes, -rows["value"].to_numpy()))]
    positions = job.offsets[number] + 1 + np.arange(len(nodes))
    answers = pa.table([nodes, positions], schema=POSITIONS.schema)
    outbox.send(POSITIONS, answers, np.searchsorted(job.bounds, nodes, side="right") - 1)


def write_positions(job: PositionsJob, part: int, received: Received) -> VectorPiece:
    """The positions of the nodes of a piece, as a piece."""
    piece = job.source.pieces[part]
    positions = np.zeros(piece.end - piece.first)
    for rows in received.tables(POSITIONS):
        positions[rows["node"].to_numpy() - piece.first] = rows["position"].to_numpy()
    return write_piece(job.source.scratch, f"positions-{piece.first}", piece.first, positions)
