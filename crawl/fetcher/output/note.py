"""A note of the journal as bytes: a row of entries, each its length, a checksum and MessagePack.

There is an entry for every record, for every answer without one and for every URL that they
led to and that the fetch took on; the last entry is what was counted. They are encoded by
msgspec, which takes our values as they are: a page's note costs a twentieth of what an Arrow
table of one row does, and there may be one for every page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import msgspec

from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status

_LENGTH_BYTES, _CHECKSUM_BYTES = 8, 4
_HEAD_BYTES = _LENGTH_BYTES + _CHECKSUM_BYTES
_RECORD, _ARCHIVED, _FOLLOWED, _COUNTERS = "r", "a", "f", "c"
"""Kinds of entries."""


@dataclass(frozen=True, slots=True)
class Note:
    """Some answers and what was counted along with them."""

    records: Sequence[FetchRecord] = ()
    archived: Sequence[Content] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    followed: Sequence[FollowedUrl] = field(default_factory=list)
    """What the answers led to."""


def encode_note(note: Note) -> Iterator[bytes]:
    """Yields the bytes to write piece by piece: all of a large note at once would be memory
    that is new, and takes longer to get than the note to write."""
    for record in note.records:
        yield from _entry(_RECORD, record)
    for content in note.archived:
        yield from _entry(_ARCHIVED, content)
    for followed in note.followed:
        yield from _entry(_FOLLOWED, followed)
    yield from _entry(_COUNTERS, note.counters)


def _entry(kind: str, value: object) -> tuple[bytes, bytes]:
    message = _encoder.encode((kind, value))
    length = len(message).to_bytes(_LENGTH_BYTES, "big")
    return length + crc32(message).to_bytes(_CHECKSUM_BYTES, "big"), message


_encoder = msgspec.msgpack.Encoder(enc_hook=dict)
"""The hook is for a mapping that is no dict."""


def decode_notes(raw: bytes) -> Iterator[Note]:
    """Yields the notes of a file up to one that its writer died in, that was damaged since, or
    that is none of ours: its pages are asked for again."""
    records: list[FetchRecord] = []
    archived: list[Content] = []
    followed: list[FollowedUrl] = []
    begin = _HEAD_BYTES
    while begin <= len(raw):
        length = raw[begin - _HEAD_BYTES : begin - _CHECKSUM_BYTES]
        checksum = raw[begin - _CHECKSUM_BYTES : begin]
        end = begin + int.from_bytes(length, "big")
        if end > len(raw) or crc32(raw[begin:end]) != int.from_bytes(checksum, "big"):
            return
        try:
            kind, value = msgspec.msgpack.decode(raw[begin:end])
            if kind == _RECORD:
                records.append(_record(**value))
            elif kind == _ARCHIVED:
                archived.append(Content(**value))
            elif kind == _FOLLOWED:
                followed.append(_followed(**value))
            elif kind == _COUNTERS:
                yield Note(records, archived, value, followed)
                records, archived, followed = [], [], []
            else:
                return
        except (msgspec.DecodeError, TypeError, ValueError, KeyError):
            return
        begin = end + _HEAD_BYTES


def _record(datum: dict[str, Any], content: dict[str, Any] | None, **others: Any) -> FetchRecord:
    return FetchRecord(
        datum=_datum(datum), content=None if content is None else Content(**content), **others
    )


def _followed(datum: dict[str, Any], came_by: list[str], **others: Any) -> FollowedUrl:
    return FollowedUrl(datum=_datum(datum), came_by=tuple(came_by), **others)


def _datum(value: dict[str, Any]) -> CrawlDatum:
    return CrawlDatum(**{**value, "status": Status(value["status"])})
