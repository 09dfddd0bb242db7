from __future__ import annotations

import zlib
from typing import Literal

import pyarrow as pa
import pytest

from crawl.synthetic.wicked import WickedServer
from crawl.synthetic.wicked.bombs import UNPACKED
from crawl.synthetic.wicked.exchange import FINE
from tests.synthetic.wicked.client import Got, How, ask

Codec = Literal["brotli", "zstd"]
GZIP = 31


def bomb(wicked: WickedServer, name: str) -> Got:
    return ask(wicked, wicked.url(name))


def unpacked_size(packed: bytes) -> int:
    unpacker = zlib.decompressobj(GZIP)
    size = 0
    while packed:
        size += len(unpacker.decompress(packed, 1 << 24))
        packed = unpacker.unconsumed_tail
    assert unpacker.eof
    return size


@pytest.mark.slow
def test_the_gzip_bomb_is_a_valid_gibibyte(wicked: WickedServer) -> None:
    got = bomb(wicked, "bomb-gzip")
    assert got.header("Content-Encoding") == b"gzip"
    assert len(got.body) < 1_200_000
    assert unpacked_size(got.body) == UNPACKED == 1 << 30


def test_the_nested_bomb_is_the_gzip_bomb_in_gzip(wicked: WickedServer) -> None:
    got = bomb(wicked, "bomb-nested")
    assert got.header("Content-Encoding") == b"gzip, gzip"
    assert len(got.body) < 10_000
    assert zlib.decompress(got.body, GZIP) == bomb(wicked, "bomb-gzip").body


@pytest.mark.parametrize(
    ("name", "coding", "codec"), [("bomb-br", b"br", "brotli"), ("bomb-zstd", b"zstd", "zstd")]
)
def test_other_bombs(wicked: WickedServer, name: str, coding: bytes, codec: Codec) -> None:
    got = bomb(wicked, name)
    assert got.header("Content-Encoding") == coding
    assert len(got.body) < 10_000
    size = 0
    with pa.CompressedInputStream(pa.BufferReader(got.body), codec) as stream:
        while block := stream.read(1 << 24):
            size += len(block)
    assert size == 1 << 28


def test_a_short_length_smuggles_a_response(wicked: WickedServer) -> None:
    got = ask(wicked, wicked.url("length-short"), silent_after=b"smuggled")
    assert got.how is How.SILENT
    length = int(got.header("Content-Length"))
    assert got.body[:length] == FINE
    assert got.body[length:].startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("name", ["length-long", "length-huge"])
def test_a_long_length_is_never_reached(wicked: WickedServer, name: str) -> None:
    got = ask(wicked, wicked.url(name))
    assert (got.how, got.body) == (How.CLOSED, FINE)
    assert int(got.header("Content-Length")) > len(FINE)


def test_two_lengths_that_are_none(wicked: WickedServer) -> None:
    got = ask(wicked, wicked.url("length-garbage"))
    assert got.head.count(b"Content-Length: ") == 2
    assert got.body == FINE


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chunks-garbage", b"5\r\nhello\r\nzz-no-number\r\n"),
        ("chunks-huge", b"FFFFFFFFFFFFFFFFFFFF\r\n"),
        ("chunks-unfinished", b"4f\r\n" + FINE + b"\r\n"),
        ("chunks-length", b"4f\r\n" + FINE + b"\r\n0\r\n\r\n"),
    ],
)
def test_chunks(wicked: WickedServer, name: str, expected: bytes) -> None:
    got = ask(wicked, wicked.url(name))
    assert got.how is How.CLOSED
    assert got.header("Transfer-Encoding") == b"chunked"
    assert got.body.startswith(expected)
    assert (b"Content-Length: 5" in got.head) == (name == "chunks-length")


def test_lies_about_what_the_bytes_are(wicked: WickedServer) -> None:
    charset = ask(wicked, wicked.url("lie-charset"))
    assert b"utf-16" in charset.header("Content-Type")
    assert "日本語" in charset.body.decode("shift_jis")
    plain = ask(wicked, wicked.url("lie-gzip"))
    assert (plain.header("Content-Encoding"), plain.body) == (b"gzip", FINE)
    unknown = ask(wicked, wicked.url("lie-encoding"))
    assert (unknown.header("Content-Encoding"), unknown.body) == (b"x-wicked", FINE)
    cut = ask(wicked, wicked.url("lie-cut"))
    unpacker = zlib.decompressobj(GZIP)
    unpacker.decompress(cut.body)
    assert not unpacker.eof


@pytest.mark.parametrize("code", [204, 206, 304])
def test_bodies_where_none_belongs(wicked: WickedServer, code: int) -> None:
    got = ask(wicked, wicked.url(f"code-{code}"), silent_after=FINE)
    assert got.head.startswith(b"HTTP/1.1 %d " % code)
    assert (got.body, got.how) == (FINE, How.SILENT)
