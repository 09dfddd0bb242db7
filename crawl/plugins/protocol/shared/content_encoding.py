"""Content encodings decoded as the bytes arrive, never more than was asked for at a time.

zlib, brotli (1.2 bounds its output) and zstd (Python's own from 3.14 on, its backport
before) take a largest output; what a library unpacks for us takes none, and a bomb of
a few kilobytes would fill the memory.
"""

from __future__ import annotations

import sys
import zlib
from abc import abstractmethod
from collections.abc import Callable

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
"""The value of the Accept-Encoding header."""

MAX_ENCODINGS = 3
"""How many encodings may lie on top of each other."""

_ZSTD_WINDOW: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
"""8 MiB, what RFC 9659 allows on the web; a larger one is memory for an attacker."""


class BadEncoding(Exception):
    """The bytes are not what their encoding says."""


class Decoder:
    """Decodes one encoding."""

    more = False
    """Whether another call would produce output without further input."""
    finished = False
    """Whether the end that the encoding marks has been read."""
    _rest = b""

    @abstractmethod
    def decode(self, data: bytes, max_bytes: int) -> bytes:
        """Decodes to at most about `max_bytes` bytes; BadEncoding where the data is invalid."""


class ZlibDecoder(Decoder):
    """gzip, of one or more members, or deflate, with its wrapper or without."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._inner = zlib.decompressobj(31) if gzip else None

    def decode(self, data: bytes, max_bytes: int) -> bytes:
        data = self._rest + data if self._rest else data
        self._rest = b""
        if self.finished and not self._next_member(data):
            self.more = False
            return b""
        if self._inner is None:
            if len(data) < 2:
                self._rest = data
                return b""
            wrapped = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._inner = zlib.decompressobj(15 if wrapped else -15)
        try:
            piece = self._inner.decompress(data, max_bytes)
        except zlib.error as error:
            raise BadEncoding(str(error)) from None
        self.finished = self._inner.eof
        self._rest = self._inner.unused_data if self.finished else self._inner.unconsumed_tail
        # a full output may hide more even where all input is taken
        self.more = bool(self._rest) or len(piece) >= max_bytes
        return piece

    def _next_member(self, data: bytes) -> bool:
        """Begins another gzip member; what else follows the end is dropped, as browsers do."""
        if not (self._gzip and data[:1] == b"\x1f"):
            return False
        if data == b"\x1f":
            self._rest = data
            return False
        if data[:2] != b"\x1f\x8b":
            return False
        self._inner = zlib.decompressobj(31)
        self.finished = False
        return True


class BrotliDecoder(Decoder):
    """br."""

    def __init__(self) -> None:
        self._inner = brotli.Decompressor()

    def decode(self, data: bytes, max_bytes: int) -> bytes:
        if self.finished:
            self.more = False
            return b""
        try:
            piece: bytes = self._inner.process(data, output_buffer_limit=max_bytes)
            self.finished = self._inner.is_finished()
            # a full output may hide more even where all input is taken
            full = len(piece) >= max_bytes or not self._inner.can_accept_more_data()
            self.more = full and not self.finished
        except brotli.error as error:
            raise BadEncoding(str(error)) from None
        return piece


class ZstdDecoder(Decoder):
    """zstd, of one or more frames."""

    def __init__(self) -> None:
        self._inner = zstd.ZstdDecompressor(options=_ZSTD_WINDOW)

    def decode(self, data: bytes, max_bytes: int) -> bytes:
        data = self._rest + data if self._rest else data
        self._rest = b""
        if self.finished:
            if not data:
                self.more = False
                return b""
            self._inner = zstd.ZstdDecompressor(options=_ZSTD_WINDOW)
            self.finished = False
        try:
            piece = self._inner.decompress(data, max_bytes)
        except zstd.ZstdError as error:
            raise BadEncoding(str(error)) from None
        self.finished = self._inner.eof
        self._rest = self._inner.unused_data if self.finished else b""
        self.more = bool(self._rest) or not (self.finished or self._inner.needs_input)
        return piece


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: ZlibDecoder(gzip=True),
    "x-gzip": lambda: ZlibDecoder(gzip=True),
    "deflate": lambda: ZlibDecoder(gzip=False),
    "br": BrotliDecoder,
    "zstd": ZstdDecoder,
}
_NO_ENCODING = frozenset({"", "identity", "none", "utf-8", "utf8", "iso-8859-1", "binary", "8bit"})
"""What servers write there though nothing is packed."""


def decoders(content_encoding: str) -> list[Decoder]:
    """The decoders for the value of a Content-Encoding header, the outermost first."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name not in _NO_ENCODING]
    unknown = [name for name in names if name not in _DECODERS]
    if unknown or len(names) > MAX_ENCODINGS:
        raise BadEncoding(f"Content-Encoding {content_encoding[:80]!r}")
    return [_DECODERS[name]() for name in reversed(names)]
