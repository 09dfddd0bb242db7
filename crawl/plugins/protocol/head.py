"""The head of an answer, from its bytes as they came."""

from __future__ import annotations

import re
from typing import NamedTuple

from crawl.interfaces.protocol import Headers

_LONGEST_KEEP = 3600


class Head(NamedTuple):
    """What the lines say. A tuple, for it is made for every page."""

    code: int
    """0 where there is none of three digits."""
    version: str
    headers: Headers
    encoding: str
    """Content-Encoding, of all headers of that name."""
    keep_seconds: int | None
    """How long the server keeps an idle connection, where it tells."""


def read_head(raw: bytes) -> Head:
    """Reads a status line and header lines; what is no header is passed over."""
    lines = raw.decode("latin-1").split("\n")
    version, _, rest = lines[0].partition(" ")
    digits = rest.split(None, 1)[0] if rest.strip() else ""
    headers: list[tuple[str, str]] = []
    encoding = ""
    keep: int | None = None
    for line in lines[1:]:
        if line[:1] in (" ", "\t"):  # a value goes on, as of old
            if headers and line.strip():
                name, value = headers[-1]
                headers[-1] = (name, f"{value} {line.strip()}".strip())
            continue
        name, colon, value = line.partition(":")
        if not colon:
            continue
        value = value.strip()
        headers.append((name, value))
        size = len(name)
        if size == 16 and name.lower() == "content-encoding":
            encoding = f"{encoding},{value}" if encoding else value
        elif size == 10 and name.lower() == "keep-alive":
            keep = _timeout(value)
    code = int(digits) if len(digits) == 3 and digits.isascii() and digits.isdecimal() else 0
    return Head(code, version.strip(), tuple(headers), encoding, keep)


_HEAD_END = re.compile(rb"\r?\n\r?\n")


def last_head(received: bytes) -> bytes:
    """The head of the final answer, of bytes that begin with one: provisional ones come
    before it, and some of its body may follow."""
    begin = 0
    while True:
        end = _HEAD_END.search(received, begin)
        stop = end.end() if end else len(received)
        status = received[begin:stop].split(None, 2)[1:2]
        if end is None or not status or not status[0].startswith(b"1"):
            return received[begin:stop]
        begin = stop


def _timeout(keep_alive: str) -> int | None:
    """Of `timeout=5, max=100`."""
    for part in keep_alive.lower().split(","):
        name, _, value = part.partition("=")
        if name.strip() == "timeout" and value.strip().isdecimal():
            return min(int(value.strip()[:6]), _LONGEST_KEEP)
    return None
