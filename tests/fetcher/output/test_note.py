from __future__ import annotations

from types import MappingProxyType
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.fetcher.output.note import Note, decode_notes, encode_note
from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
MAPS = st.dictionaries(TEXTS, TEXTS, max_size=3)
WHOLE = st.integers(-(2**63), 2**63 - 1)
DATUMS = st.builds(
    CrawlDatum,
    st.sampled_from(Status),
    WHOLE,
    WHOLE,
    WHOLE,
    WHOLE,
    st.floats(allow_nan=False),
    st.none() | st.binary(max_size=32),
    MAPS,
)
CONTENTS = st.builds(
    Content,
    TEXTS,
    st.binary(max_size=200),
    TEXTS,
    WHOLE,
    WHOLE,
    TEXTS,
    TEXTS,
    TEXTS,
    TEXTS,
    MAPS,
    WHOLE,
    MAPS,
    st.binary(max_size=20),
    st.binary(max_size=20),
)
TIMES = st.none() | WHOLE
RECORDS = st.builds(
    FetchRecord,
    *(TEXTS, TEXTS, DATUMS, st.none() | CONTENTS, WHOLE),
    *(TIMES, WHOLE, TIMES, TIMES, TIMES, TEXTS),
)
NOTES = st.builds(
    Note,
    st.lists(RECORDS, max_size=3),
    st.lists(CONTENTS, max_size=2),
    st.dictionaries(TEXTS, WHOLE, max_size=3),
    st.lists(
        st.builds(
            FollowedUrl,
            TEXTS,
            TEXTS,
            DATUMS,
            st.lists(TEXTS, max_size=3).map(tuple),
            TEXTS,
            WHOLE,
        ),
        max_size=2,
    ),
)


def encoded(note: Note) -> bytes:
    return b"".join(encode_note(note))


@given(st.lists(NOTES, max_size=3), NOTES, st.data())
def test_notes_are_read_up_to_one_that_is_not_whole(
    notes: list[Note], torn: Note, data: st.DataObject
) -> None:
    last = encoded(torn)
    cut = data.draw(st.integers(0, len(last) - 1))
    raw = b"".join(map(encoded, notes)) + last[:cut]
    found = list(decode_notes(raw))
    assert found == notes
    assert all(type(record.datum.status) is Status for note in found for record in note.records)


def test_any_mapping_is_noted() -> None:
    datum = CrawlDatum(Status.LINKED, 1, metadata=MappingProxyType({"a": "b"}))
    (found,) = decode_notes(encoded(Note([FetchRecord("http://a.org/", "a.org", datum)])))
    assert found.records[0].datum.metadata == {"a": "b"}


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xc1",
        b"\x90",
        b"\x91\xa1c",  # too short
        b"\x92\xa1z\x80",  # of a kind that nobody knows
        b"\x92\xa1r\x80",  # a record without fields
        b"\x92\xa1a\x81\xa1x\x01",  # a content with a field of another time
        b"\x93\x90\x90\x80",  # several things in one
    ],
)
def test_what_is_no_note_of_ours_is_passed_over(message: bytes) -> None:
    good = encoded(Note(counters={"a": 1}))
    head = len(message).to_bytes(8, "big") + crc32(message).to_bytes(4, "big")
    raw = good + head + message + good
    assert list(decode_notes(raw)) == [Note([], [], {"a": 1})]


@given(NOTES, st.data())
def test_a_flipped_bit_is_no_note(note: Note, data: st.DataObject) -> None:
    raw = bytearray(encoded(note))
    place = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[place // 8] ^= 1 << place % 8
    assert list(decode_notes(bytes(raw))) == []
