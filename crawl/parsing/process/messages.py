"""The messages between the sandbox and its child, sent through pipes.

A message is a list of byte strings, each after its length. Pages and rows travel as Arrow
streams; replies are never unpickled, for a page may have taken over the child.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import IO, Any

import pyarrow as pa

from crawl.counters import Counters
from crawl.model.parse import ParseStatus
from crawl.parsing.document import PageFailure, ParsedBatch

_LENGTHS = struct.Struct("<5q")
PROGRESS = struct.Struct("<qd")
"""In shared memory: the page under way and when it began, by the monotonic clock."""
NO_PAGE = -1


class PeerGone(Exception):
    """The process at the other end of the pipe is gone."""


def send(pipe: IO[bytes], parts: Sequence[Any]) -> None:
    """Writes a message of at most five parts."""
    lengths = [memoryview(part).nbytes for part in parts]
    lengths += [-1] * (5 - len(lengths))
    try:
        pipe.write(_LENGTHS.pack(*lengths))
        for part in parts:
            pipe.write(part)
        pipe.flush()
    except (BrokenPipeError, ValueError) as error:
        raise PeerGone from error


def receive(pipe: IO[bytes]) -> list[bytes]:
    """Reads the next message; PeerGone where there will be none."""
    lengths = _LENGTHS.unpack(_exactly(pipe, _LENGTHS.size))
    return [_exactly(pipe, length) for length in lengths if length >= 0]


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    """A pipe without a buffer gives what is there."""
    parts: list[bytes] = []
    while size and (data := pipe.read(size)):
        parts.append(data)
        size -= len(data)
    if size:
        raise PeerGone
    return parts[0] if len(parts) == 1 else b"".join(parts)


class BatchRefused(Exception):
    """The child could not make rows of a batch; the message says why."""

    def __init__(self, failure: PageFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def pack_request(contents: pa.Table, known_failures: Mapping[int, PageFailure]) -> list[Any]:
    header = [
        (page, failure.status.value, failure.message) for page, failure in known_failures.items()
    ]
    return [json.dumps(header).encode(), pack_table(contents)]


def unpack_request(parts: list[bytes]) -> tuple[pa.Table, dict[int, PageFailure]]:
    header, contents = parts
    known_failures = {
        page: PageFailure(ParseStatus(status), message)
        for page, status, message in json.loads(header)
    }
    return unpack_table(contents), known_failures


def pack_reply(batch: ParsedBatch, *, needs_restart: bool) -> list[Any]:
    """`needs_restart`: whether a new child should take over, so much memory has this one used."""
    tables = (batch.parse_data, batch.parse_text, batch.crawl_parse)
    return [json.dumps((batch.counters, needs_restart)).encode(), *map(pack_table, tables)]


def pack_refusal(failure: PageFailure) -> list[Any]:
    return [json.dumps((failure.status.value, failure.message)).encode()]


def unpack_reply(parts: list[bytes]) -> tuple[ParsedBatch, bool]:
    """The rows of a reply, and whether the child should be replaced; BatchRefused where there are
    none."""
    if len(parts) == 1:
        status, message = json.loads(parts[0])
        raise BatchRefused(PageFailure(ParseStatus(status), message))
    counts, is_worn = json.loads(parts[0])
    data, text, crawl = map(unpack_table, parts[1:])
    return ParsedBatch(data, text, crawl, Counters(counts)), is_worn


def pack_table(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def unpack_table(data: bytes) -> pa.Table:
    """The table of an Arrow stream."""
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()
