"""The head of an answer, from its bytes as they came."""

from __future__ import annotations

import re

from crawl.interfaces.protocol import Headers
from crawl.model.value import quick_value

_LONGEST_KEEP = 3600


@quick_value(frozen=True, slots=True)
class Head:
    """What the lines say."""

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
    begin = text.find("\n") + 1
    pairs = _headers(text, begin) if begin else ()
    headers = tuple([(name, value.strip()) for name, value in pairs])
    status = _status(text)
    version = status[1] if status else text.partition("\n")[0].partition(" ")[0]
    code = int(status[2]) if status else 0
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


_FOLD = re.compile(r"\r?\n[ \t]++(?=\S)")
"""No run of characters can be tried from two places: a server decides on the text."""
_status = re.compile(r"([^ \n]*) [^\S\n]*([0-9]{3})(?=\s|$)").match
_headers = re.compile(r"^([^:\n]*+):([^\n]*)", re.MULTILINE).findall


def _timeout(keep_alive: str) -> int | None:
    """Of `timeout=5, max=100`."""
    for part in keep_alive.lower().split(","):
        name, _, value = part.partition("=")
        if name.strip() == "timeout" and value.strip().isdecimal():
            return min(int(value.strip()[:6]), _LONGEST_KEEP)
    return None
