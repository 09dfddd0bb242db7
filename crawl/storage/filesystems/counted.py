"""What a file that was read or written has cost its file system (crawl/telemetry/io_counts.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, cast

from crawl.telemetry.io_counts import count_io


class CountedReader:
    """A stream that counts the bytes which are read from it; all else is the stream's own."""

    __slots__ = ("_stream", "bytes_read", "reads")

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.bytes_read = 0
        self.reads = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.bytes_read += len(data)
        self.reads += 1
        return data

    def readinto(self, buffer: Any) -> int:
        size: int = cast(Any, self._stream).readinto(buffer) or 0
        self.bytes_read += size
        self.reads += 1
        return size

    def readline(self, size: int = -1) -> bytes:
        line = self._stream.readline(size)
        self.bytes_read += len(line)
        return line

    def readlines(self, hint: int = -1) -> list[bytes]:
        lines = self._stream.readlines(hint)
        self.bytes_read += sum(map(len, lines))
        return lines

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def counted_reader(stream: Any) -> IO[bytes]:
    """The stream, made to count; one of an object store counts by itself what it asks for, which
    is more than what is read from it."""
    if _store_counts(stream) is not None:
        return cast(IO[bytes], stream)
    return cast(IO[bytes], CountedReader(stream))


def count_read(stream: Any, *, is_looked_at: bool = True) -> None:
    """Counts a file that was opened by `counted_reader` and is read no more: the look at it, if
    there was one, and each range that was read."""
    counts = _store_counts(stream)
    if counts is None:
        counts = (stream.bytes_read, stream.reads) if isinstance(stream, CountedReader) else (0, 0)
    size, reads = counts
    count_io(read=size, requests=is_looked_at + reads)


def count_written(size: int, part_bytes: int | None) -> None:
    """Counts a file that was written; `part_bytes`: the store takes it in parts of this size."""
    parts = 1 if part_bytes is None else -(-size // part_bytes)
    # in parts: begun, each part, and ended
    count_io(written=size, requests=1 if parts <= 1 else parts + 2)


def size_of(stream: Any) -> int:
    """How much was written to a stream; 0 where it is closed and cannot tell."""
    return 0 if stream.closed else int(stream.tell())


def _store_counts(stream: Any) -> tuple[int, int] | None:
    """The bytes and requests of fsspec's own cache of an object store's file."""
    cache = getattr(stream, "cache", None)
    size = getattr(cache, "total_requested_bytes", None)
    requests = getattr(cache, "miss_count", None)
    if not isinstance(size, int) or not isinstance(requests, int):
        return None
    return size, requests
