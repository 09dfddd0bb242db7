from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.service.telling.events import Event, EventId, Lagged
from crawl.service.telling.sse import KEEP_ALIVE, retry_frame, sse_bytes, sse_frame


def parsed(stream: bytes) -> list[tuple[str, str, str]]:
    """Events as a browser reads them: id, name and data (HTML standard, 9.2.6)."""
    events = []
    event_id = name = ""
    data: list[str] = []
    for line in stream.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if not line:
            if data:
                events.append((event_id, name, "\n".join(data)))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            event_id = value
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
    return events


def test_an_event_as_it_is_sent() -> None:
    event = Event(EventId(7, 12), "finished", '{"a":1}')
    assert sse_bytes(event) == b'id: 7-12\nevent: finished\ndata: {"a":1}\n\n'
    assert sse_bytes(Lagged(3)) == b'event: lagged\ndata: {"missed":3}\n\n'
    assert sse_bytes(Lagged(None)) == b'event: lagged\ndata: {"missed":null}\n\n'
    assert retry_frame(1.5) == b"retry: 1500\n\n"
    assert parsed(KEEP_ALIVE) == []


def test_data_cannot_forge_an_event() -> None:
    harm = "x\n\nevent: forged\rid: 9\r\ndata: y\r\r\x1b[2J\x00\x85"
    [(event_id, name, data)] = parsed(sse_frame("finished", harm, "1-1"))
    assert (event_id, name) == ("1-1", "finished")
    assert data == "x\n\nevent: forged\nid: 9\ndata: y\n\n\\u001b[2J\\u0000\\u0085"


@pytest.mark.parametrize("name", ["", "a\nb", "a b", "a:b", "x" * 65, "é", "a\r", "a\0"])
def test_names_and_ids_are_plain(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        sse_frame(name, "x")
    if name:
        with pytest.raises(ValueError, match="no id"):
            sse_frame("ok", "x", name)


@given(st.text())
def test_any_json_arrives_as_it_was(text: str) -> None:
    data = json.dumps({"title": text}, ensure_ascii=False)
    [(_, _, arrived)] = parsed(sse_frame("finished", data))
    assert json.loads(arrived) == {"title": text}
