"""A note of the journal as bytes: its length, then MessagePack of records and counts.

By msgspec, for it takes our values as they are: a page's note costs a twentieth of what
an Arrow table of one row does, and there may be one for every page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


def encode(note: Note, into: bytearray) -> None:
    """Fills a buffer that is used again and again: memory that is new for every note takes
    longer to get than the note to write."""
    _encoder.encode_into((note.records, note.archived, note.counters), into, _LENGTH_BYTES)
    into[:_LENGTH_BYTES] = (len(into) - _LENGTH_BYTES).to_bytes(_LENGTH_BYTES, "big")


_encoder = msgspec.msgpack.Encoder(enc_hook=dict)
"""With the hook for a mapping that is no dict."""


def decoded(raw: bytes) -> Iterator[Note]:
    """The notes of a file up to one that its writer died in, or that is none of ours."""
    begin = _LENGTH_BYTES
    while begin <= len(raw):
        end = begin + int.from_bytes(raw[begin - _LENGTH_BYTES : begin], "big")
        if end > len(raw):
            return
        try:
            records, archived, counters = msgspec.msgpack.decode(raw[begin:end])
            note = Note(
                [_record(**each) for each in records],
                [Content(**each) for each in archived],
                counters,
            )
        except (msgspec.DecodeError, TypeError, ValueError, KeyError):
            return
        yield note
        begin = end + _LENGTH_BYTES


def _record(datum: dict[str, Any], content: dict[str, Any] | None, **others: Any) -> FetchRecord:
    found = CrawlDatum(**{**datum, "status": Status(datum["status"])})
    return FetchRecord(
        datum=found, content=None if content is None else Content(**content), **others
    )
