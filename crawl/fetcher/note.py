"""A note of the journal as bytes: entries, each its length and then MessagePack. There is one
for every record and for every answer without one; what was counted is the last.

By msgspec, for it takes our values as they are: a page's note costs a twentieth of what
an Arrow table of one row does, and there may be one for every page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from crawl.fetcher.record import FetchRecord
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status

_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Note:
    """Some answers and what was counted along with them."""

    records: Sequence[FetchRecord] = ()
    archived: Sequence[Content] = ()
    counters: Mapping[str, int] = field(default_factory=dict)


class _Entry(StrEnum):
    RECORD = "r"
    ARCHIVED = "a"
    COUNTERS = "c"


def entries(note: Note) -> Iterator[bytearray]:
    """What to write, piece by piece, all in one buffer: memory that is new for every note
    takes longer to get than the note to write."""
    into = bytearray()
    for record in note.records:
        yield _encoded(_Entry.RECORD, record, into)
    for content in note.archived:
        yield _encoded(_Entry.ARCHIVED, content, into)
    yield _encoded(_Entry.COUNTERS, note.counters, into)


def _encoded(kind: _Entry, value: object, into: bytearray) -> bytearray:
    _encoder.encode_into((kind, value), into, _LENGTH_BYTES)
    into[:_LENGTH_BYTES] = (len(into) - _LENGTH_BYTES).to_bytes(_LENGTH_BYTES, "big")
    return into


_encoder = msgspec.msgpack.Encoder(enc_hook=dict)
"""With the hook for a mapping that is no dict."""


def decoded(raw: bytes) -> Iterator[Note]:
    """The notes of a file up to one that its writer died in, or that is none of ours."""
    records: list[FetchRecord] = []
    archived: list[Content] = []
    begin = _LENGTH_BYTES
    while begin <= len(raw):
        end = begin + int.from_bytes(raw[begin - _LENGTH_BYTES : begin], "big")
        if end > len(raw):
            return
        try:
            kind, value = msgspec.msgpack.decode(raw[begin:end])
            if kind == _Entry.RECORD:
                records.append(_record(**value))
            elif kind == _Entry.ARCHIVED:
                archived.append(Content(**value))
            elif kind == _Entry.COUNTERS:
                yield Note(records, archived, value)
                records, archived = [], []
            else:
                return
        except (msgspec.DecodeError, TypeError, ValueError, KeyError):
            return
        begin = end + _LENGTH_BYTES


def _record(datum: dict[str, Any], content: dict[str, Any] | None, **others: Any) -> FetchRecord:
    found = CrawlDatum(**{**datum, "status": Status(datum["status"])})
    return FetchRecord(
        datum=found, content=None if content is None else Content(**content), **others
    )
