"""Rows on their way between tasks: the all-to-all step of a phase.

Sending tasks put rows for numbered destinations into an `Outbox`; whoever works for a
destination gets them as `Received`. In between they are blocks, opaque bytes that Spark's own
shuffle moves, spills and makes again where an executor dies (crawl/spark/exchange.py); in a
test they stay in memory (crawl/tables/runner.py).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.tables.spill import Spill, SpilledBytes

Task = TypeVar("Task")
Result = TypeVar("Result")
Sent_co = TypeVar("Sent_co", covariant=True)

Block = tuple[int, bytes]
"""A destination, and rows for it as they travel."""

_HEAD = struct.Struct("<BIII")
"""The length of the kind's name, the number of the sending task, that of its block, and the
rows in it."""
_BLOCK_ROWS = 1 << 18
_BLOCK_BYTES = 16 << 20
"""Rows of one block, before they are compressed. Whoever sends or receives has a few blocks in
memory beside those that it keeps, so what it needs does not depend on how long texts are."""
_MAX_IN_MEMORY = 128 << 20
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
        if self._size <= _MAX_IN_MEMORY:
            return block
        self._spill = self._spill or Spill()
        return self._spill.write(block)


class Outbox:
    """What one sending task sends; whole when the task returns, and dropped where it fails."""

    def __init__(self, sender: int) -> None:
        self._sender = sender
        self._bytes = _Blocks()
        self._sent: list[tuple[int, bytes | memoryview | SpilledBytes]] = []
        self.rows: dict[int, int] = {}
        """The rows that were sent to each destination."""

    @property
    def blocks(self) -> Iterator[Block]:
        """All that was sent."""
        for destination, block in self._sent:
            yield destination, bytes(_in_memory(block))

    def drain(self) -> Iterator[Block]:
        """All that was sent, each block forgotten as soon as the next one is asked for."""
        self._sent.reverse()
        while self._sent:
            destination, block = self._sent.pop()
            yield destination, bytes(_in_memory(block))

    def send(self, kind: RowKind, rows: pa.Table, destinations: npt.NDArray[np.integer]) -> None:
        """Sends each row to its destination; those for one keep their order."""
        if rows.num_rows == 0:
            return
        most = _most_rows(rows)
        first = destinations[0]
        if (destinations == first).all():
            self._send(kind, rows, int(first), most)
            return
        if (np.diff(destinations) < 0).any():
            order = np.argsort(destinations, kind="stable")
            rows, destinations = rows.combine_chunks().take(order), destinations[order]
        starts = np.flatnonzero(np.diff(destinations, prepend=destinations[0] - 1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(destinations)], strict=True):
            self._send(kind, rows.slice(start, end - start), int(destinations[start]), most)

    def send_all(self, kind: RowKind, rows: pa.Table, destination: int) -> None:
        """Sends all rows to one destination."""
        self._send(kind, rows, destination, _most_rows(rows))

    def _send(self, kind: RowKind, rows: pa.Table, destination: int, most: int) -> None:
        for start in range(0, rows.num_rows, most):
            self._send_block(kind, rows.slice(start, most), destination)
        self.rows[destination] = self.rows.get(destination, 0) + rows.num_rows

    def _send_block(self, kind: RowKind, rows: pa.Table, destination: int) -> None:
        body = packed(kind.schema, rows)
        if rows.num_rows > 1 and plain_size(body) > 2 * _BLOCK_BYTES:
            middle = rows.num_rows // 2  # rows that are much longer than the others
            self._send_block(kind, rows.slice(0, middle), destination)
            self._send_block(kind, rows.slice(middle), destination)
            return
        name = kind.name.encode()
        head = _HEAD.pack(len(name), self._sender, len(self._sent), rows.num_rows) + name
        self._sent.append((destination, self._bytes.keep(head + body)))


def _most_rows(rows: pa.Table) -> int:
    """How many of these rows are one block, by their length on the average."""
    by_bytes = _BLOCK_BYTES * rows.num_rows // max(1, rows.nbytes)
    return max(1, min(_BLOCK_ROWS, by_bytes))


def _in_memory(block: bytes | memoryview | SpilledBytes) -> bytes | memoryview:
    return block.read() if isinstance(block, SpilledBytes) else block


def rows_of_block(block: bytes) -> int:
    """How many rows there are in a block."""
    return int(_HEAD.unpack_from(block)[-1])


@dataclass(frozen=True, slots=True)
class _ReceivedBlock:
    sender: int
    number: int
    rows: int
    body: bytes | memoryview | SpilledBytes


class Received:
    """The rows that were sent to one destination."""

    def __init__(self, blocks: Iterable[bytes] = ()) -> None:
        self._blocks: dict[str, list[_ReceivedBlock]] = {}
        room = _Blocks()
        for block in blocks:
            self._add(block, room)

    @classmethod
    def by_destination(cls, blocks: Iterable[Block]) -> dict[int, Received]:
        """What each of several destinations received. They share what one may have in memory."""
        received: dict[int, Received] = {}
        room = _Blocks()
        for destination, block in blocks:
            received.setdefault(destination, cls())._add(block, room)
        return received

    def _add(self, block: bytes, room: _Blocks) -> None:
        length, sender, number, rows = _HEAD.unpack_from(block)
        start = _HEAD.size + length
        name = block[_HEAD.size : start].decode()
        body = room.keep(memoryview(block)[start:])
        self._blocks.setdefault(name, []).append(_ReceivedBlock(sender, number, rows, body))

    def has(self, kind: RowKind) -> bool:
        """Whether there is any row of the kind."""
        return kind.name in self._blocks

    def row_count(self, kind: RowKind) -> int:
        """How many rows of the kind there are."""
        return sum(block.rows for block in self._blocks.get(kind.name, ()))

    @property
    def total_rows(self) -> int:
        """How many rows of all kinds there are."""
        return sum(block.rows for blocks in self._blocks.values() for block in blocks)

    def rows(self, kind: RowKind) -> pa.Table:
        """All rows of a kind, in the order of the tasks that sent them."""
        return pa.concat_tables([kind.schema.empty_table(), *self.tables(kind)])

    def tables(self, kind: RowKind) -> Iterator[pa.Table]:
        """The rows of a kind, block by block, in the order of the tasks that sent them."""
        for block in self._in_order(kind):
            yield unpacked(kind.schema, _in_memory(block.body))

    def batches(self, kind: RowKind) -> Iterator[pa.Table]:
        """The same, small blocks gathered: for whoever sends them on, or has to bound memory."""
        gathered: list[pa.Table] = []
        row_count = byte_count = 0
        for block in self._in_order(kind):
            body = _in_memory(block.body)
            gathered.append(unpacked(kind.schema, body))
            row_count += block.rows
            byte_count += plain_size(body)
            if row_count >= _BLOCK_ROWS or byte_count >= _BLOCK_BYTES:
                yield pa.concat_tables(gathered)
                gathered, row_count, byte_count = [], 0, 0
        if gathered:
            yield pa.concat_tables(gathered)

    def _in_order(self, kind: RowKind) -> list[_ReceivedBlock]:
        # a shuffle brings blocks in any order
        blocks = self._blocks.get(kind.name, ())
        return sorted(blocks, key=lambda each: (each.sender, each.number))


NOTHING = Received()
"""What a destination gets to which nobody sent anything."""


def alone(
    function: Callable[[Task, Received, Outbox], Result], task: Task, outbox: Outbox
) -> Result:
    """Runs the function of a task that needs nothing of what others might send."""
    return function(task, NOTHING, outbox)


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

    def __call__(self, arguments: tuple[Any, ...]) -> Result:
        return self.function(*arguments)


Addressed = tuple[int, Task]
"""A destination and the task that works on what it receives."""


class HasNumber(Protocol):
    """A slice or a shard, which is a destination too."""

    @property
    def number(self) -> int: ...


Numbered = TypeVar("Numbered", bound=HasNumber)


def by_number(tasks: Iterable[Numbered]) -> list[Addressed[Numbered]]:
    """Tasks that work on what destinations of their own numbers receive."""
    return [(task.number, task) for task in tasks]


def numbered(count: int) -> list[Addressed[int]]:
    """Tasks that are known by their destinations alone."""
    return [(number, number) for number in range(count)]


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


def plain_size(body: bytes | memoryview) -> int:
    """How many bytes `packed` has compressed."""
    return int(_SIZE.unpack_from(body)[0])


def unpacked(schema: pa.Schema, body: bytes | memoryview) -> pa.Table:
    """What `packed` was given."""
    (size,) = _SIZE.unpack_from(body)
    plain = pa.decompress(memoryview(body)[_SIZE.size :], size, _CODEC)
    return pa.Table.from_batches([pa.ipc.read_record_batch(plain, schema)], schema)


_SIZE = struct.Struct("<Q")
_CODEC: Literal["lz4_raw"] = "lz4_raw"
"""Half the bytes for a third of a nanosecond each, before they cross a socket to the JVM."""
