"""What the sandbox and its child say to each other through pipes.

A message is a list of byte strings, each after its length. Pages and rows travel as Arrow
streams; what comes back is never unpickled, for who knows what a page made of the child.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa

from crawl.counters import Counters
from crawl.model.parse import ParseStatus
from crawl.parsing.document import PageFailure, ParsedBatch

_LENGTHS = struct.Struct("<5q")
PROGRESS = struct.Struct("<qd")
"""In memory that both see: the page under way and when it began, by the machine's clock."""
NO_PAGE = -1


class PeerGone(Exception):
    """The other end is gone."""


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
    """The next message; PeerGone where there will be none."""
    lengths = _LENGTHS.unpack(_exactly(pipe, _LENGTHS.size))
    return [_exactly(pipe, length) for length in lengths if length >= 0]


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise PeerGone
    return data


@dataclass(frozen=True, slots=True)
class BatchReply:
    """What the child made of a batch."""

    batch: ParsedBatch
    is_worn: bool
    """Whether the child has used up so much memory that a new one is due."""


class BatchRefused(Exception):
    """The child could not make rows of a batch; its one line says why."""

    def __init__(self, verdict: PageFailure) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


def pack_request(contents: pa.Table, condemned: Mapping[int, PageFailure]) -> list[Any]:
    told = [(page, verdict.status.value, verdict.message) for page, verdict in condemned.items()]
    return [json.dumps(told).encode(), _packed(contents)]


def unpack_request(parts: list[bytes]) -> tuple[pa.Table, dict[int, PageFailure]]:
    told, contents = parts
    condemned = {
        page: PageFailure(ParseStatus(status), message)
        for page, status, message in json.loads(told)
    }
    return _unpacked(contents), condemned


def pack_reply(reply: BatchReply) -> list[Any]:
    batch = reply.batch
    told = json.dumps({"counters": batch.counters, "worn": reply.is_worn})
    tables = (batch.parse_data, batch.parse_text, batch.crawl_parse)
    return [told.encode(), *map(_packed, tables)]


def pack_refusal(verdict: PageFailure) -> list[Any]:
    return [json.dumps([verdict.status.value, verdict.message]).encode()]


def unpack_reply(parts: list[bytes]) -> BatchReply:
    """The rows; BatchRefused where there are none."""
    told = json.loads(parts[0])
    if len(parts) == 1:
        status, message = told
        raise BatchRefused(PageFailure(ParseStatus(status), message))
    data, text, crawl = map(_unpacked, parts[1:])
    return BatchReply(ParsedBatch(data, text, crawl, Counters(told["counters"])), told["worn"])


def _packed(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _unpacked(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()
