"""The head of an answer, from its lines as they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crawl.interfaces.protocol import Headers

_LONGEST_KEEP = 3600


@dataclass(frozen=True, slots=True)
class Head:
    """What the lines say."""

    code: int
    version: str
    headers: Headers
    encoding: str
    """Content-Encoding, of all headers of that name."""
    keep_seconds: int | None
    """How long the server keeps an idle connection, where it tells."""


def read_head(lines: Sequence[bytes]) -> Head:
    """Reads a status line and header lines; what is no header is passed over."""
    version, _, rest = lines[0].decode("latin-1").partition(" ")
    digits = rest.lstrip()[:3]
    headers: list[tuple[str, str]] = []
    encodings: list[str] = []
    keep: int | None = None
    for line in lines[1:]:
        text = line.decode("latin-1")
        if text[:1] in " \t" and headers and text.strip():  # a value goes on, as of old
            name, value = headers[-1]
            headers[-1] = (name, f"{value} {text.strip()}".strip())
            continue
        name, colon, value = text.partition(":")
        if not colon:
            continue
        name, value = name.strip(), value.strip()
        headers.append((name, value))
        if len(name) == 16 and name.lower() == "content-encoding":
            encodings.append(value)
        elif len(name) == 10 and name.lower() == "keep-alive":
            keep = _timeout(value)
    code = int(digits) if digits.isdecimal() and digits.isascii() else 0
    return Head(code, version.strip(), tuple(headers), ",".join(encodings), keep)


def _timeout(keep_alive: str) -> int | None:
    """Of `timeout=5, max=100`."""
    for part in keep_alive.lower().split(","):
        name, _, value = part.partition("=")
        if name.strip() == "timeout" and value.strip().isdecimal():
            return min(int(value[:6]), _LONGEST_KEEP)
    return None
