"""URLs as arguments or on stdin, a line each."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from crawl.errors import UsageError

_MAX_LINE_BYTES = 1 << 20


def stdin_lines() -> Iterator[str]:
    """The lines of stdin as they come."""
    stream = sys.stdin.buffer
    number = 0
    while line := stream.readline(_MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > _MAX_LINE_BYTES:
            raise UsageError(f"line {number} of stdin is longer than {_MAX_LINE_BYTES:,} bytes")
        yield line.rstrip(b"\r\n").decode("utf-8", "replace")


def decoded_argument(argument: str) -> str:
    """Bytes that are no UTF-8 come in as surrogates, which no URL holds and nothing prints."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
