from __future__ import annotations

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.formats.gunzip import MAX_MEMBERS, GzipEnd, gunzip

PLENTY = 1 << 30
EMPTY = gzip.compress(b"", mtime=0)


def packed(members: list[bytes]) -> bytes:
    return b"".join(gzip.compress(member, mtime=0) for member in members)


@given(st.lists(st.binary(max_size=200_000), min_size=1, max_size=4), st.binary(max_size=20))
def test_all_members_are_read_and_what_follows_them_is_not(
    members: list[bytes], rest: bytes
) -> None:
    junk = b"x" + rest if rest else b""
    unpacked = gunzip(packed(members) + junk, PLENTY)
    assert (unpacked.data, unpacked.end) == (b"".join(members), GzipEnd.WHOLE)


@given(st.lists(st.binary(max_size=1000), min_size=1, max_size=3), st.data())
def test_a_file_that_is_cut_gives_its_beginning(members: list[bytes], data: st.DataObject) -> None:
    whole = packed(members)
    at = data.draw(st.integers(0, len(whole)))
    unpacked = gunzip(whole[:at], PLENTY)
    assert b"".join(members).startswith(unpacked.data)
    assert (unpacked.end is GzipEnd.WHOLE) <= (unpacked.data in _beginnings(members))


def _beginnings(members: list[bytes]) -> list[bytes]:
    return [b"".join(members[:count]) for count in range(len(members) + 1)]


@pytest.mark.parametrize(("most", "end"), [(99, GzipEnd.TOO_LONG), (100, GzipEnd.WHOLE)])
def test_no_more_is_unpacked_than_wanted(most: int, end: GzipEnd) -> None:
    unpacked = gunzip(packed([b"a" * 60, b"b" * 40]), most)
    assert (unpacked.data, unpacked.end) == ((b"a" * 60 + b"b" * 40)[:most], end)


def test_damage_keeps_what_came_before_it() -> None:
    first, second = gzip.compress(b"first"), bytearray(gzip.compress(b"second"))
    second[12] ^= 0xFF
    unpacked = gunzip(first + bytes(second), PLENTY)
    assert unpacked.data.startswith(b"first")
    assert unpacked.end is GzipEnd.DAMAGED


def test_a_million_empty_members_take_no_time() -> None:
    """Each may cost as much as it has bytes, and not as much as the file has."""
    some = EMPTY * (MAX_MEMBERS // 2)
    began = time.process_time()
    assert gunzip(some, PLENTY).end is GzipEnd.WHOLE
    half = time.process_time() - began
    began = time.process_time()
    unpacked = gunzip(EMPTY * 1_000_000, PLENTY)
    assert (unpacked.data, unpacked.end) == (b"", GzipEnd.TOO_LONG)
    assert time.process_time() - began < 10 * half + 1
