"""Records on their way to disk: gathered, noted in the journal, written as a chunk now and
then, committed. Two threads do it while the fetch goes on: what notes must not wait for
what writes large files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.journal import Journal, Note
from crawl.fetcher.record import FetchRecord
from crawl.fetcher.settings import (
    FETCHER_CHECKPOINT_BYTES,
    FETCHER_CHECKPOINT_RECORDS,
    FETCHER_CHECKPOINT_SECONDS,
    FETCHER_JOURNAL_SECONDS,
)
from crawl.model.content import Content
from crawl.model.contents import content_table
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.model.tables import CONTENT
from crawl.storage.bucketed import write_bucketed
from crawl.storage.chunks import Chunk, ChunkLog, Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import open_writer
from crawl.storage.segments import CONTENT as CONTENT_PART
from crawl.storage.segments import FETCH

_CONTENT_GROUP_ROWS = 256
"""Pages in one row group: a reader that wants one page unpacks no more than these."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """When a chunk is full, and when what it gathers is noted in between."""

    records: int = 5_000
    bytes: int = 64 << 20
    seconds: float = 300.0
    journal_seconds: float = 1.0
    """Negative: never noted."""

    @classmethod
    def of(cls, config: Config) -> ChunkSize:
        return cls(
            config[FETCHER_CHECKPOINT_RECORDS],
            config[FETCHER_CHECKPOINT_BYTES],
            config[FETCHER_CHECKPOINT_SECONDS],
            config[FETCHER_JOURNAL_SECONDS],
        )


@dataclass(slots=True)
class _Batch:
    """What came since the last one was passed on."""

    records: list[FetchRecord] = field(default_factory=list)
    archived: list[Content] = field(default_factory=list)
    begun: float | None = None
    counters: dict[str, int] = field(default_factory=dict)
    """What was counted since, once it is passed on."""

    def __bool__(self) -> bool:
        return bool(self.records or self.archived)


@dataclass(slots=True)
class Output:
    """Where the engine's records go. Called under the engine's lock; moments are the
    engine's monotonic ones."""

    segment: Folder
    part: int
    log: ChunkLog
    size: ChunkSize
    buckets: int
    """Of the CrawlDb that the records will be merged into."""
    counters: Callable[[], Counters]
    """The engine's, to be committed along with the records they count."""
    before_parse: Callable[[str, CrawlDatum], Mapping[str, str]] = lambda url, datum: {}
    """What of a page's record its content keeps for the parse."""
    _batch: _Batch = field(default_factory=_Batch)
    _rows: int = 0
    _bytes: int = 0
    _begun: float | None = None
    """Of the chunk: what was passed on and what is gathered."""
    _told: Counters = field(default_factory=Counters)
    _passed_on: list[Note | _Batch] = field(default_factory=list)
    """Of the chunk, noted or not; only the noting thread touches it."""
    _noting_thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _writing_thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _noting: Future[None] | None = None
    _writing: Future[Future[None]] | None = None
    _journal: Journal = field(init=False)

    def __post_init__(self) -> None:
        self._journal = Journal(self.segment, self.part, self.log.token)

    def add(self, record: FetchRecord) -> None:
        self._batch.records.append(record)
        self._rows += 1
        self._bytes += len(record.content.body) if record.content else 0
        if self._rows >= 2 * self.size.records:
            self.flush()  # a host of many pages, refused all at once

    def archive(self, content: Content) -> None:
        """Keeps an answer that is nobody's record."""
        self._batch.archived.append(content)
        self._rows += 1
        self._bytes += len(content.body)

    def tick(self, now: float) -> None:
        """To be called where all records of an answer have been added, and now and then:
        records must not wait for long because no others come."""
        size, batch = self.size, self._batch
        if batch and batch.begun is None:
            batch.begun = now
            if self._begun is None:
                self._begun = now
        if self._begun is None:
            return
        if (
            self._rows >= size.records
            or self._bytes >= size.bytes
            or now - self._begun >= size.seconds
        ):
            self.flush()
        elif batch.begun is not None and 0 <= size.journal_seconds <= now - batch.begun:
            self._note()

    def flush(self) -> None:
        """Has what has gathered written and committed, while the fetch goes on; waits for
        the chunk before, so that there are never more than two in memory."""
        self._wait()
        if not self._rows:
            return
        self._pass_on(noted=False)
        self._writing = self._noting_thread.submit(self._close_chunk)
        self._rows, self._bytes, self._begun = 0, 0, None

    def take_over(self, fetched: set[str], contained: set[str]) -> bool:
        """Commits what those before this task had noted and not committed; says whether
        there was anything. Of a note with a page that has a record, written by a task given
        up for dead, nothing is taken: its other pages are asked for again."""
        notes = self._journal.left(contained.__contains__)
        taken = []
        for note in notes:
            urls = pages_of(note.tables[FETCH]) if FETCH in note.tables else set()
            if fetched.isdisjoint(urls):
                taken.append(note)
                fetched |= urls
        if taken:
            self._commit(taken)
        self._journal.delete([note.name for note in notes])
        return bool(taken)

    def close(self) -> None:
        """Writes the last chunk; everything that was added is committed then."""
        try:
            self.flush()
            self._wait()
        finally:
            self._noting_thread.shutdown()
            self._writing_thread.shutdown()

    def finish(self) -> None:
        """The part is finished: its journal goes."""
        self._journal.clear()

    def _note(self) -> None:
        """Passes a batch on, to be noted; where the last one is still under way, it waits and
        grows."""
        if self._noting is not None and not self._noting.done():
            return
        self._pass_on(noted=True)

    def _pass_on(self, *, noted: bool) -> None:
        if self._noting is not None:
            self._noting.result()
            self._noting = None
        if not self._batch:
            return
        total = Counters(self.counters())
        since = Counters(total)
        since.subtract(self._told)
        self._batch.counters = {name: count for name, count in since.items() if count}
        self._told = total
        self._noting = self._noting_thread.submit(self._take, self._batch, noted)
        self._batch = _Batch()

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result().result()
            self._writing = None

    def _take(self, batch: _Batch, noted: bool) -> None:
        if not noted:
            self._passed_on.append(batch)
            return
        tables = {part: self._table(part, batch) for part in (FETCH, CONTENT_PART)}
        tables = {part: table for part, table in tables.items() if table.num_rows}
        name = self._journal.write(tables, batch.counters)
        self._passed_on.append(Note(name, tables, batch.counters))

    def _table(self, part: str, batch: _Batch) -> pa.Table:
        """What of a batch belongs to the part."""
        return pa.concat_tables(self._tables(part, batch))

    def _tables(self, part: str, batch: Note | _Batch) -> Iterator[pa.Table]:
        """The same, a group at a time: the memory of one serves the next."""
        if isinstance(batch, Note):
            if part in batch.tables:
                yield batch.tables[part]
        elif part == FETCH:
            yield to_table((record.url, record.host, record.datum) for record in batch.records)
        else:
            pages = [record for record in batch.records if record.content is not None]
            for first in range(0, len(pages), _CONTENT_GROUP_ROWS):
                group = pages[first : first + _CONTENT_GROUP_ROWS]
                yield content_table([self._for_parse(record) for record in group])
            yield content_table(batch.archived)

    def _for_parse(self, record: FetchRecord) -> Content:
        """The content, with what scoring wants to know of its record."""
        assert record.content is not None
        return _with_metadata(record.content, self.before_parse(record.url, record.datum))

    def _close_chunk(self) -> Future[None]:
        notes, self._passed_on = self._passed_on, []
        return self._writing_thread.submit(self._commit, notes)

    def _commit(self, batches: Sequence[Note | _Batch]) -> None:
        pieces: dict[str, Piece] = {}
        rows = [table for batch in batches for table in self._tables(FETCH, batch)]
        if any(table.num_rows for table in rows):
            name = attempt_name(f"part-{self.part:05d}")
            folder = self.segment.child(FETCH)
            pieces[FETCH] = write_bucketed(folder, name, pa.concat_tables(rows), self.buckets)
        contents = (table for batch in batches for table in self._tables(CONTENT_PART, batch))
        first = next((table for table in contents if table.num_rows), None)
        if first is not None:
            pieces[CONTENT_PART] = self._write(
                CONTENT_PART, chain([first], contents), CONTENT.schema, _CONTENT_GROUP_ROWS
            )
        told = Counters()
        for batch in batches:
            told.update(batch.counters)
        names = [batch.name for batch in batches if isinstance(batch, Note)]
        self.log.commit(Chunk(pieces, dict(told), names))
        self._journal.delete(names)

    def _write(
        self, part: str, tables: Iterable[pa.Table], schema: pa.Schema, group_rows: int
    ) -> Piece:
        folder = self.segment.child(part)
        name = attempt_name(f"part-{self.part:05d}")
        with open_writer(folder, name, schema, group_rows) as writer:
            for table in tables:
                writer.write(table)
        return Piece(name, writer.rows, folder.size(name) or 0)


def pages_of(rows: pa.Table) -> set[str]:
    """The URLs of crawl_fetch rows, but for targets left for a later round."""
    linked = pc.equal(rows["status"], int(Status.LINKED))
    return set(rows["url"].filter(pc.invert(linked)).to_pylist())


def _with_metadata(content: Content, metadata: Mapping[str, str]) -> Content:
    """As `replace` does, in a fifth of the time: it is done for every page."""
    return Content(
        content.url,
        content.body,
        content.content_type,
        content.code,
        content.fetch_time,
        content.ip,
        content.truncated,
        content.version,
        content.cipher,
        content.headers,
        content.status,
        metadata,
        content.request_headers,
        content.response_headers,
    )
