"""Writes the files of one chunk: large rows go to disk as they come, small ones are gathered,
because they are sorted by bucket at the end."""

from __future__ import annotations

from contextlib import ExitStack, suppress

import pyarrow as pa

from crawl.errors import StorageError
from crawl.model.tables import CONTENT
from crawl.model.tables import PARSE_DATA as DATA_TABLE
from crawl.model.tables import PARSE_TEXT as TEXT_TABLE
from crawl.storage.bucketed import write_bucketed
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import TableWriter, open_writer
from crawl.storage.segments import CONTENT as CONTENT_PART
from crawl.storage.segments import FETCH, PARSE, PARSE_DATA, PARSE_TEXT

_BUCKETED = (FETCH, PARSE)
_STREAMED = {CONTENT_PART: CONTENT, PARSE_DATA: DATA_TABLE, PARSE_TEXT: TEXT_TABLE}

GROUP_ROWS = 256
"""Pages in one row group: a reader that wants one page unpacks no more than these."""


class ChunkFiles:
    """The files of a chunk, written by one thread. What is not `finish`ed is named by no mark,
    and will be swept."""

    def __init__(self, segment: Folder, part: int, buckets: int) -> None:
        self._segment = segment
        self._stem = f"part-{part:05d}"
        self._buckets = buckets
        self._stack = ExitStack()
        self._open: dict[str, tuple[str, TableWriter]] = {}
        self._gathered: dict[str, list[pa.Table]] = {}

    def write(self, part: str, rows: pa.Table) -> None:
        """Adds rows to a segment part. A parse without rows makes a file too: it shows that there
        was nothing to parse, not that nobody did."""
        if rows.num_rows == 0 and part != PARSE:
            return
        if part in _BUCKETED:
            self._gathered.setdefault(part, []).append(rows)
            return
        if part not in self._open:
            name = attempt_name(self._stem)
            opened = open_writer(
                self._segment.child(part), name, _STREAMED[part].schema, GROUP_ROWS
            )
            self._open[part] = name, self._stack.enter_context(opened)
        self._open[part][1].write(rows)

    def abandon(self) -> None:
        """Closes what is open, wherever that gets: nobody names it."""
        self._gathered = {}
        with suppress(StorageError, OSError):
            self._stack.close()

    def finish(self) -> dict[str, Piece]:
        """Writes the rest; returns the files by segment part."""
        pieces = {}
        for part, tables in self._gathered.items():
            rows, folder = pa.concat_tables(tables), self._segment.child(part)
            pieces[part] = write_bucketed(folder, attempt_name(self._stem), rows, self._buckets)
        self._stack.close()
        for part, (name, writer) in self._open.items():
            pieces[part] = Piece(name, writer.rows, writer.bytes)
        return pieces
