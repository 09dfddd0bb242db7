"""The head of an answer, from its bytes as they came."""

from __future__ import annotations

import re
from functools import lru_cache

from crawl.interfaces.protocol import Headers
from crawl.model.value import quick_value

_LONGEST_KEEP = 3600


@quick_value(frozen=True, slots=True)
class ResponseHead:
    """What the lines say."""

    code: int
    """0 where there is none of three digits."""
    version: str
    headers: Headers
    encoding: str
    """Content-Encoding, of all headers of that name."""
    keep_seconds: int | None
    """How long the server keeps an idle connection, where it tells."""


def read_head(raw: bytes) -> ResponseHead:
    """Reads a status line and header lines; what is no header is passed over."""
    text = raw.decode("latin-1")
    if "\n " in text or "\n\t" in text:  # a value goes on, as of old
        text = _FOLD.sub(" ", text)
    first, *lines = text.split("\n")
    code, version = _status(first) if len(first) <= _LONGEST_KNOWN else _read_status(first)
    headers: list[tuple[str, str]] = []
    encoding = ""
    keep = None
    for line in lines:
        read = _header(line) if len(line) <= _LONGEST_KNOWN else _read_header(line)
        if read is None:
            continue
        headers.append(read.pair)
        if read.encoding:
            encoding = f"{encoding},{read.encoding}" if encoding else read.encoding
        elif read.keep_seconds is not None and keep is None:
            keep = read.keep_seconds
    return ResponseHead(code, version, tuple(headers), encoding, keep)


@quick_value(frozen=True, slots=True)
class _Header:
    """A line."""

    pair: tuple[str, str]
    encoding: str = ""
    keep_seconds: int | None = None


def _read_header(line: str) -> _Header | None:
    name, colon, value = line.partition(":")
    if not colon:
        return None
    pair = (name, value.strip())
    lowered = name.lower()
    if lowered == "content-encoding":
        return _Header(pair, encoding=pair[1])
    if lowered == "keep-alive":
        return _Header(pair, keep_seconds=_timeout(pair[1]))
    return _Header(pair)


def _read_status(line: str) -> tuple[int, str]:
    """The code and the version."""
    found = _STATUS.match(line)
    if found is None:
        return 0, line.partition(" ")[0].strip()
    return int(found[2]), found[1].strip()


_FOLD = re.compile(r"\r?\n[ \t]++(?=\S)")
"""No run of characters can be tried from two places: a server decides on the text."""
_STATUS = re.compile(r"([^ ]*) \s*([0-9]{3})(?=\s|$)")
_LONGEST_KNOWN = 200
_header = lru_cache(4096)(_read_header)
_status = lru_cache(256)(_read_status)
"""Most lines of a server, and of servers of one make, are the same with every page; longer
ones are nothing to remember."""


def _timeout(keep_alive: str) -> int | None:
    """Of `timeout=5, max=100`."""
    for part in keep_alive.lower().split(","):
        name, _, value = part.partition("=")
        if name.strip() == "timeout" and value.strip().isdecimal():
            return min(int(value.strip()[:6]), _LONGEST_KEEP)
    return None
