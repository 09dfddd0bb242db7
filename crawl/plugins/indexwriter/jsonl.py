"""indexwriter jsonl: a JSON object a line, one file a shard, gzipped if asked for."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import IO, Any, ClassVar, cast

import msgspec

from crawl.config import Config
from crawl.errors import StorageError
from crawl.interfaces.indexwriter import NO_PARAMETERS, Shard
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.file_writer import FileIndexWriter, OpenedFiles

_encoder = msgspec.json.Encoder()
_LEVEL = 6


class JsonlIndexWriter(FileIndexWriter):
    """Parameters: `path`, `gzip` (false)."""

    known: ClassVar[tuple[str, ...]] = ("gzip",)

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        super().__init__(config, parameters)
        self._gzip = self._parameters.flag("gzip", default=False)

    def open(self, shard: Shard) -> _JsonlShard:
        return _JsonlShard(shard, gzipped=self._gzip)


class _JsonlShard:
    def __init__(self, shard: Shard, *, gzipped: bool) -> None:
        self._files = files = OpenedFiles(shard, ".jsonl.gz" if gzipped else ".jsonl")
        self._old: IO[bytes] | None = files.old
        self._new: IO[bytes] = files.new
        if gzipped:
            # no time in the head: the same documents are the same bytes
            packed = gzip.GzipFile("", "wb", _LEVEL, files.new, mtime=0)
            self._new = cast("IO[bytes]", files.stack.enter_context(packed))
        if shard.base is not None and shard.base.endswith(".gz"):
            assert files.old is not None
            unpacked = gzip.GzipFile(fileobj=files.old, mode="rb")
            self._old = cast("IO[bytes]", files.stack.enter_context(unpacked))

    def _line(self) -> bytes:
        line = self._old.readline() if self._old is not None else b""
        if not line:
            raise StorageError(
                f"{self._files.name}: the file before it has fewer lines than the ledger says:"
                " `crawl index --rebuild` makes it anew"
            )
        return line

    def keep(self, count: int) -> None:
        for _ in range(count):
            self._new.write(self._line())

    def add(self, document: IndexDocument, *, replaces: bool) -> None:
        if replaces:
            self._line()
        self._new.write(_encoder.encode(document.fields) + b"\n")

    def delete(self, url: str, version: int) -> None:
        self._line()

    def close(self) -> str:
        return self._files.close()

    def abort(self) -> None:
        self._files.abort()
