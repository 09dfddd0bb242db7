"""How the plugin http-requests reads the head of a response: once, as the plugin http does.

http.client reads a head as that of an e-mail, which takes longer than the rest of a
response, discards its bytes, and knows one provisional response only.
"""

from __future__ import annotations

import http.client

from crawl.interfaces.protocol import FailureKind
from crawl.plugins.protocol.requests_client.sockets import CURRENT
from crawl.plugins.protocol.shared.response_head import ResponseHead, read_head

_MOST_PROVISIONAL = 16
_ENDS = (b"\r\n", b"\n")
_CONTENT_LENGTH = "content-length"
_MOST_DIGITS = 18


class FinalResponse(http.client.HTTPResponse):
    """Skips provisional responses and leaves the head in the watch of its thread."""

    def begin(self) -> None:
        raw, head = self._final_head()
        if CURRENT.watch is not None:
            CURRENT.watch.raw_head, CURRENT.watch.head = raw, head
        message = http.client.HTTPMessage()
        for name, said in head.headers:
            if name.lower() != _CONTENT_LENGTH or _is_length(said):
                message.set_raw(name, said)
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
        elif not self.chunked:
            declared = self.headers.get(_CONTENT_LENGTH, "").partition(",")[0]
            self.length = int(declared) if declared else None
        is_open = not self._check_close()  # type: ignore[attr-defined]
        self.will_close = not (is_open and (self.chunked or self.length is not None))

    def _final_head(self) -> tuple[bytes, ResponseHead]:
        for _ in range(_MOST_PROVISIONAL):
            raw = self._raw_head()
            head = read_head(raw)
            version = head.version.upper()
            if not version.startswith("HTTP/") or head.code < 100:
                raise http.client.BadStatusLine(raw[:80].decode("latin-1"))
            if version != "HTTP/1" and not version.startswith(("HTTP/1.", "HTTP/0.9")):
                raise http.client.UnknownProtocol(head.version)
            if head.code >= 200 or head.code == http.client.SWITCHING_PROTOCOLS:
                return raw, head
        raise http.client.HTTPException("only provisional answers")

    def _raw_head(self) -> bytes:
        """The bytes of a head up to its empty line."""
        watch = CURRENT.watch
        most = watch.max_head_bytes if watch is not None else 65536
        lines: list[bytes] = []
        size = 0
        while not lines or lines[-1] not in _ENDS:
            line = self.fp.readline(most + 1)
            size += len(line)
            if size > most:
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


def _is_length(value: str) -> bool:
    """Whether a Content-Length is a number, or the same one again and again as proxies join
    it; what is none is ignored, as browsers do. Different numbers are left to urllib3, which
    refuses them."""
    parts = [part.strip() for part in value.split(",")]
    return all(part.isascii() and part.isdecimal() and len(part) <= _MOST_DIGITS for part in parts)
