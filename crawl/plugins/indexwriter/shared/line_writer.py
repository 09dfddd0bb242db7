"""Shards of which a line is a document: what stays is copied line by line, unread."""

from __future__ import annotations

import zlib

from crawl.errors import StorageError
from crawl.hints import index_anew
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.file_writer import FileShard


class LineShard(FileShard):
    """Writes one shard; a subclass makes the lines."""

    def _line_of(self, document: IndexDocument) -> bytes:
        """A document as a line, with its end."""
        raise NotImplementedError

    def _read_line(self) -> bytes:
        """The next line of the present file; none at its end."""
        try:
            return self._old.readline() if self._old is not None else b""
        except (EOFError, OSError, zlib.error) as error:
            raise StorageError(f"{self._base}: {error}: {index_anew()}") from error

    def _next_line(self) -> bytes:
        line = self._read_line()
        if not line.endswith(b"\n"):
            raise StorageError(f"{self._base} has fewer lines than the ledger says: {index_anew()}")
        return line

    def keep(self, count: int) -> None:
        for _ in range(count):
            self._new.write(self._next_line())

    def add(self, document: IndexDocument, *, replaces: bool) -> None:
        if replaces:
            self._next_line()
        self._new.write(self._line_of(document))

    def delete(self, url: str, version: int) -> None:
        self._next_line()

    def close(self) -> str:
        if self._read_line():
            raise StorageError(f"{self._base} has more lines than the ledger says: {index_anew()}")
        return super().close()
