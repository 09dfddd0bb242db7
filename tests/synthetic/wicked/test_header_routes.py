from __future__ import annotations

import pytest

from crawl.synthetic.wicked import WickedServer
from crawl.synthetic.wicked.exchange import FINE
from tests.synthetic.wicked.client import How, ask


@pytest.mark.parametrize("name", ["endless-headers", "flood-continue"])
def test_floods_without_end(wicked: WickedServer, name: str) -> None:
    got = ask(wicked, wicked.url(name), at_most=10_000_000)
    assert (got.how, len(got.data) >= 10_000_000) == (How.ENOUGH, True)
    responses = got.data.count(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert (responses > 100_000) == (name == "flood-continue")
    assert (b"\r\n\r\n" in got.data) == (name == "flood-continue")


@pytest.mark.parametrize(
    ("name", "least", "lines"),
    [
        ("flood-many", 2_000_000, 100_000),
        ("flood-one", 10_000_000, 1),
        ("flood-cookies", 4_000_000, 1000),
    ],
)
def test_floods_that_end(wicked: WickedServer, name: str, least: int, lines: int) -> None:
    got = ask(wicked, wicked.url(name), at_most=20_000_000)
    assert (got.how, got.body) == (How.CLOSED, FINE)
    assert len(got.head) >= least
    flood = [
        line for line in got.head.split(b"\r\n") if line.startswith((b"X-Flood", b"Set-Cookie"))
    ]
    assert len(flood) == lines


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("headers-nul", b"X-Nul: a\0b\r\n"),
        ("headers-bytes", b"\xff\xfe\x80"),
        ("headers-folded", b"\r\n two\r\n\tthree\r\nno colon here\r\n: no name\r\n"),
    ],
)
def test_strange_headers_of_a_fine_page(wicked: WickedServer, name: str, odd: bytes) -> None:
    got = ask(wicked, wicked.url(name))
    assert odd in got.head
    assert (got.how, got.body) == (How.CLOSED, FINE)


def test_lines_without_carriage_returns(wicked: WickedServer) -> None:
    got = ask(wicked, wicked.url("headers-newlines"))
    assert b"\r" not in got.data
    assert got.data.endswith(b"\n\n" + FINE)


def test_status_lines(wicked: WickedServer) -> None:
    assert b"SIP/2.0" in ask(wicked, wicked.url("status-garbage")).head
    assert ask(wicked, wicked.url("status-number")).data.startswith(b"HTTP/1.1 99999999999 ")
    assert ask(wicked, wicked.url("status-799")).data.startswith(b"HTTP/1.1 799 ")
    assert ask(wicked, wicked.url("status-none")).data == FINE
