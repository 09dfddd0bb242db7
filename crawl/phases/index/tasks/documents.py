"""Documents on their way to their shard: rows of a URL, a version, the packed fields and the
segment that they are of."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa

from crawl.model.builders import table_of_rows
from crawl.model.documents import FieldValue, IndexDocument
from crawl.storage.layout import bucket_of
from crawl.tables.exchange import Outbox, RowKind

_TYPES: dict[str, pa.DataType] = {
    "url": pa.string(),
    "version": pa.int64(),
    "body": pa.binary(),
    "segment": pa.string(),
}
DOCUMENTS = RowKind("index documents", pa.schema(_TYPES))
"""A row without a body deletes the document of its URL."""

_Row = tuple[str, int, bytes | None, str]

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[float, dict[str, FieldValue], str])

_BLOCK_BYTES = 8 << 20
"""Of the bodies of one block: far below what one Arrow column can hold."""


def packed_document(document: IndexDocument) -> bytes:
    return _encoder.encode((document.boost, document.fields, document.rest))


def unpacked_document(url: str, version: int, body: bytes) -> IndexDocument:
    boost, fields, rest = _decoder.decode(body)
    return IndexDocument(url, version, boost, fields, rest)


class DocumentSender:
    """Gathers documents and sends them to the shards of their hosts."""

    def __init__(self, outbox: Outbox, shards: int) -> None:
        self._outbox = outbox
        self._shards = shards
        self._rows: list[_Row] = []
        self._destinations: list[int] = []
        self._size = 0

    def send(self, host: str, document: IndexDocument, segment: str) -> None:
        body = packed_document(document)
        self._add(host, (document.url, document.version, body, segment))
        self._size += len(body)
        if self._size > _BLOCK_BYTES:
            self.flush()

    def send_deletions(self, hosts: Sequence[str], rows: Sequence[tuple[str, int]]) -> None:
        for host, (url, version) in zip(hosts, rows, strict=True):
            self._add(host, (url, version, None, ""))

    def _add(self, host: str, row: _Row) -> None:
        self._rows.append(row)
        self._destinations.append(bucket_of(host, self._shards))

    def flush(self) -> None:
        """Sends what is left; to be called at the end."""
        table = table_of_rows(self._rows, DOCUMENTS.schema)
        self._outbox.send(DOCUMENTS, table, np.array(self._destinations, dtype=np.int32))
        self._rows, self._destinations, self._size = [], [], 0
