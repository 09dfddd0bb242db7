"""Bodies that are small on the wire and more than a process may hold when unpacked."""

from __future__ import annotations

import gzip
import struct
import zlib
from functools import cache
from typing import Literal

import pyarrow as pa

UNPACKED = 1 << 30
_MEBIBYTE = bytes(1 << 20)
_TIMES = UNPACKED // len(_MEBIBYTE)


@cache
def gzip_bomb() -> bytes:
    """A gibibyte of zeros in about one mebibyte; valid to its checksum.

    Deflate restarts after a full flush, so one flushed mebibyte can be repeated.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(_MEBIBYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(_TIMES):
        checksum = zlib.crc32(_MEBIBYTE, checksum)
    trailer = struct.pack("<II", checksum, UNPACKED & 0xFFFFFFFF)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block * _TIMES + b"\x03\0" + trailer


@cache
def nested_bomb() -> bytes:
    """The gzip bomb, packed once more: a few kilobytes."""
    return gzip.compress(gzip_bomb(), 9, mtime=0)


@cache
def arrow_bomb(codec: Literal["brotli", "zstd"]) -> bytes:
    """A quarter of a gibibyte of zeros by brotli or zstd, which Arrow brings.

    Not more, because they are slow to make.
    """
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as packer:
        for _ in range(_TIMES // 4):
            packer.write(_MEBIBYTE)
    return bytes(sink.getvalue())


def make_all() -> None:
    """Makes them in advance: a fetcher's limits shall see a bomb, and not its making."""
    nested_bomb()
    arrow_bomb("brotli")
    arrow_bomb("zstd")
