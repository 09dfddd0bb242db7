"""How a row lies under its key: version, moment of expiry and checksum, then the value.

Numbers are big-endian, so that a script of Redis can compare versions by their bytes. The checksum
is there because no embedded store has one of its own, and a page must not be answered with bytes
that a disk has changed.
"""

from __future__ import annotations

import struct
from zlib import crc32

_HEAD = struct.Struct(">QQI")
HEAD_BYTES = _HEAD.size
NEVER = 0
"""Stands for no moment of expiry."""


class DamagedRecord(ValueError):
    """Bytes that are not as they were written."""


def encoded(value: bytes, version: int, expires_at_ms: int | None) -> bytes:
    """The bytes of a record."""
    expires = NEVER if expires_at_ms is None else max(1, expires_at_ms)
    return _HEAD.pack(version, expires, crc32(value)) + value


def head_of(record: bytes) -> tuple[int, int]:
    """Version and moment of expiry (or NEVER)."""
    if len(record) < HEAD_BYTES:
        raise DamagedRecord(f"a record of {len(record)} bytes")
    version, expires, _ = _HEAD.unpack_from(record)
    return version, expires


def value_of(record: bytes, now_ms: int) -> bytes | None:
    """The value; None where it expired."""
    if len(record) < HEAD_BYTES:
        raise DamagedRecord(f"a record of {len(record)} bytes")
    _, expires, checksum = _HEAD.unpack_from(record)
    value = record[HEAD_BYTES:]
    if crc32(value) != checksum:
        raise DamagedRecord("a record's checksum is not that of its bytes")
    return None if is_expired(expires, now_ms) else value


def is_expired(expires: int, now_ms: int) -> bool:
    return expires != NEVER and expires <= now_ms
