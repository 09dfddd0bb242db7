"""Server-sent events, as the HTML standard frames them.

A line break in a field would end it, and let whoever wrote a page's title forge events; so each
line of the data is a line of its own, and controls, which a terminal would obey, are escaped.
"""

from __future__ import annotations

import re
from typing import Final

from crawl.service.telling.events import Event, Lagged

CONTENT_TYPE: Final = "text/event-stream"
KEEP_ALIVE: Final = b":\n\n"
"""A comment, to be sent now and then: proxies close what is silent."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


def sse_bytes(event: Event | Lagged) -> bytes:
    """An event, or the news that some are missing, as it is sent."""
    if isinstance(event, Lagged):
        missed = "null" if event.missed is None else str(event.missed)
        return sse_frame("lagged", f'{{"missed":{missed}}}')
    return sse_frame(event.type, event.data, str(event.id))


def sse_frame(name: str, data: str, event_id: str = "") -> bytes:
    """One event with a name and data; with an id, the client gives it when it connects again."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"no name of an event: {name[:100]!r}")
    if event_id and not _NAME.fullmatch(event_id):
        raise ValueError(f"no id of an event: {event_id[:100]!r}")
    lines = [f"id: {event_id}"] if event_id else []
    lines.append(f"event: {name}")
    lines += [f"data: {_CONTROLS.sub(_escape, line)}" for line in _LINE_END.split(data)]
    return ("\n".join(lines) + "\n\n").encode()


def _escape(match: re.Match[str]) -> str:
    """As JSON writes it, so that data which is JSON keeps its value."""
    return f"\\u{ord(match[0]):04x}"


def retry_frame(seconds: float) -> bytes:
    """How long the client waits before it connects again."""
    return f"retry: {round(seconds * 1000)}\n\n".encode()
