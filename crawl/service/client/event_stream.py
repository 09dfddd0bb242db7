"""Server-sent events as the HTML standard writes them, from bytes in pieces of any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crawl.errors import ServiceFault

MOST_BYTES = 16 << 20
"""Of one event: a page with its text is far smaller."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event."""

    name: str
    data: str
    last_id: str
    """The id of it, or the last one before."""


class EventReader:
    """Takes bytes and gives the events that are complete."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self.retry_seconds: float | None = None
        """How long the service wants nobody to come back."""
        self._rest = b""
        self._fresh = True
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._ended_by_cr = False

    def feed(self, content: bytes) -> Iterator[ServerEvent]:
        """The events that these bytes complete."""
        if self._fresh:
            content = self._rest + content
            if len(content) < len(_BYTE_ORDER_MARK):
                self._rest = content
                return
            content = content.removeprefix(_BYTE_ORDER_MARK)
            self._rest, self._fresh = b"", False
        if self._ended_by_cr and content:
            content = content.removeprefix(b"\n")
            self._ended_by_cr = False
        for line in self._lines(content):
            self._size += len(line)
            self._hold_bound()
            if not line:
                if (event := self._complete()) is not None:
                    yield event
            else:
                self._take(line.decode("utf-8", "replace"))
        self._hold_bound()

    def _lines(self, content: bytes) -> list[bytes]:
        """Complete lines; they may end by CR, LF or both."""
        # of what was there before no end of a line is known, so it is not looked at again
        head, rest = self._rest, content
        if b"\r" in rest:
            self._ended_by_cr = rest.endswith(b"\r")
            rest = rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, last = rest.split(b"\n")
        if not lines:
            self._rest = head + last
            return []
        lines[0] = head + lines[0]
        self._rest = last
        return lines

    def _hold_bound(self) -> None:
        if self._size + len(self._rest) > MOST_BYTES:
            raise ServiceFault(f"the service sent an event of more than {MOST_BYTES:,} bytes")

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_seconds = min(int(value[:9]), 600_000) / 1000
        # a comment has an empty name; others are for readers of tomorrow

    def _complete(self) -> ServerEvent | None:
        data, name = "\n".join(self._data), self._name or "message"
        was_sent = bool(self._data)
        self._data, self._name, self._size = [], "", 0
        return ServerEvent(name, data, self.last_id) if was_sent else None
