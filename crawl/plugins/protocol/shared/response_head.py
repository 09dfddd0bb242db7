"""The head of a response, read from its bytes: one rule for both HTTP plugins.

a line that has no colon         skipped, as browsers do
a line that begins with a blank  goes on with the value before it
CR within a line                 a blank (RFC 9110, 5.5)
NUL anywhere                     no head: browsers refuse it, and so does libcurl
more lines than MAX_LINES        no head: too large; libcurl has the same bound
Locations that differ            no head, as browsers have it: one of them was smuggled in
"""

from __future__ import annotations

import re
from functools import lru_cache

from crawl.interfaces.protocol import Headers
from crawl.model.value import quick_value

_MAX_KEEP_SECONDS = 3600
MAX_LINES = 5000
"""Of a head."""


@quick_value(frozen=True, slots=True)
class ResponseHead:
    """Status line and headers of a response."""

    code: int
    """The status code; 0 where the line has none of three digits."""
    version: str
    headers: Headers
    encoding: str
    """The values of all Content-Encoding headers, joined by commas."""
    keep_seconds: int | None
    """How long the server keeps an idle connection, where it says so."""


def read_head(raw: bytes) -> ResponseHead:
    """Reads a status line and header lines; lines that are no headers are skipped."""
    text = raw.decode("latin-1")
    if text.count("\r") != text.count("\r\n"):
        text = _BARE_CR.sub(" ", text)
    if "\n " in text or "\n\t" in text:  # a value goes on, as of old
        text = _FOLD.sub(" ", text)
    first, *lines = text.split("\n")
    code, version = _status(first) if len(first) <= _MAX_CACHED_LINE else _read_status(first)
    headers: list[tuple[str, str]] = []
    encoding = ""
    keep = None
    for line in lines:
        read = _header(line) if len(line) <= _MAX_CACHED_LINE else _read_header(line)
        if read is None:
            continue
        headers.append(read.pair)
        if read.encoding:
            encoding = f"{encoding},{read.encoding}" if encoding else read.encoding
        elif read.keep_seconds is not None and keep is None:
            keep = read.keep_seconds
    return ResponseHead(code, version, tuple(headers), encoding, keep)


def head_fault(raw: bytes, head: ResponseHead) -> str:
    """Why a head that was read must not be believed; empty where it may be."""
    if b"\0" in raw:
        return "NUL in the header"
    if raw.lower().count(b"\nlocation:") > 1:
        locations = {value for name, value in head.headers if name.lower() == "location"}
        if len(locations) > 1:
            return "several Locations that differ"
    return ""


@quick_value(frozen=True, slots=True)
class _HeaderLine:
    """One header line, with what is read from its value."""

    pair: tuple[str, str]
    encoding: str = ""
    keep_seconds: int | None = None


def _read_header(line: str) -> _HeaderLine | None:
    name, colon, value = line.partition(":")
    if not colon:
        return None
    pair = (name, value.strip())
    lowered = name.lower()
    if lowered == "content-encoding":
        return _HeaderLine(pair, encoding=pair[1])
    if lowered == "keep-alive":
        return _HeaderLine(pair, keep_seconds=_timeout(pair[1]))
    return _HeaderLine(pair)


def _read_status(line: str) -> tuple[int, str]:
    """The code and the version."""
    match = _STATUS.match(line)
    if match is None:
        return 0, line.partition(" ")[0].strip()
    return int(match[2]), match[1].strip()


_BARE_CR = re.compile(r"\r(?!\n)")
_FOLD = re.compile(r"\r?\n[ \t]++(?=\S)")
"""No run of characters can be tried from two places: a server decides on the text."""
_STATUS = re.compile(r"([^ ]*) \s*([0-9]{3})(?=\s|$)")
_MAX_CACHED_LINE = 200
_header = lru_cache(4096)(_read_header)
_status = lru_cache(256)(_read_status)
"""Most header lines of a server, and of servers of one make, are the same for every page;
long ones are not worth caching."""


def _timeout(keep_alive: str) -> int | None:
    """The timeout of a Keep-Alive header such as `timeout=5, max=100`."""
    for part in keep_alive.lower().split(","):
        name, _, value = part.partition("=")
        if name.strip() == "timeout" and value.strip().isdecimal():
            return min(int(value.strip()[:6]), _MAX_KEEP_SECONDS)
    return None
