"""What is bounded in memory, without a server."""

from __future__ import annotations

import logging

import pytest

from crawl.service.api.body_room import BodyRoom
from crawl.service.api.http_limits import HttpLimits
from crawl.service.api.refusal_log import RefusalLog
from crawl.service.api.refused import Refused, error_response
from crawl.service.api.stream_slots import StreamSlots
from crawl.testing.clock import ManualClock


def test_bodies_have_so_much_room_together() -> None:
    room = BodyRoom(100)
    room.take(60)
    with pytest.raises(Refused) as refused:
        room.take(41)
    assert (refused.value.status, refused.value.code) == (503, "no_room")
    room.take(40)
    room.give_back(100)
    assert room.taken == 0


def test_streams_of_one_key_leave_room_for_others() -> None:
    slots = StreamSlots(HttpLimits(connections=6, streams_of_key=2, stream_s=10), ManualClock())
    with slots.taken("a") as ends_at, slots.taken("a"):
        assert ends_at == slots.clock.monotonic() + 10
        with pytest.raises(Refused) as refused:
            slots.require("a")
        assert refused.value.status == 429
        slots.require("b")
        with slots.taken("b"):
            with pytest.raises(Refused) as refused:
                slots.require("c")
            assert refused.value.status == 503
        slots.require("c")
    slots.require("a")


def test_the_log_is_told_once_a_second_of_each_kind(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    log = RefusalLog(clock)
    with caplog.at_level(logging.WARNING):
        for number in range(100):
            log.tell("key_unknown", "10.0.0.1", "GET", f"/v1/url\x1b[2J\n{number}")
        log.tell("host_refused", "10.0.0.1", "G\rT", "/")
        assert len(caplog.records) == 2
        clock.advance(1)
        log.tell("key_unknown", "10.0.0.1", "GET", "/")
    assert len(caplog.records) == 3 and "and 99 more" in caplog.records[-1].getMessage()
    assert not {"\x1b", "\n", "\r"} & set("".join(each.getMessage() for each in caplog.records))


@pytest.mark.parametrize("status", [429, 503])
def test_whoever_is_to_come_back_is_told_when(status: int) -> None:
    headers = dict(error_response(Refused(status, "busy", "busy")).raw_headers)
    assert headers[b"retry-after"] == b"5"
    told = dict(error_response(Refused(status, "busy", "b", (("Retry-After", "9"),))).raw_headers)
    assert told[b"retry-after"] == b"9"
