"""indexwriter jsonl: a JSON object a line, one file a shard, gzipped if asked for."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import IO, Any, ClassVar, cast

import msgspec

from crawl.config import Config
from crawl.interfaces.indexwriter import NO_PARAMETERS, Shard
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.file_writer import FileIndexWriter, LineShard

_encoder = msgspec.json.Encoder()
_LEVEL = 6


class JsonlIndexWriter(FileIndexWriter):
    """Parameters: `path`, `gzip` (false)."""

    own_parameters: ClassVar[tuple[str, ...]] = ("gzip",)

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        super().__init__(config, parameters)
        self._gzip = self._parameters.flag("gzip", default=False)

    def open(self, shard: Shard) -> _JsonlShard:
        return _JsonlShard(shard, gzipped=self._gzip)


class _JsonlShard(LineShard):
    def __init__(self, shard: Shard, *, gzipped: bool) -> None:
        super().__init__(shard, ".jsonl.gz" if gzipped else ".jsonl")
        if gzipped:
            # no time in the head: the same documents are the same bytes
            packed = gzip.GzipFile("", "wb", _LEVEL, self._new, mtime=0)
            self._new = cast("IO[bytes]", self._stack.enter_context(packed))
        if shard.base is not None and shard.base.endswith(".gz"):
            unpacked = gzip.GzipFile(fileobj=self._old, mode="rb")
            self._old = cast("IO[bytes]", self._stack.enter_context(unpacked))

    def _line_of(self, document: IndexDocument) -> bytes:
        return _encoder.encode(document.fields) + b"\n"
