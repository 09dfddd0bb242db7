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
    pieces: list[bytes] = []
    try:
        end = _unpack(memoryview(packed), max_bytes, pieces)
    except zlib.error:
        end = GzipEnd.DAMAGED
    return Unpacked(b"".join(pieces)[:max_bytes], end)


def _unpack(packed: memoryview, room: int, pieces: list[bytes]) -> GzipEnd:
    """Unpacks piece by piece: what zlib leaves unread of its input, it copies."""
    position = 0
    for _ in range(MAX_MEMBERS):
        if packed[position : position + 2] != GZIP_START:
            return GzipEnd.WHOLE
        unpacker = zlib.decompressobj(wbits=31)
        while not unpacker.eof:
            taken = packed[position : position + _PIECE]
            if not taken:
                return GzipEnd.BROKEN_OFF
            pieces.append(unpacker.decompress(taken, room + 1))
            position += len(taken) - len(unpacker.unconsumed_tail) - len(unpacker.unused_data)
            room -= len(pieces[-1])
            if room < 0:
                return GzipEnd.TOO_LONG
    return GzipEnd.TOO_LONG
