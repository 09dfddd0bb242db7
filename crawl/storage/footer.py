"""The footer of a Parquet file bears a checksum of itself.

Pages have checksums by the format, and footers have none: a flipped bit there may change a
row count, an offset, or the statistics that a reader skips row groups by. So one entry of
the footer's own metadata, which every other reader passes over, is a digest of all the rest.
Another is one of all bytes before the footer: the headers of pages have no checksum either,
and though nearly every flip in one of them is an error to whoever reads the page, only
`verify_data` finds them all. A file without the entries, of a former release or another
writer, is read unverified.
"""

from __future__ import annotations

import hashlib
import uuid
import zlib
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

_KEY = "nutria.footer"
_DATA_KEY = "nutria.data"
_MAGIC = b"PAR1"
_END_BYTES = 8
"""The footer's length and the magic."""
_FIRST_READ = 1 << 16
_BLOCK = 1 << 20
_BLANK = b"0" * 16


class SealingSink:
    """A file that is written to by a ParquetWriter; what comes after `begin_footer` is held
    back, and is sealed by `end`."""

    closed = False

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._footer: list[bytes] | None = None
        self._data = 0
        self._token = uuid.uuid4().hex[:16].encode()  # no URL in a statistic can guess it

    def write(self, data: Any) -> int:
        if self._footer is None:
            self._data = zlib.crc32(data, self._data)
            return self._stream.write(data)
        self._footer.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        return

    def begin_footer(self, sink: pq.ParquetWriter) -> None:
        """All row groups are written; what `sink.close()` adds is the footer."""
        sink.add_key_value_metadata({_KEY: self._token.decode(), _DATA_KEY: f"{self._data:08x}"})
        self._footer = []

    def end(self) -> None:
        footer = b"".join(self._footer or [])
        digest = _digest(footer.replace(self._token, _BLANK))
        self._stream.write(footer.replace(self._token, digest))


def read_footer(stream: IO[bytes]) -> pq.FileMetaData:
    """What the footer says; raises ValueError where it is not as it was written."""
    footer = footer_of(stream)
    metadata = pq.read_metadata(pa.BufferReader(_MAGIC + footer))
    verify_footer(footer, metadata)
    return metadata


def footer_of(stream: IO[bytes]) -> bytes:
    """The footer with the end of the file; raises ValueError where there is none. It is what
    a Parquet reader reads first: on a store that is no request of its own."""
    size = stream.seek(0, 2)
    end = _last(stream, size, _FIRST_READ)
    if size < len(_MAGIC) + _END_BYTES or end[-4:] != _MAGIC:
        raise ValueError("it does not end as a Parquet file does")
    length = int.from_bytes(end[-8:-4], "little") + _END_BYTES
    if length > size - len(_MAGIC):
        raise ValueError("its footer is longer than the file")
    return end[-length:] if length <= len(end) else _last(stream, size, length)


def verify_footer(footer: bytes, metadata: pq.FileMetaData) -> None:
    """Raises ValueError where the footer is not as it was written."""
    noted = (metadata.metadata or {}).get(_KEY.encode())
    if noted is not None and noted != _digest(footer.replace(noted, _BLANK)):
        raise ValueError("its footer's checksum is wrong")


def verify_data(stream: IO[bytes], metadata: pq.FileMetaData) -> None:
    """Reads all that is before the footer; raises ValueError where it is not as it was
    written."""
    noted = (metadata.metadata or {}).get(_DATA_KEY.encode())
    if noted is None:
        return
    remaining = stream.seek(0, 2) - _END_BYTES
    stream.seek(remaining)
    remaining -= int.from_bytes(stream.read(4), "little")
    stream.seek(0)
    checksum = 0
    while remaining > 0 and (block := stream.read(min(remaining, _BLOCK))):
        checksum = zlib.crc32(block, checksum)
        remaining -= len(block)
    if f"{checksum:08x}".encode() != noted:
        raise ValueError("the checksum of its data is wrong")


def _last(stream: IO[bytes], size: int, length: int) -> bytes:
    stream.seek(max(0, size - length))
    return stream.read(min(size, length))


def _digest(footer: bytes) -> bytes:
    return hashlib.blake2b(footer, digest_size=8).hexdigest().encode()
