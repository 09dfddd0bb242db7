"""Records on their way to disk: gathered in batches, noted in the journal, parsed where that
is asked for, written to the files of a chunk, which is committed now and then. A thread
does it while the fetch goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.chunk_files import GROUP_ROWS, ChunkFiles
from crawl.fetcher.journal import Journal
from crawl.fetcher.parse_line import Found, ParseLine
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
from crawl.storage.chunks import Chunk, ChunkLog
from crawl.storage.folder import Folder
from crawl.storage.segments import CONTENT, FETCH

_BATCH_BYTES = 8 << 20
_MOST_WAITING = 4
"""Full batches that may wait for the thread; then the fetch waits for it."""


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
    bytes: int = 0
    begun: float | None = None
    counters: dict[str, int] = field(default_factory=dict)
    """What was counted since, once it is passed on."""

    @property
    def rows(self) -> int:
        return len(self.records) + len(self.archived)


@dataclass(slots=True)
class _Filling:
    """The chunk that is being filled, as the fetch sees it."""

    rows: int = 0
    bytes: int = 0
    begun: float | None = None
    has_unnoted: bool = False
    """Whether a batch of it was passed on without a note."""


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
    line: ParseLine | None = None
    """Parses what is fetched; None where that is left to a later phase."""
    keep_content: bool = True
    _batch: _Batch = field(default_factory=_Batch)
    _filling: _Filling = field(default_factory=_Filling)
    _is_fast: bool = False
    """The last chunk was full before anything of it was due to be noted."""
    _told: Counters = field(default_factory=Counters)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _waiting: deque[Future[None]] = field(default_factory=deque)
    _closing: Future[None] | None = None
    _journal: Journal = field(init=False)
    _files: ChunkFiles = field(init=False)
    """From here on down: the thread's."""
    _notes: list[str] = field(default_factory=list)
    _counted: Counters = field(default_factory=Counters)
    parse_counters: Counters = field(default_factory=Counters)
    """Of this run, to be asked for at the end."""

    def __post_init__(self) -> None:
        self._journal = Journal(self.segment, self.part, self.log.token)
        self._files = self._new_files()

    def add(self, record: FetchRecord) -> None:
        self._batch.records.append(record)
        self._gather(len(record.content.body) if record.content else 0)
        if self._filling.rows >= 2 * self.size.records:
            self.flush()  # a host of many pages, refused all at once

    def archive(self, content: Content) -> None:
        """Keeps an answer that is nobody's record."""
        self._batch.archived.append(content)
        self._gather(len(content.body))

    @property
    def is_behind(self) -> bool:
        """Whether pages come faster than they are parsed: nothing more should be asked for,
        rather than wait for the parser with requests under way."""
        if self.line is None:
            return False
        return sum(not batch.done() for batch in self._waiting) >= _MOST_WAITING - 1

    def found(self) -> Iterator[Found]:
        """Links that are to be followed."""
        return iter(()) if self.line is None else self.line.found()

    def awaits_links(self) -> bool:
        """Whether pages are being parsed whose links may be followed; has the others parsed."""
        if self.line is None or not self.line.follows:
            return False
        if self._is_idle:
            self._pass_on(noted=self.size.journal_seconds >= 0)
        return not self._is_idle or self.line.has_found

    def tick(self, now: float) -> None:
        """To be called where all records of an answer have been added, and now and then:
        records must not wait for long because no others come."""
        size, batch, chunk = self.size, self._batch, self._filling
        if not chunk.rows:
            return
        if chunk.begun is None:
            chunk.begun = now
        if batch.begun is None:
            batch.begun = now
        age = now - chunk.begun
        is_old = 0 <= size.journal_seconds <= age
        if (
            chunk.rows >= size.records
            or chunk.bytes >= size.bytes
            or age >= size.seconds
            or (is_old and chunk.has_unnoted)  # it was fast, and is no longer
        ):
            self._is_fast = not is_old
            self.flush()
        elif batch.rows >= GROUP_ROWS or batch.bytes >= _BATCH_BYTES:
            self._pass_on(noted=size.journal_seconds >= 0 and not self._is_fast)
        elif batch.rows and 0 <= size.journal_seconds <= now - batch.begun and self._is_idle:
            self._pass_on(noted=True)

    def flush(self) -> None:
        """Has what has gathered written and committed, while the fetch goes on; waits for
        the chunk before."""
        if self._closing is not None:
            self._closing.result()
        if not self._filling.rows:
            return
        self._pass_on(noted=False)
        self._closing = self._thread.submit(self._commit)
        self._filling = _Filling()

    def take_over(self, fetched: set[str], contained: set[str]) -> bool:
        """Commits what those before this task had noted and not committed; says whether
        there was anything. Of a note with a page that has a record, written by a task given
        up for dead, nothing is taken: its other pages are asked for again."""
        left = self._journal.left(contained.__contains__)
        for note in left:
            urls = pages_of(note.tables[FETCH]) if FETCH in note.tables else set()
            if fetched.isdisjoint(urls):
                fetched |= urls
                self._write(note.tables, note.counters, note.name, {})
        was_any = bool(self._notes)
        if was_any:
            self._commit()
        self._journal.delete([note.name for note in left])
        return was_any

    def close(self) -> None:
        """Writes the last chunk; everything that was added is committed then."""
        try:
            self.flush()
            if self._closing is not None:
                self._closing.result()
        finally:
            self._thread.shutdown()
            if self.line is not None:
                self.line.close()

    def finish(self) -> None:
        """The part is finished: its journal goes."""
        self._journal.clear()

    @property
    def _is_idle(self) -> bool:
        """Whether the thread has nothing to do; while it has, a batch may as well grow."""
        return not self._waiting or self._waiting[-1].done()

    def _gather(self, size: int) -> None:
        self._batch.bytes += size
        self._filling.bytes += size
        self._filling.rows += 1

    def _pass_on(self, *, noted: bool) -> None:
        """Gives the batch to the thread, which may be busy with others."""
        while self._waiting and (self._waiting[0].done() or len(self._waiting) >= _MOST_WAITING):
            self._waiting.popleft().result()
        if not self._batch.rows:
            return
        total = Counters(self.counters())
        since = Counters(total)
        since.subtract(self._told)
        self._batch.counters = {name: count for name, count in since.items() if count}
        self._told = total
        self._filling.has_unnoted |= not noted
        self._waiting.append(self._thread.submit(self._take, self._batch, noted))
        self._batch = _Batch()

    # in the thread

    def _take(self, batch: _Batch, noted: bool) -> None:
        tables = {part: self._table(part, batch) for part in (FETCH, CONTENT)}
        name = self._journal.write(tables, batch.counters) if noted else ""
        depths = {record.url: record.depth for record in batch.records}
        self.parse_counters.update(self._write(tables, batch.counters, name, depths))

    def _table(self, part: str, batch: _Batch) -> pa.Table:
        """What of a batch belongs to the part."""
        if part == FETCH:
            return to_table((record.url, record.host, record.datum) for record in batch.records)
        pages = [record for record in batch.records if record.content is not None]
        kept = [self.before_parse(page.url, page.datum) for page in pages]
        contents = [page.content for page in pages if page.content is not None]
        return content_table(
            [*contents, *batch.archived], [*kept, *(each.metadata for each in batch.archived)]
        )

    def _write(
        self,
        tables: Mapping[str, pa.Table],
        counters: Mapping[str, int],
        note: str,
        depths: Mapping[str, int],
    ) -> Counters:
        """Writes a batch, and what its parse adds to it: a note is not parsed yet. Returns
        what the parse counted."""
        parsed = Counters()
        if self.line is not None:
            tables, parsed = self.line.parse(tables, depths)
        for part, rows in tables.items():
            if part != CONTENT or self.keep_content:
                self._files.write(part, rows)
        self._counted.update(counters)
        self._counted.update(parsed)
        if note:
            self._notes.append(note)
        return parsed

    def _commit(self) -> None:
        self.log.commit(Chunk(self._files.finish(), dict(self._counted), self._notes))
        self._journal.delete(self._notes)
        self._files, self._notes, self._counted = self._new_files(), [], Counters()

    def _new_files(self) -> ChunkFiles:
        return ChunkFiles(self.segment, self.part, self.buckets)


def pages_of(rows: pa.Table) -> set[str]:
    """The URLs of crawl_fetch rows, but for targets left for a later round."""
    linked = pc.equal(rows["status"], int(Status.LINKED))
    return set(rows["url"].filter(pc.invert(linked)).to_pylist())
