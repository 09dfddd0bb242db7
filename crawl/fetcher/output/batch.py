"""Records and pages on their way into a chunk, written together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from crawl.counters import Counters
from crawl.fetcher.output.chunk_files import GROUP_ROWS
from crawl.fetcher.output.note import Note
from crawl.fetcher.values.item import Followed
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.contents import ContentTableBuilder
from crawl.model.datum import CrawlDatum
from crawl.model.records import RecordTableBuilder
from crawl.storage.segments import CONTENT, FETCH

_BYTES = 8 << 20


Kept = Callable[[str, CrawlDatum], Mapping[str, str]]
"""What of a page's record its content keeps for the parse."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A batch as it is written."""

    tables: Mapping[str, pa.Table]
    """By part of the segment."""
    counters: Mapping[str, int]
    """What was counted along with them."""
    depths: Mapping[str, int]
    """Of the pages whose links may be followed."""
    followed: Sequence[Followed] = ()
    """What the pages led to and the fetch took on."""


@dataclass(slots=True)
class Batch:
    """What came since the last one was passed on."""

    kept: Kept
    records: RecordTableBuilder = field(default_factory=RecordTableBuilder)
    contents: ContentTableBuilder = field(default_factory=ContentTableBuilder)
    depths: dict[str, int] = field(default_factory=dict)
    followed: list[Followed] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    begun: float | None = None

    def next(self) -> Batch:
        """An empty one, with room for as much and some more; not for pages beyond the usual."""
        room = min(self.bytes + self.bytes // 4, 2 * _BYTES)
        return Batch(self.kept, contents=ContentTableBuilder(room))

    @property
    def is_full(self) -> bool:
        return self.rows >= GROUP_ROWS or self.bytes >= _BYTES

    def add(self, record: FetchRecord) -> int:
        """Takes it in; returns how many bytes it weighs."""
        url, datum, content = record.url, record.datum, record.content
        weight = 0
        if content is not None:
            weight = len(content.body)
            self.contents.add(content, self.kept(url, datum))
        self.records.add(url, record.host, datum)
        self.rows += 1
        self.bytes += weight
        return weight

    def archive(self, content: Content) -> int:
        self.contents.add(content, content.metadata)
        self.rows += 1
        weight = len(content.body)
        self.bytes += weight
        return weight

    def packed(self, counters: Mapping[str, int]) -> Packed:
        tables = {FETCH: self.records.table(), CONTENT: self.contents.table()}
        return Packed(tables, counters, self.depths, self.followed)


def packed_notes(notes: Iterable[Note], kept: Kept) -> Iterator[Packed]:
    """What they hold, in batches of the usual size."""
    batch, counted = Batch(kept), Counters()
    for note in notes:
        for record in note.records:
            batch.add(record)
            batch.depths[record.url] = record.depth
        for content in note.archived:
            batch.archive(content)
        batch.followed += note.followed
        counted.update(note.counters)
        if batch.is_full:
            yield batch.packed(counted)
            batch, counted = batch.next(), Counters()
    if batch.rows:
        yield batch.packed(counted)
