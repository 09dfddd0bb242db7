from __future__ import annotations

import gzip
import sys
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.interfaces.protocol import Truncation
from crawl.plugins.protocol.shared.body import Body
from tests.examples import scaled

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def gzipped(data: bytes) -> bytes:
    """Without the time of day, which gzip writes into its head: the same bytes every time."""
    return gzip.compress(data, mtime=0)


PACKERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzipped),
    ("gzip", lambda data: gzipped(data[:9]) + gzipped(data[9:])),
    ("gzip", lambda data: gzipped(data) + b"junk after the end"),
    ("deflate", zlib.compress),
    ("deflate", lambda data: zlib.compress(data, wbits=-15)),
    ("br", brotli.compress),
    ("zstd", zstd.compress),
    ("zstd", lambda data: zstd.compress(data[:9]) + zstd.compress(data[9:])),
    ("GZIP , br", lambda data: brotli.compress(gzipped(data))),
    ("identity", bytes),
]


def fed(encoding: str, wire: bytes, step: int, limit: int = 10_000_000) -> Body:
    body = Body(limit)
    if not body.begin(encoding):
        return body
    for place in range(0, len(wire), step):
        if not body.write(wire[place : place + step]):
            return body
    body.end()
    return body


@pytest.mark.parametrize(("encoding", "pack"), PACKERS)
@given(
    head=st.binary(max_size=300),
    repeated=st.sampled_from([0, 1, 70_000, 200_000]),
    step=st.sampled_from([1, 7, 1000, 1 << 30]),
)
@settings(max_examples=scaled(25), deadline=None)
def test_any_body_in_any_pieces(
    encoding: str, pack: Callable[[bytes], bytes], head: bytes, repeated: int, step: int
) -> None:
    plain = head + b"abc" * repeated
    body = fed(encoding, pack(plain), step)
    assert not body.fault
    assert body.content() == plain
    assert body.truncated is Truncation.WHOLE


@pytest.mark.parametrize(("encoding", "pack"), PACKERS[:-1])
@given(data=st.data())
@settings(max_examples=scaled(30), deadline=None)
def test_damage_is_a_fault_or_a_cut_but_never_an_exception(
    encoding: str, pack: Callable[[bytes], bytes], data: st.DataObject
) -> None:
    wire = bytearray(pack(b"abcdef" * 5000))
    place = data.draw(st.integers(0, len(wire) - 1))
    wire[place] ^= data.draw(st.integers(1, 255))
    body = fed(encoding, bytes(wire), 100, limit=20_000)
    assert len(body.content()) <= 20_000


# made by the tests that need them: to make them takes a second, which every worker would spend
BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda zeros: gzip.compress(zeros, 1),
    "br": lambda zeros: brotli.compress(zeros, quality=1),
    "zstd": zstd.compress,
    "gzip, gzip": lambda zeros: gzip.compress(gzip.compress(zeros, 1)),
}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_bomb_costs_the_limit(encoding: str) -> None:
    bomb = BOMBS[encoding](bytes(100_000_000))
    tracemalloc.start()
    body = fed(encoding, bomb, step=16_384, limit=1_000_000)
    content = body.content()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(content), body.truncated) == (1_000_000, Truncation.LENGTH)
    assert peak < 4_000_000


def test_what_lies_between_two_encodings_has_the_limit_too() -> None:
    """A gzip header with a file name without end: nothing comes out, whatever goes in."""
    endless_name = b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * 50_000_000
    body = fed("gzip, gzip", gzip.compress(endless_name, 1), step=16_384, limit=100_000)
    assert (body.content(), body.truncated) == (b"", Truncation.LENGTH)


def test_a_window_larger_than_the_web_allows_is_refused() -> None:
    options: dict[int, int] = {zstd.CompressionParameter.window_log: 27}
    packer = zstd.ZstdCompressor(options=options)
    wire = packer.compress(b"x" * 1000) + packer.flush()
    assert fed("zstd", wire, 100).fault


@pytest.mark.parametrize("encoding", ["compress", "gzip, nonsense", "gzip,gzip,gzip,gzip"])
def test_encodings_that_are_none(encoding: str) -> None:
    assert encoding in fed(encoding, b"x", 1).fault


@pytest.mark.parametrize("encoding", ["", "identity", "none", "UTF-8", " , "])
def test_encodings_that_pack_nothing(encoding: str) -> None:
    assert fed(encoding, b"plain", 2).content() == b"plain"
