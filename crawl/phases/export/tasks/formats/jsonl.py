"""Records as JSON lines, gzipped: what datatrove's JsonlReader, Spark and pandas read."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from typing import IO

import msgspec

from crawl.phases.export.tasks.record import MOMENTS, Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEVEL = 4
"""Of gzip: twice as fast as the usual 6, and some 3% larger."""
_BLOCK = 1 << 18
_encoder = msgspec.json.Encoder()


def iso_time(moment: int | None) -> str | None:
    """A moment in milliseconds as ISO 8601."""
    if moment is None:
        return None
    return (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="seconds")


class JsonlSink:
    """Keys without a value are left out."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._gzip = gzip.GzipFile(
            filename="", mode="wb", compresslevel=_LEVEL, fileobj=stream, mtime=0
        )
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, record: Record) -> None:
        shown = {
            name: iso_time(value) if name in MOMENTS else value
            for name, value in record.items()
            if value is not None
        }
        line = _encoder.encode(shown)
        self._waiting += (line, b"\n")
        self._size += len(line)
        if self._size > _BLOCK:
            self._flush()

    def _flush(self) -> None:
        self._gzip.write(b"".join(self._waiting))
        self._waiting, self._size = [], 0

    def close(self) -> None:
        self._flush()
        self._gzip.close()
