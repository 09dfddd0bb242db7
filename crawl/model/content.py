"""Content: the bytes of a page with all that came along, as a segment keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from crawl.model.value import quick_value


@quick_value(frozen=True, slots=True)
class Content:
    """One answer of a server."""

    url: str
    body: bytes
    content_type: str = ""
    code: int = 0
    fetch_time: int = 0
    """Milliseconds since 1970 UTC."""
    ip: str = ""
    truncated: str = ""
    """Why the body is not whole; empty for a whole one."""
    version: str = ""
    cipher: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The last value of each, under its lower-case name; of lists all, a line each."""
    status: int = 0
    """What the fetch made of it, a code of `Status`: only successes are parsed."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What scoring wants to know again when the page is parsed."""
    request_headers: bytes = b""
    response_headers: bytes = b""
