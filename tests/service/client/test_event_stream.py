"""Server-sent events, cut anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.errors import ServiceFault
from crawl.service.client.event_stream import MOST_BYTES, EventReader, ServerEvent

STREAM = (
    b"\xef\xbb\xbf: hello\r\nretry: 250\n\n"
    b"id: 1\nevent: finished\ndata: {\ndata:  }\n\n"
    b"data: caf\xc3\xa9\r\rid:2\rid: a\0b\ndata\r\n\r\n"
    b"event: nothing\n\nunknown: x\ndata: cut off"
)
EVENTS = [
    ServerEvent("finished", "{\n }", "1"),
    ServerEvent("message", "café", "1"),
    ServerEvent("message", "", "2"),
]


@given(st.lists(st.integers(0, len(STREAM))))
def test_the_pieces_do_not_matter(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    reader = EventReader()
    found = list[ServerEvent]()
    for begin, end in pairwise(places):
        found += reader.feed(STREAM[begin:end])
    assert found == EVENTS
    assert (reader.last_id, reader.retry_seconds) == ("2", 0.25)


def test_an_event_without_end_is_a_fault() -> None:
    reader, block = EventReader(), b"data: x" + b"x" * (MOST_BYTES // 3)
    with pytest.raises(ServiceFault, match="an event of more than"):
        for _ in range(4):
            list(reader.feed(block))
    reader = EventReader()
    with pytest.raises(ServiceFault, match="an event of more than"):
        for _ in range(4):
            list(reader.feed(block + b"\n"))
