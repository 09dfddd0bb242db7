"""The output port of a fetch task: writes what the engine brings out into the segment.

Records are gathered in batches, noted in the journal, parsed where that is wanted, and written
to the files of a chunk, which is committed now and then. A thread does it while the fetch
goes on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.fetcher.output.batch import Batch, PackedBatch, pack_notes
from crawl.fetcher.output.chunk_files import ChunkFiles
from crawl.fetcher.output.followed import write_followed
from crawl.fetcher.output.inline_parser import InlineParser
from crawl.fetcher.output.journal import Journal
from crawl.fetcher.output.journal_writer import JournalWriter, PendingNote
from crawl.fetcher.output.open_chunk import QUICK_COMMIT_S, SOON_S, ChunkSize, OpenChunk
from crawl.fetcher.values.item import FollowedUrl, FoundLinks
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.hosts import HostTrouble
from crawl.model.status import Status
from crawl.robots.stored import StoredAnswer
from crawl.storage.chunks import ROBOTS_LEARNT, Chunk, ChunkLog
from crawl.storage.folder import Folder
from crawl.storage.robots_store import write_answers
from crawl.storage.segments import CONTENT, FETCH

_MAX_BATCHES = 4
"""Full batches that may wait for the thread; then the fetch waits for it."""

__all__ = ["ChunkSize", "SegmentOutput", "pages_of"]


@dataclass(slots=True)
class SegmentOutput:
    """Stores records, pages, followed URLs and counts, chunk by chunk. It is called under the
    engine's lock; moments are the engine's monotonic ones."""

    segment: Folder
    part: int
    log: ChunkLog
    size: ChunkSize
    buckets: int
    """Of the CrawlDb that the records will be merged into."""
    counters: Counters = field(default_factory=Counters)
    """The engine's, to be committed along with the records they count."""
    observers: tuple[Callable[[FetchRecord], None], ...] = ()
    """Called with every record before it is added."""
    before_parse: Callable[[str, CrawlDatum], Mapping[str, str]] = lambda url, datum: {}
    """Returns what of a page's record its content keeps for the parse."""
    parser: InlineParser | None = None
    """Parses what is fetched; None where that is left to a later phase."""
    keep_content: bool = True
    on_stored: Callable[[Sequence[str]], None] | None = None
    """Told of the URLs whose records have become durable: their chunk is committed, and a local
    disk has said that it has it. In the order in which they were added, and again for each
    record of a URL that has several; targets that are left for a later round are not among
    them. Called by the thread that writes. An owner of a queue acknowledges URLs then."""
    monotonic: Callable[[], float] = time.monotonic
    _batch: Batch = field(init=False)
    _chunk: OpenChunk = field(init=False)
    _journal_delay_s: float = field(init=False)
    _commits_quickly: bool = False
    """Answers come so quickly that they are committed every second rather than noted."""
    _commit_duration_s: float = 0.0
    """How long the last commit took."""
    _counted_before: Counters = field(default_factory=Counters)
    """What was counted up to the batches that were submitted."""
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _batches: deque[Future[None]] = field(default_factory=deque)
    """Those that the thread was given, and may not have written yet."""
    _commit_under_way: Future[None] | None = None
    _journal: Journal = field(init=False)
    _journal_writer: JournalWriter = field(default_factory=JournalWriter)
    _pending: PendingNote = field(init=False)
    """Answers that are to be noted in the journal."""
    _chunk_files: ChunkFiles = field(init=False)
    """This and what follows belongs to the thread."""
    _chunk_counters: Counters = field(init=False)
    _chunk_followed: list[FollowedUrl] = field(init=False)
    _chunk_urls: list[str] = field(init=False)
    """Those whose records it has, where somebody wants to be told."""
    parse_counters: Counters = field(default_factory=Counters)
    """What the parses of this run have counted."""
    host_troubles: list[HostTrouble] = field(default_factory=list)
    """Hosts that failed, known at the end."""
    _robots: list[StoredAnswer] = field(default_factory=list)
    """Answers for robots.txt that go with the chunk."""
    parses_pages: bool = field(init=False)

    def __post_init__(self) -> None:
        self.parses_pages = self.parser is not None
        self._journal = Journal(self.segment, self.part, self.log.token)
        self._batch = Batch(self.before_parse)
        self._begin_chunk()
        # where every note is a file, and paid for, the default is not at once
        self._journal_delay_s = self.size.journal_seconds or (
            0.0 if self._journal.can_grow else SOON_S
        )
        self._begin_files()

    def add(self, record: FetchRecord) -> None:
        for observe in self.observers:
            observe(record)
        if self._chunk.rows >= 2 * self.size.records and record.datum.status is not Status.LINKED:
            # a host of many pages, refused all at once; a link is committed with the page
            # that led to it
            self.flush()
        chunk = self._chunk
        chunk.rows += 1
        chunk.bytes += self._batch.add(record)
        if self.parser is not None:
            self._batch.depths[record.url] = record.depth
        if self._is_journaling_now:
            self._growing_note().records.append(record)

    def add_followed(self, followed: FollowedUrl) -> None:
        """Keeps a URL that the fetch takes on, with the record that was added last."""
        self._batch.followed.append(followed)
        if self._is_journaling_now:
            self._growing_note().followed.append(followed)

    def add_archived(self, content: Content) -> None:
        """Keeps an answer that is nobody's record."""
        self._chunk.rows += 1
        self._chunk.bytes += self._batch.archive(content)
        if self._is_journaling_now:
            self._growing_note().archived.append(content)

    def add_robots(self, answer: StoredAnswer) -> None:
        """Keeps an answer for fetches after this one. It is no record: a chunk does not grow by
        it, but by its bytes."""
        self._robots.append(answer)
        self._chunk.bytes += len(answer.body)

    def add_host_troubles(self, troubles: Iterable[HostTrouble]) -> None:
        """Keeps hosts that failed until the part is finished."""
        self.host_troubles.extend(troubles)

    @property
    def is_behind(self) -> bool:
        """Whether pages come faster than they are parsed: nothing more should be asked for,
        rather than wait for the parser with requests under way."""
        if self.parser is None:
            return False
        return sum(not batch.done() for batch in self._batches) >= _MAX_BATCHES - 1

    def found_links(self) -> Iterable[FoundLinks]:
        """Returns links to follow that were found since the last call."""
        return () if self.parser is None else self.parser.found_links()

    def awaits_links(self) -> bool:
        """Whether pages are being parsed whose links may be followed; submits those that wait."""
        if self.parser is None or not self.parser.follows:
            return False
        if self._is_idle:
            self._submit_batch()
        return not self._is_idle or self.parser.has_found

    def commit_point(self, now: float) -> None:
        """Notes, writes or commits what is due. Called when all records of an answer have been
        added, and now and then: records must not wait for long because no others come."""
        size, batch, chunk = self.size, self._batch, self._chunk
        if not chunk.rows and not self._robots:
            return
        if chunk.begun is None:
            chunk.begun = now
        age = now - chunk.begun
        delay_s = self._journal_delay_s
        soon = max(SOON_S, delay_s)
        has_journal, is_quickly_done = delay_s >= 0, self._commit_duration_s <= QUICK_COMMIT_S
        is_quick = has_journal and is_quickly_done and chunk.is_quick(age)
        is_late = age >= soon and self._commits_quickly  # nothing of it was noted
        if chunk.is_full(size) or age >= size.seconds or is_late:
            self.flush()
            self._commits_quickly = is_quick
            return
        if not batch.rows:
            return
        if batch.begun is None:
            batch.begun = now
        if batch.is_full:
            self._submit_batch()
            self._commits_quickly |= is_quick
        elif self.parser is not None and now - batch.begun >= SOON_S and self._is_idle:
            self._submit_batch()
        elif self._is_journaling_now:
            if self._pending.begun is None:
                self._pending.begun = now
            if now - self._pending.begun >= delay_s:
                self._write_note()

    def commit_due(self) -> float | None:
        """When a commit point has something to do although nothing was added meanwhile. Raises
        what kept the last chunk from being committed: no other may come for long to show it."""
        under_way, chunk = self._commit_under_way, self._chunk
        if under_way is not None and under_way.done():
            under_way.result()
        if not chunk.rows and not self._robots:
            # one that is being committed may fail
            return None if under_way is None or under_way.done() else self.monotonic()
        begun = self.monotonic() if chunk.begun is None else chunk.begun
        delay_s = self._journal_delay_s
        due = begun + self.size.seconds
        if self._commits_quickly:
            due = min(due, begun + max(SOON_S, delay_s))
        if self.parser is not None and self._batch.begun is not None:
            due = min(due, self._batch.begun + SOON_S)
        pending = self._pending
        if self._is_journaling_now and pending.begun is not None and not pending.is_due:
            due = min(due, pending.begun + delay_s)
        return due

    def flush(self) -> None:
        """Has what was gathered written and committed, while the fetch goes on; waits for the
        chunk before."""
        if self._commit_under_way is not None:
            self._commit_under_way.result()
        if not self._chunk.rows and not self._robots:
            return
        self._submit_batch()
        robots, self._robots = self._robots, []
        self._commit_under_way = self._thread.submit(self._commit, self._chunk.journal.end, robots)
        self._begin_chunk()

    def commit_leftovers(self, fetched: set[str], contained: set[str]) -> bool:
        """Commits what tasks before this one had noted and not committed; returns whether
        there was anything. Of a note with a page that has a record, written by a task given
        up for dead, nothing is taken: its other pages are asked for again."""
        leftovers = self._journal.uncommitted_notes(contained.__contains__)
        taken = []
        for note in chain.from_iterable(leftovers.values()):
            urls = {each.url for each in note.records if each.datum.status is not Status.LINKED}
            if fetched.isdisjoint(urls):
                fetched |= urls
                taken.append(note)
        for packed in pack_notes(taken, self.before_parse):
            self._write(packed)
        if self.parser is not None:
            deque(self.parser.found_links(), maxlen=0)  # stored now, as those of any other chunk
        if taken:
            self._commit(lambda: list(leftovers))
        else:
            self._journal.delete(list(leftovers))
        return bool(taken)

    def close(self) -> None:
        """Writes the last chunk; everything that was added is committed then."""
        try:
            self.flush()
            if self._commit_under_way is not None:
                self._commit_under_way.result()
        finally:
            self._journal_writer.close()
            self._thread.shutdown()
            if self.parser is not None:
                self.parser.close()

    def finish(self) -> None:
        """Deletes the journal of a part that is finished."""
        self._journal.clear()

    @property
    def _is_idle(self) -> bool:
        """Whether the thread has nothing to do; while it has, a batch may as well grow."""
        return not self._batches or self._batches[-1].done()

    @property
    def _is_journaling_now(self) -> bool:
        """Whether answers that come now are noted in the journal."""
        return self._journal_delay_s >= 0 and not self._commits_quickly

    def _begin_chunk(self) -> None:
        """Begins an empty chunk."""
        self._chunk = OpenChunk(self._journal.begin(self._counted_before))
        self._pending = PendingNote(self._chunk.journal)

    def _growing_note(self) -> PendingNote:
        """The note that the next answer is added to: one that is not being written."""
        if self._pending.is_due and not self._journal_writer.take_back(self._pending):
            self._pending = PendingNote(self._chunk.journal)
        return self._pending

    def _write_note(self) -> None:
        """Has the answers written to the journal that are not yet."""
        if self._pending.rows and not self._pending.is_due:
            self._pending.total = Counters(self.counters)
            self._journal_writer.put(self._pending)

    def _submit_batch(self) -> None:
        """Gives the batch to the thread, which may be busy with others."""
        while self._batches and (self._batches[0].done() or len(self._batches) >= _MAX_BATCHES):
            self._batches.popleft().result()
        if not self._batch.rows:
            return
        if self._is_journaling_now:
            self._write_note()
        total = Counters(self.counters)
        since = Counters(total)
        since.subtract(self._counted_before)
        counters = {name: count for name, count in since.items() if count}
        # tables are made here, for values that one thread makes and another lets go cost
        # both of them more than the tables do; and first of all, for a batch of which none
        # can be made must not be passed over by the commit that deletes its notes
        packed = self._batch.packed(counters)
        self._counted_before, self._batch = total, self._batch.next()
        self._batches.append(self._thread.submit(self._write_counted, packed))

    # in the thread

    def _write_counted(self, packed: PackedBatch) -> None:
        self.parse_counters.update(self._write(packed))

    def _write(self, packed: PackedBatch) -> Counters:
        """Writes a batch and what its parse adds to it, whose counts are returned."""
        tables, parsed = packed.tables, Counters()
        if self.parser is not None:
            tables, parsed, links = self.parser.parse(tables, packed.depths)
            for each in links:
                self._chunk_followed += each.as_followed()
        self._chunk_followed += packed.followed
        if self.on_stored is not None:
            self._chunk_urls += _page_urls(packed.tables[FETCH])
        for part, rows in tables.items():
            if part != CONTENT or self.keep_content:
                self._chunk_files.write(part, rows)
        self._chunk_counters.update(packed.counters)
        self._chunk_counters.update(parsed)
        return parsed

    def _commit(
        self, end_of_notes: Callable[[], list[str]], answers: Sequence[StoredAnswer] = ()
    ) -> None:
        begun = self.monotonic()
        pieces = self._chunk_files.finish()
        followed = robots = None
        if self._chunk_followed:
            followed = write_followed(self.segment, self.part, self._chunk_followed)
        if answers:
            robots = write_answers(self.segment.child(ROBOTS_LEARNT), self.part, answers)
        names = end_of_notes()  # not sooner: files take long to finish
        self.log.commit(Chunk(pieces, dict(self._chunk_counters), names, followed, robots))
        self._journal.delete(names)
        urls = self._chunk_urls
        self._begin_files()
        self._commit_duration_s = self.monotonic() - begun
        if self.on_stored is not None and urls:
            self.on_stored(urls)

    def _begin_files(self) -> None:
        self._chunk_files = ChunkFiles(self.segment, self.part, self.buckets)
        self._chunk_counters, self._chunk_followed, self._chunk_urls = Counters(), [], []


def pages_of(rows: pa.Table) -> set[str]:
    """The URLs of crawl_fetch rows, but for targets left for a later round."""
    return set(_page_urls(rows))


def _page_urls(rows: pa.Table) -> list[str]:
    linked = pc.equal(rows["status"], pa.scalar(int(Status.LINKED)))
    return cast(list[str], rows["url"].filter(pc.invert(linked)).to_pylist())
