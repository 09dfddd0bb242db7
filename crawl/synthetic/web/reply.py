"""Answers as bytes: the truth of a URL with its headers, plain, compressed or 304."""

from __future__ import annotations

import gzip
import re
import zlib
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from http import HTTPStatus
from typing import Literal

import pyarrow as pa

from crawl.synthetic.web.web import ExpectedAnswer

_ARROW_CODECS: dict[str, Literal["brotli", "zstd"]] = {"br": "brotli", "zstd": "zstd"}
_REASONS = {status.value: status.phrase for status in HTTPStatus}
_HEADER = re.compile(
    rb"\r\n(if-none-match|if-modified-since|accept-encoding):[ \t]*([^\r\n]*)", re.I
)


class PreparedReply:
    """The answer of a URL as bytes, ready to be sent again and again."""

    __slots__ = ("_expected", "_packed", "head", "latency", "length", "parts", "plain", "status")

    def __init__(self, expected: ExpectedAnswer) -> None:
        self._expected = expected
        self._packed: PreparedReply | None = None
        self.status = expected.code
        self.latency = expected.latency
        self.parts = expected.parts
        self.length = sum(len(part) for part in expected.parts)
        self.head = _head(expected, f"Content-Length: {self.length}")
        self.plain = not (expected.encoding or expected.etag or expected.modified)
        """Whether the request's headers make no difference."""

    def suited(self, request: bytes) -> PreparedReply:
        """The variant for a request with those headers."""
        asked = {name.lower(): value.decode("latin-1") for name, value in _HEADER.findall(request)}
        if self._is_current(asked):
            return _bare(self, _head(self._expected, status=304), 304)
        if self._expected.encoding not in _accepted(asked.get(b"accept-encoding", "")):
            return self
        if self._packed is None:
            body = pack(self._expected.body, self._expected.encoding)
            coding = f"Content-Encoding: {self._expected.encoding}\r\nContent-Length: {len(body)}"
            self._packed = _bare(self, _head(self._expected, coding), self.status, body)
        return self._packed

    def _is_current(self, asked: dict[bytes, str]) -> bool:
        tags = asked.get(b"if-none-match")
        if tags is not None:
            mine = self._expected.etag.removeprefix("W/")
            theirs = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
            return bool(mine) and (mine in theirs or "*" in theirs)
        since = asked.get(b"if-modified-since")
        if since is None or not self._expected.modified:
            return False
        try:
            return self._expected.modified <= parsedate_to_datetime(since).timestamp()
        except ValueError:
            return False


def pack(body: bytes, encoding: str) -> bytes:
    """A body with a content encoding; Arrow brings brotli and zstd, which Python lacks."""
    match encoding:
        case "gzip":
            return gzip.compress(body, 5, mtime=0)
        case "deflate":
            return zlib.compress(body, 5)
    codec = pa.Codec(_ARROW_CODECS[encoding], compression_level=3)
    return bytes(codec.compress(body, asbytes=True))


def http_date(seconds: int) -> str:
    """A moment as HTTP writes it."""
    return format_datetime(datetime.fromtimestamp(seconds, tz=UTC), usegmt=True)


def _head(expected: ExpectedAnswer, length: str = "", *, status: int = 0) -> bytes:
    code = status or expected.code
    headers = {
        "Content-Type": code != 304 and expected.content_type,
        "Location": expected.location,
        "ETag": expected.etag,
        "Last-Modified": expected.modified and http_date(expected.modified),
        "Retry-After": expected.retry_after,
        "Vary": expected.encoding and "Accept-Encoding",
    }
    lines = [f"HTTP/1.1 {code} {_REASONS[code]}", "Server: testweb"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value]
    if length:
        lines.append(length)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _bare(reply: PreparedReply, head: bytes, status: int, body: bytes = b"") -> PreparedReply:
    variant = PreparedReply.__new__(PreparedReply)
    variant._expected, variant._packed = reply._expected, None
    variant.status, variant.latency, variant.plain = status, reply.latency, True
    variant.head, variant.parts, variant.length = head, (body,) if body else (), len(body)
    return variant


def _accepted(header: str) -> set[str]:
    accepted = set()
    for choice in header.lower().split(","):
        name, _, quality = choice.partition(";")
        if quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            accepted.add(name.strip())
    return accepted - {""}
