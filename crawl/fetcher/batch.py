"""Records and pages on their way into a chunk, written together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from crawl.counters import Counters
from crawl.fetcher.chunk_files import GROUP_ROWS
from crawl.fetcher.note import Note
from crawl.fetcher.record import FetchRecord
from crawl.model.content import Content

_BYTES = 8 << 20


@dataclass(slots=True)
class Batch:
    """What came since the last one was passed on."""

    records: list[FetchRecord] = field(default_factory=list)
    archived: list[Content] = field(default_factory=list)
    bytes: int = 0
    begun: float | None = None
    counters: dict[str, int] = field(default_factory=dict)
    """What was counted along with them, where they come from notes."""

    @property
    def rows(self) -> int:
        return len(self.records) + len(self.archived)

    @property
    def is_full(self) -> bool:
        return self.rows >= GROUP_ROWS or self.bytes >= _BYTES

    def add(self, record: FetchRecord) -> None:
        self.records.append(record)
        self.bytes += len(record.content.body) if record.content else 0

    def archive(self, content: Content) -> None:
        self.archived.append(content)
        self.bytes += len(content.body)


def batches_of(notes: Iterable[Note]) -> Iterator[Batch]:
    """What they hold, in batches of the usual size."""
    batch = Batch()
    for note in notes:
        for record in note.records:
            batch.add(record)
        for content in note.archived:
            batch.archive(content)
        batch.counters = dict(Counters(batch.counters) + Counters(note.counters))
        if batch.is_full:
            yield batch
            batch = Batch()
    if batch.rows:
        yield batch
