from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.plugins.protocol.shared.response_head import read_head


def test_what_a_head_says() -> None:
    head = read_head(
        b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nX:a:b \r\nnonsense\r\n"
        b"Content-Encoding: gzip\r\ncontent-encoding: br\r\nKeep-Alive: timeout=5, max=9\r\n\r\n"
    )
    assert (head.code, head.version) == (404, "HTTP/1.1")
    assert head.headers[:2] == (("Content-Type", "text/html"), ("X", "a:b"))
    assert head.encoding == "gzip,br" and head.keep_seconds == 5


def test_folded_values_go_on() -> None:
    head = read_head(b"HTTP/1.1 200 OK\r\nX: one\r\n  two\r\n\tthree\r\nY: four\r\n\r\n")
    assert head.headers == (("X", "one two three"), ("Y", "four"))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (b"HTTP/1.1 200 OK", 200),
        (b"HTTP/2 200 ", 200),
        (b"HTTP/1.1 200", 200),
        (b"HTTP/1.1 2000 OK", 0),
        (b"HTTP/1.1 20 OK", 0),
        (b"HTTP/1.1 nine OK", 0),
        (b"HTTP/1.1", 0),
        ("HTTP/1.1 ２００ OK".encode(), 0),
    ],
)
def test_codes_have_three_digits(status: bytes, code: int) -> None:
    assert read_head(status + b"\r\n\r\n").code == code


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("timeout=5", 5), ("max=3,TIMEOUT = 7", 7), ("timeout=x", None), ("timeout=999999999", 3600)],
)
def test_how_long_a_server_keeps(value: str, seconds: int | None) -> None:
    assert read_head(f"HTTP/1.1 200 OK\r\nKeep-Alive: {value}\r\n\r\n".encode()).keep_seconds == (
        seconds
    )


@given(st.binary(max_size=200))
def test_any_bytes_have_some_head(raw: bytes) -> None:
    assert 0 <= read_head(raw).code <= 999


@pytest.mark.parametrize(
    "run", [b" " * 60_000, b" \r\n" * 20_000, b"\r" * 60_000, b"\t\n" * 30_000]
)
def test_a_head_of_blanks_is_read_as_quickly_as_any(run: bytes) -> None:
    head = read_head(b"HTTP/1.1 200 OK\r\nX: a\r\n b" + run + b"c: d\r\n\r\n")
    assert head.code == 200 and head.headers[0][1].startswith("a b")
