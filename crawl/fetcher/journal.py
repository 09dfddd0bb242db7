"""Answers between two chunks, safe from a death: small files, one every second or so.

    SEGMENT/crawl_fetch/journal/part-00003/1f2e3d4c-000007.arrow

A chunk wants to be large, and what it gathers must not be asked for again: so batches are
noted here on their way into it, uncompressed, and deleted when the chunk is committed.
Whoever goes on with a part takes the notes of those before it. A note is one file written
once, for object stores cannot append; several Arrow streams, the first says what follows,
so that one which its writer died in is known by what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from crawl.storage.folder import Folder

JOURNAL = "crawl_fetch/journal"

_SAYS = b"nutria.note"


@dataclass(frozen=True, slots=True)
class Note:
    """One batch of answers."""

    name: str
    """Of its file."""
    tables: Mapping[str, pa.Table]
    """By the segment part that they belong to."""
    counters: Mapping[str, int]


class Journal:
    """The notes of one part of a fetch list, as one task sees them."""

    def __init__(self, segment: Folder, part: int, token: str) -> None:
        self._folder = segment.child(f"{JOURNAL}/part-{part:05d}")
        self._token = token[:8]
        self._next = 0

    def write(self, tables: Mapping[str, pa.Table], counters: Mapping[str, int]) -> str:
        """Notes a batch; returns its name."""
        name = f"{self._token}-{self._next:06d}.arrow"
        self._next += 1
        rows = {part: table.num_rows for part, table in tables.items()}
        says = json.dumps({"rows": rows, "counters": dict(counters)}).encode()
        first = pa.schema([], metadata={_SAYS: says})
        with self._folder.open_write(name, lasting=False) as stream:
            pa.ipc.new_stream(stream, first).close()
            for table in tables.values():
                with pa.ipc.new_stream(stream, table.schema) as writer:
                    writer.write_table(table)
        return name

    def left(self, is_contained: Callable[[str], bool]) -> list[Note]:
        """The whole notes of those before, but for the ones that a chunk contains."""
        names = [name for name in self._folder.names() if not is_contained(name)]
        found = [_read(name, self._folder.read(name)) for name in names]
        return [note for note in found if note is not None]

    def delete(self, names: list[str]) -> None:
        for name in names:
            self._folder.delete(name)

    def clear(self) -> None:
        """The part is finished: nobody goes on with it."""
        self._folder.delete("")


def _read(name: str, raw: bytes | None) -> Note | None:
    """None for what was not written to its end."""
    source = pa.BufferReader(raw or b"")
    tables = {}
    try:
        with pa.ipc.open_stream(source) as stream:
            says = json.loads((stream.schema.metadata or {})[_SAYS])
            stream.read_all()
        for part, rows in says["rows"].items():
            with pa.ipc.open_stream(source) as stream:
                tables[part] = stream.read_all()
            if tables[part].num_rows != rows:
                return None
        return Note(name, tables, says["counters"])
    except (pa.ArrowInvalid, OSError, ValueError, KeyError):
        return None
