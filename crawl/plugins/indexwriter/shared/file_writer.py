"""Writers whose index is files, one a shard, in the order of URLs.

The next state of a shard is a new file: what stays is copied from the present one record by
record, without looking into it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from typing import IO, Any, ClassVar

from crawl.config import Config
from crawl.errors import ConfigError, StorageError
from crawl.hints import index_anew
from crawl.interfaces.indexwriter import NO_PARAMETERS, IndexWriter, Shard, ShardWriter
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.parameters import Parameters

COMMON = ("path",)
"""Parameters of every file writer: `path` is the folder of its files."""


class FileIndexWriter(IndexWriter):
    """A writer of files, which needs nobody's leave and is visible when it is published."""

    keeps_files: ClassVar[bool] = True
    own_parameters: ClassVar[tuple[str, ...]] = ()
    """Its own parameters."""

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        self._parameters = Parameters(parameters, (*COMMON, *self.own_parameters))
        if "\0" in self._parameters.text("path"):
            raise ConfigError("path: no folder has a NUL in its name")

    def check(self) -> None:
        pass

    def commit(self) -> None:
        pass


class FileShard(ShardWriter):
    """The present file of a shard, if there is one, and the new one; a subclass fills it."""

    def __init__(self, shard: Shard, suffix: str) -> None:
        self._stack = ExitStack()
        self._base = shard.base
        self._name = shard.new_name(suffix)
        self._old: IO[bytes] | None = None
        try:
            if shard.base is not None:
                self._old = self._stack.enter_context(shard.open_read(shard.base))
            self._new = self._stack.enter_context(shard.open_write(self._name))
        except BaseException:
            self._stack.close()
            raise

    def close(self) -> str:
        self._stack.close()
        return self._name

    def abort(self) -> None:
        fault = RuntimeError("given up")
        self._stack.__exit__(type(fault), fault, None)


class LineShard(FileShard):
    """A line is a document: what stays is copied line by line, unread. A subclass makes the
    lines."""

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
