"""Rows on their way between tasks: the all-to-all step of a phase.

Sending tasks put rows for numbered destinations into an `Outbox`; whoever works for a
destination gets them as `Received`. In between they are blocks, opaque bytes that Spark's own
shuffle moves, spills and makes again where an executor dies (crawl/spark/exchange.py); in a
test they stay in memory (crawl/buckets/runner.py).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.buckets.spill import Spill, SpilledBytes

Task = TypeVar("Task")
Result = TypeVar("Result")
Sent_co = TypeVar("Sent_co", covariant=True)

Block = tuple[int, bytes]
"""A destination, and rows for it as they travel."""

_HEAD = struct.Struct("<BIII")
"""The length of the kind's name, the number of the sending task, that of its block, and the
rows in it."""
_BLOCK_ROWS = 1 << 18
"""A column's text in one block must stay far below 2 GiB, whatever the length of URLs."""
_MOST_IN_MEMORY = 128 << 20
"""Bytes of blocks, which are compressed, that a sender or a destination keeps in memory."""


@dataclass(frozen=True, slots=True)
class RowKind:
    """Rows that travel together, and how they look; one exchange may carry several kinds."""

    name: str
    schema: pa.Schema


class _Blocks:
    """Bytes of blocks. The first stay in memory, the others in a file of the local disk that is
    gone with them."""

    def __init__(self) -> None:
        self._spill: Spill | None = None
        self._size = 0

    def keep(self, block: bytes | memoryview) -> bytes | memoryview | SpilledBytes:
        """Where the block is now."""
        self._size += len(block)
        if self._size <= _MOST_IN_MEMORY:
            return block
        self._spill = self._spill or Spill()
        return self._spill.write(block)


class Outbox:
    """What one sending task sends; whole when the task returns, and dropped where it fails."""

    def __init__(self, sender: int) -> None:
        self._sender = sender
        self._kept = _Blocks()
        self._sent: list[tuple[int, bytes | memoryview | SpilledBytes]] = []
        self.rows: dict[int, int] = {}
        """The rows that were sent to each destination."""

    @property
    def blocks(self) -> Iterator[Block]:
        """All that was sent."""
        for destination, block in self._sent:
            yield destination, block.read() if isinstance(block, SpilledBytes) else bytes(block)

    def send(self, kind: RowKind, rows: pa.Table, destinations: npt.NDArray[np.integer]) -> None:
        """Sends each row to its destination; those for one keep their order."""
        if rows.num_rows == 0:
            return
        first = destinations[0]
        if (destinations == first).all():
            self.send_all(kind, rows, int(first))
            return
        if (np.diff(destinations) < 0).any():
            order = np.argsort(destinations, kind="stable")
            rows, destinations = rows.combine_chunks().take(order), destinations[order]
        starts = np.flatnonzero(np.diff(destinations, prepend=destinations[0] - 1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(destinations)], strict=True):
            self.send_all(kind, rows.slice(start, end - start), int(destinations[start]))

    def send_all(self, kind: RowKind, rows: pa.Table, destination: int) -> None:
        """Sends all rows to one destination."""
        for start in range(0, rows.num_rows, _BLOCK_ROWS):
            piece = rows.slice(start, _BLOCK_ROWS)
            name = kind.name.encode()
            numbers = self._sender, len(self._sent), piece.num_rows
            head = _HEAD.pack(len(name), *numbers) + name
            self._sent.append((destination, self._kept.keep(head + packed(kind.schema, piece))))
        self.rows[destination] = self.rows.get(destination, 0) + rows.num_rows


@dataclass(frozen=True, slots=True)
class _ReceivedBlock:
    sender: int
    number: int
    rows: int
    body: bytes | memoryview | SpilledBytes

    def table(self, schema: pa.Schema) -> pa.Table:
        body = self.body
        return unpacked(schema, body.read() if isinstance(body, SpilledBytes) else body)


class Received:
    """The rows that were sent to one destination."""

    def __init__(self, blocks: Iterable[bytes] = ()) -> None:
        self._blocks: dict[str, list[_ReceivedBlock]] = {}
        kept = _Blocks()
        for block in blocks:
            self._add(block, kept)

    @classmethod
    def by_destination(cls, blocks: Iterable[Block]) -> dict[int, Received]:
        """What each of several destinations received. They share what one may have in memory."""
        found: dict[int, Received] = {}
        kept = _Blocks()
        for destination, block in blocks:
            found.setdefault(destination, cls())._add(block, kept)
        return found

    def _add(self, block: bytes, kept: _Blocks) -> None:
        length, sender, number, rows = _HEAD.unpack_from(block)
        start = _HEAD.size + length
        name = block[_HEAD.size : start].decode()
        body = kept.keep(memoryview(block)[start:])
        self._blocks.setdefault(name, []).append(_ReceivedBlock(sender, number, rows, body))

    def has(self, kind: RowKind) -> bool:
        """Whether there is any row of the kind."""
        return kind.name in self._blocks

    def row_count(self, kind: RowKind) -> int:
        """How many rows of the kind there are."""
        return sum(block.rows for block in self._blocks.get(kind.name, ()))

    def rows(self, kind: RowKind) -> pa.Table:
        """All rows of a kind, in the order of the tasks that sent them."""
        return pa.concat_tables([kind.schema.empty_table(), *self.tables(kind)])

    def tables(self, kind: RowKind) -> Iterator[pa.Table]:
        """The rows of a kind, block by block, in the order of the tasks that sent them."""
        # a shuffle brings blocks in any order
        blocks = self._blocks.get(kind.name, ())
        for block in sorted(blocks, key=lambda each: (each.sender, each.number)):
            yield block.table(kind.schema)

    def batches(self, kind: RowKind) -> Iterator[pa.Table]:
        """The same, small blocks gathered: for whoever sends them on, or has to bound memory."""
        gathered: list[pa.Table] = []
        for table in self.tables(kind):
            gathered.append(table)
            if sum(each.num_rows for each in gathered) >= _BLOCK_ROWS:
                yield pa.concat_tables(gathered)
                gathered.clear()
        if gathered:
            yield pa.concat_tables(gathered)


NOTHING = Received()
"""What a destination gets to which nobody sent anything."""


class BlockSource(Protocol):
    """Blocks that are made elsewhere, by a runner's own means (a Spark query)."""


@dataclass(frozen=True, slots=True)
class StoredBlocks:
    """A source whose blocks are here already: what a test or a small read has."""

    blocks: Sequence[Block]


@dataclass(frozen=True)
class OfTuple(Generic[Result]):
    """A function of several arguments as one of a tuple: runners, and telemetry with them, know
    functions of one task."""

    function: Callable[..., Result]

    def __call__(self, given: tuple[Any, ...]) -> Result:
        return self.function(*given)


Addressed = tuple[int, Task]
"""A destination and the task that works on what it receives."""


class Exchange(Protocol[Sent_co]):
    """Rows that were sent, or will be as soon as somebody wants to have them.

    They can be worked on as often as wanted: nobody sends twice for that. A CrawlError of a
    sending task is raised by whichever method is first to wait for it.
    """

    def results(self) -> Sequence[Sent_co]:
        """What the sending tasks returned, in their order."""
        ...

    def row_counts(self) -> npt.NDArray[np.int64]:
        """How many rows were sent to each destination."""
        ...

    def run(
        self,
        function: Callable[[Task, Received], Result],
        tasks: Sequence[Addressed[Task]],
        step: str,
    ) -> list[Result]:
        """`function` of each task and what its destination received, in the order of `tasks`."""
        ...

    def send(
        self,
        function: Callable[[Task, Received, Outbox], Result],
        tasks: Sequence[Addressed[Task]],
        destinations: int,
        step: str,
    ) -> Exchange[Result]:
        """Sends on: `function` may send rows to `destinations` further ones. It is called when
        somebody wants to have what it sends, so that steps between which nobody has to decide
        anything become one job."""
        ...


def packed(schema: pa.Schema, rows: pa.Table) -> bytes:
    """The rows without their schema, which both sides know: it is larger than a few rows."""
    table = rows.replace_schema_metadata(None)
    if not table.schema.equals(schema):
        table = table.cast(schema)
    (batch,) = table.combine_chunks().to_batches()
    plain = batch.serialize()
    return _SIZE.pack(plain.size) + pa.compress(plain, _CODEC, asbytes=True)


def unpacked(schema: pa.Schema, body: bytes | memoryview) -> pa.Table:
    """What `packed` was given."""
    (size,) = _SIZE.unpack_from(body)
    plain = pa.decompress(memoryview(body)[_SIZE.size :], size, _CODEC)
    return pa.Table.from_batches([pa.ipc.read_record_batch(plain, schema)], schema)


_SIZE = struct.Struct("<Q")
_CODEC: Literal["lz4_raw"] = "lz4_raw"
"""Half the bytes for a third of a nanosecond each, before they cross a socket to the JVM."""
