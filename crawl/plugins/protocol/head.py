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
    text = raw.decode("latin-1")
    if "\n " in text or "\n\t" in text:  # a value goes on, as of old
        text = _FOLD.sub(" ", text)
    status, *lines = text.split("\n")
    pairs = [line.partition(":") for line in lines]
    headers = tuple([(name, value.strip()) for name, colon, value in pairs if colon])
    version, _, rest = status.partition(" ")
    digits = rest.lstrip()[:4].rstrip()
    code = int(digits) if len(digits) == 3 and digits.isascii() and digits.isdecimal() else 0
    lowered = text.lower()
    encoding = ""
    if "\ncontent-encoding:" in lowered:
        encoding = ",".join(_values(headers, "content-encoding"))
    keep = None
    if "\nkeep-alive:" in lowered:
        keep = _timeout(",".join(_values(headers, "keep-alive")))
    return Head(code, version.strip(), headers, encoding, keep)


def _values(headers: Headers, wanted: str) -> list[str]:
    return [value for name, value in headers if name.lower() == wanted]


_FOLD = re.compile(r"\s*\n[ \t]+(?=\S)")


def _timeout(keep_alive: str) -> int | None:
    """Of `timeout=5, max=100`."""
    for part in keep_alive.lower().split(","):
        name, _, value = part.partition("=")
        if name.strip() == "timeout" and value.strip().isdecimal():
            return min(int(value.strip()[:6]), _LONGEST_KEEP)
    return None
