"""A batch of records and pages, which are written together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from crawl.counters import Counters
from crawl.fetcher.output.chunk_files import GROUP_ROWS
from crawl.fetcher.output.note import Note
from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.contents import ContentTableBuilder
from crawl.model.datum import CrawlDatum
from crawl.model.records import RecordTableBuilder
from crawl.storage.segments import CONTENT, FETCH

_MAX_BYTES = 8 << 20


KeptForParse = Callable[[str, CrawlDatum], Mapping[str, str]]
"""Returns what of a page's record its content keeps for the parse."""


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """A batch as tables, ready to be written."""

    tables: Mapping[str, pa.Table]
    """The rows by part of the segment."""
    counters: Mapping[str, int]
    """What was counted along with them."""
    depths: Mapping[str, int]
    """The depth of each page whose links may be followed."""
    followed: Sequence[FollowedUrl] = ()
    """URLs that the pages led to and that the fetch took on."""


@dataclass(slots=True)
class Batch:
    """What came since the last batch was submitted."""

    before_parse: KeptForParse
    records: RecordTableBuilder = field(default_factory=RecordTableBuilder)
    contents: ContentTableBuilder = field(default_factory=ContentTableBuilder)
    depths: dict[str, int] = field(default_factory=dict)
    followed: list[FollowedUrl] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    begun: float | None = None

    def next(self) -> Batch:
        """An empty batch with room for as much and some more, but not for unusually large pages."""
        room = min(self.bytes + self.bytes // 4, 2 * _MAX_BYTES)
        return Batch(self.before_parse, contents=ContentTableBuilder(room))

    @property
    def is_full(self) -> bool:
        return self.rows >= GROUP_ROWS or self.bytes >= _MAX_BYTES

    def add(self, record: FetchRecord) -> int:
        """Adds a record; returns the size of its page."""
        url, datum, content = record.url, record.datum, record.content
        size = 0
        if content is not None:
            size = len(content.body)
            self.contents.add(content, self.before_parse(url, datum))
        self.records.add(url, record.host, datum)
        self.rows += 1
        self.bytes += size
        return size

    def archive(self, content: Content) -> int:
        self.contents.add(content, content.metadata)
        self.rows += 1
        size = len(content.body)
        self.bytes += size
        return size

    def packed(self, counters: Mapping[str, int]) -> PackedBatch:
        tables = {FETCH: self.records.table(), CONTENT: self.contents.table()}
        return PackedBatch(tables, counters, self.depths, self.followed)


def pack_notes(notes: Iterable[Note], before_parse: KeptForParse) -> Iterator[PackedBatch]:
    """Yields what notes of the journal hold, in batches of the usual size."""
    batch, counted = Batch(before_parse), Counters()
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
