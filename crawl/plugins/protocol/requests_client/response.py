"""How the plugin http-requests reads the head of a response: once, as the plugin http does.

http.client reads a head as that of an e-mail, which takes longer than the rest of a
response, discards its bytes, and knows one provisional response only. Its sizes of chunks are
whatever Python takes for a number, and a chunk may end in any two bytes: here they are read as
libcurl and browsers do.
"""

from __future__ import annotations

import http.client
import re

from crawl.interfaces.protocol import FailureKind
from crawl.plugins.protocol.requests_client.sockets import CURRENT
from crawl.plugins.protocol.shared.response_head import (
    MAX_LINES,
    ResponseHead,
    head_fault,
    read_head,
)

_ENDS = (b"\r\n", b"\n")
_CONTENT_LENGTH = "content-length"
_LONGEST = (1 << 63) - 1
"""A length that libcurl, too, can count."""
_VERSION = re.compile(r"HTTP/[0-9]+(\.[0-9]+)?")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(?![0-9A-Fa-f]).*\n", re.DOTALL)
_LAST_CHUNK = re.compile(rb"0+[ \t]*(?:;.*)?\r?\n", re.DOTALL)
"""Where it is written in another way, nothing may follow: with `0x2` taken for it, a page would
end in its midst."""
_LONGEST_CHUNK_LINE = 16 * 1024


class FinalResponse(http.client.HTTPResponse):
    """Skips provisional responses and leaves the head in the watch of its thread."""

    def begin(self) -> None:
        raw, head = self._final_head()
        if CURRENT.watch is not None:
            CURRENT.watch.raw_head, CURRENT.watch.head = raw, head
        message = http.client.HTTPMessage()
        for name, value in head.headers:
            if name.lower() != _CONTENT_LENGTH or _is_length(value):
                message.set_raw(name, value)
        self.headers = self.msg = message
        self.code = self.status = head.code
        self.reason = ""
        self.version = 11 if head.version not in ("HTTP/1.0", "HTTP/0.9") else 10
        self._set_framing()

    def _set_framing(self) -> None:
        """Sets where the body ends, by RFC 9112, section 6.3."""
        codings = ",".join(self.headers.get_all("transfer-encoding", [])).lower().split(",")
        self.chunked = "chunked" in map(str.strip, codings)
        self.chunk_left = None
        self.length = None
        if self.status in (204, 304) or self.status < 200:
            self.length = 0
            self.chunked = False
        elif not self.chunked:
            declared = self.headers.get(_CONTENT_LENGTH, "").partition(",")[0]
            self.length = int(declared) if declared else None
        is_open = not self._check_close()  # type: ignore[attr-defined]
        self.will_close = not (is_open and (self.chunked or self.length is not None))

    def _final_head(self) -> tuple[bytes, ResponseHead]:
        watch = CURRENT.watch
        room = watch.max_head_bytes if watch is not None else 65536
        while True:  # provisional ones have a part in the bound
            raw = self._raw_head(room)
            room -= len(raw)
            head = read_head(raw)
            # whatever the version: what comes is read as HTTP/1.1
            if not _VERSION.fullmatch(head.version.upper()) or head.code < 100:
                raise http.client.BadStatusLine(raw[:80].decode("latin-1"))
            if fault := head_fault(raw, head):
                raise http.client.HTTPException(fault)
            if head.code >= 200 or head.code == http.client.SWITCHING_PROTOCOLS:
                return raw, head

    def _raw_head(self, most: int) -> bytes:
        """The bytes of a head up to its empty line."""
        watch = CURRENT.watch
        lines: list[bytes] = []
        size = 0
        while not lines or lines[-1] not in _ENDS:
            line = self.fp.readline(most + 1)
            size += len(line)
            if size > most or len(lines) > MAX_LINES + 1:
                if watch is not None:
                    watch.expired = FailureKind.HEADERS_TOO_LARGE
                raise http.client.LineTooLong("header")
            if not line and not lines:
                raise http.client.RemoteDisconnected("closed without an answer")
            if not line:
                raise ConnectionResetError("the header broke off")
            lines.append(line)
            if len(lines) == 1 and line[:5].upper() != b"HTTP/":
                raise http.client.BadStatusLine(line[:80].decode("latin-1"))
        return b"".join(lines)

    def _get_chunk_left(self) -> int | None:
        """What is left of the chunk, or of the next; None behind the last."""
        if not self.chunk_left:
            if self.chunk_left is not None and self._chunk_line() not in _ENDS:
                raise http.client.HTTPException("a chunk does not end where it should")
            line = self._chunk_head()
            self.chunk_left = int(_CHUNK_SIZE.match(line)[1], 16) or None  # type: ignore[index]
            if self.chunk_left is None:
                self._read_trailer(has_plain_size=bool(_LAST_CHUNK.fullmatch(line)))
                self._close_conn()  # type: ignore[attr-defined]
        return self.chunk_left

    def _chunk_head(self) -> bytes:
        """The line that begins with the size of the next chunk."""
        first = self.fp.peek(1)[:1]
        if first and first not in b"0123456789abcdefABCDEF":
            raise http.client.HTTPException("the size of a chunk is none")
        line = self._chunk_line()
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None or int(size[1], 16) > _LONGEST:
            raise http.client.HTTPException("the size of a chunk is none")
        return line

    def _read_trailer(self, *, has_plain_size: bool) -> None:
        """Skips what follows the last chunk, whatever it says."""
        while (line := self._chunk_line()) not in _ENDS:
            if not has_plain_size:
                raise http.client.HTTPException(
                    f"the size of the last chunk is none: {line[:20]!r}"
                )

    def _chunk_line(self) -> bytes:
        line = self.fp.readline(_LONGEST_CHUNK_LINE + 1)
        if not line.endswith(b"\n"):
            if len(line) > _LONGEST_CHUNK_LINE:
                raise http.client.HTTPException("a line between chunks is too long")
            raise http.client.IncompleteRead(b"")
        return line


def _is_length(value: str) -> bool:
    """Whether a Content-Length is a number, or the same one again and again as proxies join
    it; what is none is ignored, as browsers do. Different numbers are left to urllib3, which
    refuses them."""
    parts = [part.strip() for part in value.split(",")]
    return all(
        part.isascii() and part.isdecimal() and _is_countable(part.lstrip("0")) for part in parts
    )


def _is_countable(digits: str) -> bool:
    return len(digits) < 20 and int(digits or "0") <= _LONGEST
