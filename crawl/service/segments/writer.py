"""One segment that the service fills: every answer is noted in its journal before anybody hears of
it, and the segment is published as a whole, finished and parsed, when it is closed.

    SEGMENTS/20261118093000-service/SERVICE            it is the service's, from its beginning on
                                    crawl_fetch/journal/…   what is not in its files yet
                                    crawl_generate/DONE…    published last: then it is a segment

Until then it has no fetch list, so that no command takes it for a segment: a `crawl fetch` would
ask for pages that are being asked for. A service that starts closes those that a killed one left.

It has one record of a URL. An answer that says only that the URL is to be asked again gives way to
the next one: updatedb would make the same of both as of the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol

import pyarrow as pa

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import DamagedFile, Locked
from crawl.fetcher.output import part_end
from crawl.fetcher.output.batch import Batch, KeptForParse, PackedBatch
from crawl.fetcher.output.chunk_files import ChunkFiles
from crawl.fetcher.output.journal import JOURNAL, Journal
from crawl.fetcher.values.record import FetchRecord
from crawl.model.hosts import HostTrouble
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch
from crawl.storage.chunks import Chunk, ChunkLog
from crawl.storage.crawl_dir import CrawlDir, locked
from crawl.storage.lock import Lock
from crawl.storage.segments import (
    CONTENT,
    FETCH,
    FETCH_HOSTS,
    GENERATE,
    PARSE,
    PARSE_DATA,
    PARSE_TEXT,
    PARSED,
    SERVICE,
    PartManifest,
    Segment,
)

_PART = 0
"""It has one part, as it has one writer."""

_ROW_BYTES = 4096
"""Of a record in memory, beside its page."""

ParseTable = Callable[[pa.Table], ParsedBatch]
"""Parses rows of content of which no parse is at hand."""

TakeRecovered = Callable[[str, Sequence[FetchRecord], Sequence[ParsedBatch]], None]
"""Told of answers that were found in a journal, with the parses of their pages: the name of their
segment comes first."""


class DoLater(Protocol):
    """Has something done after all that it was given before."""

    def __call__(self, work: Callable[[], None], held_bytes: int = 0, /) -> None:
        """`held_bytes` are in memory until it is done."""


def _at_once(work: Callable[[], None], held_bytes: int = 0, /) -> None:
    work()


class SegmentWriter:
    """An open segment. For one thread, and another that does what it leaves for later."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        name: str,
        config: Config,
        clock: Clock,
        *,
        buckets: int,
        before_parse: KeptForParse,
        parse: ParseTable,
        later: DoLater = _at_once,
    ) -> None:
        self.name = name
        self._later = later
        self._config = config
        self._clock = clock
        self._buckets = buckets
        self._before_parse = before_parse
        self._parse = parse
        self._stack = ExitStack()
        with ExitStack() as stack:
            segment = crawl_dir.segments.segment(name)
            self._lock: Lock = stack.enter_context(self._holding(segment))
            self._segment = segment.held_by(self._lock)
            folder = self._segment.folder
            folder.write(SERVICE, b"")
            self._log = ChunkLog(folder, _PART)
            self._log.claim(clock.now_ms())
            self._stack = stack.pop_all()
        self._journal_files = Journal(folder, _PART, self._log.token)
        self._journal = self._journal_files.begin(Counters())
        self._files = ChunkFiles(folder, _PART, buckets)
        self._batch = Batch(before_parse)
        self._parsed: dict[str, ParsedBatch] = {}
        """Parses of pages of the batch, by URL."""
        self._passing: dict[str, FetchRecord] = {}
        """The last answers of URLs that are to be asked again, until the next one comes."""
        self._troubles: list[HostTrouble] = []
        self.counters = Counters()
        self._written = Counters()
        """What was counted along with what is in files."""
        self.urls: set[str] = set()
        """That have a record here: a segment has one of each."""
        self.bytes = 0
        self.begun = clock.monotonic()

    def _holding(self, segment: Segment) -> AbstractContextManager[Lock]:
        return locked(segment.folder, "serve", self._config, self._clock)

    def may_take(self, url: str) -> bool:
        """Whether it has no record of a URL, or one that gives way to the next."""
        return url not in self.urls or url in self._passing

    def add(self, records: Sequence[FetchRecord], parsed: Mapping[str, ParsedBatch]) -> None:
        """Takes answers, of URLs that it may take, with the parses of their pages. They are safe
        from the death of the process when it returns."""
        for record in records:
            self.counters["records"] += 1
            self.counters[Status(record.datum.status).label] += 1
            if record.url in self._passing:
                self.counters["records_replaced"] += 1
        self._journal.write(records, (), Counters(self.counters))
        for record in records:
            self.urls.add(record.url)
            self._passing.pop(record.url, None)
            if record.datum.status == Status.FETCH_RETRY and record.content is None:
                self._passing[record.url] = record
            else:
                self.bytes += self._batch.add(record)
        self._parsed.update(parsed)
        if self._batch.is_full:
            self._write_batch_later()

    def add_host_troubles(self, troubles: Iterable[HostTrouble]) -> None:
        """Takes hosts that failed, for the rounds of the batch crawl."""
        self._troubles.extend(troubles)

    def recover(self, take: TakeRecovered) -> None:
        """Takes in what the journal of a service that died has, beside its committed chunks."""
        known = self._log.committed()
        named = {name for chunk in known for name in chunk.notes}
        notes = self._journal_files.uncommitted_notes(named.__contains__)
        if known:
            self.counters.update(known[-1].counters)
        last: dict[str, FetchRecord] = {}
        for note in (note for each in notes.values() for note in each):
            last.update((record.url, record) for record in note.records)
            self.counters.update(note.counters)
        batch, taken = Batch(self._before_parse), []
        for record in last.values():
            batch.add(record)
            taken.append(record)
            if batch.is_full:
                take(self.name, taken, self._write(batch.packed({}), {}))
                batch, taken = batch.next(), []
        if taken:
            take(self.name, taken, self._write(batch.packed({}), {}))
        self._commit(list(notes))

    def publish(self) -> None:
        """Has what is left written, and makes it a segment: fetched, parsed, and nobody's any
        more. Nothing may be added from now on."""
        for record in self._passing.values():
            self._batch.add(record)
        self._passing = {}
        self._write_batch_later()
        self._later(self._publish)

    def _publish(self) -> None:
        self._commit(self._journal.end())
        chunks = self._log.committed()
        self._publish_tables(chunks)
        self._journal_files.clear()
        self._stack.close()

    def abandon(self) -> None:
        """Lets go of it as it is, for the next start to publish."""
        with self._stack:
            self._journal.end()

    def drop_files(self) -> None:
        """Closes the files of one that was abandoned, when nothing more is written to them."""
        self._files.abandon()

    def _write_batch_later(self) -> None:
        batch, parsed = self._batch, self._parsed
        if batch.rows:
            self._batch, self._parsed = batch.next(), {}
            # its pages and what was made of them, which is about as much again
            held_bytes = 2 * batch.bytes + _ROW_BYTES * batch.rows
            self._later(lambda: self._write_packed(batch, parsed), held_bytes)

    def _write_packed(self, batch: Batch, parsed: Mapping[str, ParsedBatch]) -> None:
        self._write(batch.packed({}), parsed)

    def _write(
        self, packed: PackedBatch, parsed: Mapping[str, ParsedBatch]
    ) -> Sequence[ParsedBatch]:
        """Writes a batch; the parses of its pages."""
        for part, rows in packed.tables.items():
            self._files.write(part, rows)
        contents = packed.tables[CONTENT]
        batches = list({id(each): each for each in parsed.values()}.values())
        missing = _without(contents, parsed)
        if missing.num_rows:
            batches.append(self._parse(missing))
        for batch in batches:
            self._files.write(PARSE, batch.crawl_parse)
            self._files.write(PARSE_DATA, batch.parse_data)
            self._files.write(PARSE_TEXT, batch.parse_text)
            self._written.update(batch.counters)
        return batches

    def _commit(self, notes: list[str]) -> None:
        pieces = self._files.finish()
        if pieces or notes:
            counters = Counters(self.counters)
            counters.update(self._written)
            self._log.commit(Chunk(pieces, dict(counters), notes))
            self._journal_files.delete(notes)
        self._files = ChunkFiles(self._segment.folder, _PART, self._buckets)

    def _publish_tables(self, chunks: Sequence[Chunk]) -> None:
        now_ms = self._clock.now_ms()
        report = Report("serve", now_ms, self._config.digest(), {})
        report.counters.update(self.counters)
        report.counters.update(self._written)
        report.finished_ms = now_ms
        manifests = {
            table: PartManifest.of_pieces(
                ((_PART, chunk.pieces.get(table)) for chunk in chunks), now_ms
            )
            for table in (*PARSED, CONTENT, FETCH)
        }
        self._lock.verify()
        for table, manifest in manifests.items():
            self._segment.sweep(table, manifest)
        for part in (FETCH, PARSE):
            self._segment.write_report(part, report)
        self._publish_hosts(now_ms)
        self._segment.publish_parsed({table: manifests[table] for table in PARSED})
        for table in (CONTENT, FETCH):
            self._segment.publish(table, manifests[table])
        # last: now others see it
        self._segment.publish(GENERATE, PartManifest((), now_ms))

    def _publish_hosts(self, now_ms: int) -> None:
        piece = part_end.write_host_troubles(
            self._segment.folder, _PART, self._troubles, is_resumed=False
        )
        if piece is not None:
            manifest = PartManifest.of_pieces([(_PART, piece)], now_ms)
            self._segment.publish(FETCH_HOSTS, manifest)


def _without(contents: pa.Table, parsed: Mapping[str, ParsedBatch]) -> pa.Table:
    """The pages of which there is no parse: those that a note of the journal has."""
    urls = contents["url"].to_pylist()
    statuses = contents["status"].to_pylist()
    rows = [
        row
        for row, (url, status) in enumerate(zip(urls, statuses, strict=True))
        if url not in parsed and status == int(Status.FETCH_SUCCESS)
    ]
    return contents.take(pa.array(rows, pa.int64()))


def unpublished(crawl_dir: CrawlDir) -> list[str]:
    """The segments that a service left open, oldest first."""
    return [segment.name for segment in crawl_dir.segments.open_of_service()]


def let_go_of_published(crawl_dir: CrawlDir, config: Config, clock: Clock) -> None:
    """Tidies segments up whose service died after it had published them, and before it had made the
    copy of what says so, deleted the journal or let go of the lock."""
    for segment in crawl_dir.segments.untidy_of_service():
        try:
            with locked(segment.folder, "serve", config, clock) as lock:
                held = segment.held_by(lock)
                held.manifest_file(GENERATE).heal()
                held.folder.delete(JOURNAL)
        except (Locked, DamagedFile):
            continue  # another process has it, and is not done; or `crawl check` tells of it
