from __future__ import annotations

import pytest

from crawl.synthetic.wicked import WickedServer
from crawl.synthetic.wicked.exchange import FINE
from tests.synthetic.wicked.client import How, ask


@pytest.mark.parametrize(("name", "head"), [("drip-headers", 0), ("drip-body", 48)])
def test_drips_come_a_byte_at_a_time(wicked: WickedServer, name: str, head: int) -> None:
    slow = ask(wicked, wicked.url(name), at_most=head + 5)
    assert slow.how is How.ENOUGH
    assert slow.data.startswith(b"HTTP/")
    assert 5 <= len(slow.body or slow.data) <= 40
    fast = ask(wicked, wicked.url(name) + "?seconds=0", at_most=2000)
    assert len(fast.data) >= 2000


def test_dripped_headers_never_end(wicked: WickedServer) -> None:
    got = ask(wicked, wicked.url("drip-headers") + "?seconds=0", at_most=5000)
    assert b"\r\n\r\n" not in got.data
    assert b"X-Drip: drop\r\nX-Drip: drop" in got.data


@pytest.mark.parametrize("name", ["endless-body", "endless-chunks"])
def test_endless_bodies_do_not_end(wicked: WickedServer, name: str) -> None:
    got = ask(wicked, wicked.url(name), at_most=20_000_000)
    assert got.how is How.ENOUGH
    assert len(got.data) >= 20_000_000
    assert b"Content-Length" not in got.head
    assert (b"chunked" in got.head) == (name == "endless-chunks")


def test_silence(wicked: WickedServer) -> None:
    never = ask(wicked, wicked.url("never"), silent_after=b"")
    assert (never.how, never.data) == (How.SILENT, b"")
    late = ask(wicked, wicked.url("late"), silent_after=b"")
    assert (late.how, late.data) == (How.SILENT, b"")
    assert ask(wicked, wicked.url("late") + "?seconds=0.1").body == FINE
    stalled = ask(wicked, wicked.url("stall"), silent_after=b"So far, " * 100)
    assert (stalled.how, len(stalled.body)) == (How.SILENT, 800)


@pytest.mark.parametrize(
    ("name", "head", "size"),
    [
        ("reset-request", b"", 0),
        ("reset-headers", b"X-Half: ha", 0),
        ("reset-body", b"Content-Length: 100000", 800),
    ],
)
def test_resets(wicked: WickedServer, name: str, head: bytes, size: int) -> None:
    got = ask(wicked, wicked.url(name))
    assert got.how is How.RESET
    assert got.head.endswith(head)
    assert len(got.body) == size


def test_a_close_without_a_byte(wicked: WickedServer) -> None:
    got = ask(wicked, wicked.url("close"))
    assert (got.how, got.data) == (How.CLOSED, b"")
