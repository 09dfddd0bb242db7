"""Records on their way to disk: gathered, written as a chunk now and then, committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pyarrow as pa

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.record import FetchRecord
from crawl.fetcher.settings import (
    FETCHER_CHECKPOINT_BYTES,
    FETCHER_CHECKPOINT_RECORDS,
    FETCHER_CHECKPOINT_SECONDS,
)
from crawl.model.contents import content_table
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.tables import CONTENT, CRAWL_FETCH
from crawl.storage.chunks import Chunk, ChunkLog, Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import open_writer
from crawl.storage.segments import CONTENT as CONTENT_PART
from crawl.storage.segments import FETCH

_CONTENT_GROUP_ROWS = 256
"""Pages in one row group: a reader that wants one page unpacks no more than these."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """When a chunk is full: what is lost by a crash at the most."""

    records: int = 5_000
    bytes: int = 64 << 20
    seconds: float = 60.0

    @classmethod
    def of(cls, config: Config) -> ChunkSize:
        return cls(
            config[FETCHER_CHECKPOINT_RECORDS],
            config[FETCHER_CHECKPOINT_BYTES],
            config[FETCHER_CHECKPOINT_SECONDS],
        )


@dataclass(slots=True)
class Output:
    """Where the engine's records go. Called under the engine's lock."""

    segment: Folder
    part: int
    log: ChunkLog
    clock: Clock
    size: ChunkSize
    counters: Callable[[], Counters]
    """The engine's, to be committed along with the records they count."""
    before_parse: Callable[[str, CrawlDatum], Mapping[str, str]] = lambda url, datum: {}
    """What of a page's record its content keeps for the parse."""
    _records: list[FetchRecord] = field(default_factory=list)
    _bytes: int = 0
    _begun: float | None = None
    _told: Counters = field(default_factory=Counters)
    _writer: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _writing: Future[None] | None = None

    def add(self, record: FetchRecord) -> None:
        if self._begun is None:
            self._begun = self.clock.monotonic()
        self._records.append(record)
        self._bytes += len(record.content.body) if record.content else 0
        if len(self._records) >= 2 * self.size.records:
            self.flush()  # a host of many pages, refused all at once

    def tick(self) -> None:
        """To be called where all records of an answer have been added, and now and then:
        records must not wait for long because no others come."""
        if self._begun is None:
            return
        if (
            len(self._records) >= self.size.records
            or self._bytes >= self.size.bytes
            or self.clock.monotonic() - self._begun >= self.size.seconds
        ):
            self.flush()

    def flush(self) -> None:
        """Has what has gathered written and committed, while the fetch goes on; waits for
        the chunk before, so that there are never more than two in memory."""
        self._wait()
        if not self._records:
            return
        total = Counters(self.counters())
        since = Counters(total)
        since.subtract(self._told)
        told = {name: count for name, count in since.items() if count}
        self._writing = self._writer.submit(self._commit, self._records, told)
        self._told = total
        self._records, self._bytes, self._begun = [], 0, None

    def close(self) -> None:
        """Writes the last chunk; everything that was added is committed then."""
        try:
            self.flush()
            self._wait()
        finally:
            self._writer.shutdown()

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def _commit(self, records: list[FetchRecord], told: dict[str, int]) -> None:
        contents = [
            replace(record.content, metadata=self.before_parse(record.url, record.datum))
            for record in records
            if record.content is not None
        ]
        rows = to_table((record.url, record.host, record.datum) for record in records)
        pieces = {FETCH: self._write(FETCH, [rows], CRAWL_FETCH.schema, 65_536)}
        if contents:
            # a group at a time: the memory of one serves the next
            tables = (
                content_table(contents[first : first + _CONTENT_GROUP_ROWS])
                for first in range(0, len(contents), _CONTENT_GROUP_ROWS)
            )
            pieces[CONTENT_PART] = self._write(
                CONTENT_PART, tables, CONTENT.schema, _CONTENT_GROUP_ROWS
            )
        self.log.commit(Chunk(pieces, told))

    def _write(
        self, part: str, tables: Iterable[pa.Table], schema: pa.Schema, group_rows: int
    ) -> Piece:
        folder = self.segment.child(part)
        name = attempt_name(f"part-{self.part:05d}")
        with open_writer(folder, name, schema, group_rows) as writer:
            for table in tables:
                writer.write(table)
        return Piece(name, writer.rows, folder.size(name) or 0)
