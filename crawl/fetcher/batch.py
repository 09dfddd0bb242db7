"""Records and pages on their way into a chunk, written together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from crawl.counters import Counters
from crawl.fetcher.chunk_files import GROUP_ROWS
from crawl.fetcher.note import Note
from crawl.fetcher.record import FetchRecord
from crawl.model.content import Content
from crawl.model.contents import GrowingContents
from crawl.model.datum import CrawlDatum
from crawl.model.records import GrowingRecords
from crawl.storage.segments import CONTENT, FETCH

_BYTES = 8 << 20


Kept = Callable[[str, CrawlDatum], Mapping[str, str]]
"""What of a page's record its content keeps for the parse."""


@dataclass(slots=True)
class Batch:
    """What came since the last one was passed on."""

    kept: Kept
    records: GrowingRecords = field(default_factory=GrowingRecords)
    contents: GrowingContents = field(default_factory=GrowingContents)
    depths: dict[str, int] = field(default_factory=dict)
    """Of the pages whose links may be followed."""
    rows: int = 0
    bytes: int = 0
    begun: float | None = None
    counters: dict[str, int] = field(default_factory=dict)
    """What was counted along with them, where they come from notes."""

    def next(self) -> Batch:
        """An empty one, with room for as much."""
        return Batch(self.kept, contents=GrowingContents(self.contents.room))

    @property
    def is_full(self) -> bool:
        return self.rows >= GROUP_ROWS or self.bytes >= _BYTES

    def add(self, record: FetchRecord) -> int:
        """Takes it in; returns how many bytes it weighs."""
        url, datum, content = record.url, record.datum, record.content
        self.rows += 1
        self.records.add(url, record.host, datum)
        if content is None:
            return 0
        self.contents.add(content, self.kept(url, datum))
        weight = len(content.body)
        self.bytes += weight
        return weight

    def archive(self, content: Content) -> int:
        self.rows += 1
        self.contents.add(content, content.metadata)
        weight = len(content.body)
        self.bytes += weight
        return weight

    def tables(self) -> dict[str, pa.Table]:
        return {FETCH: self.records.table(), CONTENT: self.contents.table()}


def batches_of(notes: Iterable[Note], kept: Kept) -> Iterator[Batch]:
    """What they hold, in batches of the usual size."""
    batch = Batch(kept)
    for note in notes:
        for record in note.records:
            batch.add(record)
        for content in note.archived:
            batch.archive(content)
        batch.counters = dict(Counters(batch.counters) + Counters(note.counters))
        if batch.is_full:
            yield batch
            batch = batch.next()
    if batch.rows:
        yield batch
