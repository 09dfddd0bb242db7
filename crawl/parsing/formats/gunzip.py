"""gzip files, of several members perhaps, unpacked within bounds of memory and time."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import Enum, auto

GZIP_START = b"\x1f\x8b"

_PIECE = 1 << 16
MAX_MEMBERS = 20_000
"""Files that are packed in blocks have some thousands. A file may have a million empty ones, and
time is all that they take."""


class GzipEnd(Enum):
    """Where the reading of a file ended."""

    WHOLE = auto()
    """At its end, or at what follows the last member and is none, as browsers do."""
    BROKEN_OFF = auto()
    """In the middle of a member."""
    DAMAGED = auto()
    """At bytes that cannot be unpacked."""
    TOO_LONG = auto()
    """At a bound."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a file unpacks to, as far as it was read."""

    data: bytes
    end: GzipEnd


def gunzip(packed: bytes, max_bytes: int) -> Unpacked:
    """The content of all members, one after the other (RFC 1952); at most so many bytes."""
    unpacking = _Unpacking(packed, max_bytes)
    try:
        end = unpacking.run()
    except zlib.error:
        end = GzipEnd.DAMAGED
    return Unpacked(b"".join(unpacking.pieces)[:max_bytes], end)


class _Unpacking:
    """Reads piece by piece: what zlib leaves unread of its input, it copies."""

    def __init__(self, packed: bytes, max_bytes: int) -> None:
        self.pieces: list[bytes] = []
        self._packed = memoryview(packed)
        self._position = 0
        self._left = max_bytes

    def run(self) -> GzipEnd:
        for _ in range(MAX_MEMBERS):
            if self._packed[self._position : self._position + 2] != GZIP_START:
                return GzipEnd.WHOLE
            end = self._member()
            if end is not GzipEnd.WHOLE:
                return end
        return GzipEnd.TOO_LONG

    def _member(self) -> GzipEnd:
        unpacker = zlib.decompressobj(wbits=31)
        while not unpacker.eof:
            taken = self._packed[self._position : self._position + _PIECE]
            if not taken:
                return GzipEnd.BROKEN_OFF
            piece = unpacker.decompress(taken, self._left + 1)
            unread = len(unpacker.unconsumed_tail) + len(unpacker.unused_data)
            self._position += len(taken) - unread
            self.pieces.append(piece)
            self._left -= len(piece)
            if self._left < 0:
                return GzipEnd.TOO_LONG
        return GzipEnd.WHOLE
