"""Records on their way to disk: gathered in batches, noted in the journal, parsed where that
is asked for, written to the files of a chunk, which is committed now and then. A thread
does it while the fetch goes on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
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
from crawl.storage.chunks import Chunk, ChunkLog
from crawl.storage.folder import Folder
from crawl.storage.segments import CONTENT

_MOST_WAITING = 4
"""Full batches that may wait for the thread; then the fetch waits for it."""

__all__ = ["ChunkSize", "SegmentOutput", "pages_of"]


@dataclass(slots=True)
class SegmentOutput:
    """Where the engine's records go. Called under the engine's lock; moments are the
    engine's monotonic ones."""

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
    """What of a page's record its content keeps for the parse."""
    line: InlineParser | None = None
    """Parses what is fetched; None where that is left to a later phase."""
    keep_content: bool = True
    monotonic: Callable[[], float] = time.monotonic
    _batch: Batch = field(init=False)
    _filling: OpenChunk = field(init=False)
    _note_s: float = field(init=False)
    _is_fast: bool = False
    """Answers come so quickly that they are committed every second rather than noted."""
    _commit_s: float = 0.0
    """How long the last commit took."""
    _told: Counters = field(default_factory=Counters)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _waiting: deque[Future[None]] = field(default_factory=deque)
    _closing: Future[None] | None = None
    _journal: Journal = field(init=False)
    _noting: JournalWriter = field(default_factory=JournalWriter)
    _answers: PendingNote = field(init=False)
    """To be noted."""
    _files: ChunkFiles = field(init=False)
    """From here on down: the thread's."""
    _counted: Counters = field(default_factory=Counters)
    _followed: list[FollowedUrl] = field(default_factory=list)
    parse_counters: Counters = field(default_factory=Counters)
    """Of this run, to be asked for at the end."""
    host_troubles: list[HostTrouble] = field(default_factory=list)
    """Hosts that failed, known at the end."""
    parses_pages: bool = field(init=False)

    def __post_init__(self) -> None:
        self.parses_pages = self.line is not None
        self._journal = Journal(self.segment, self.part, self.log.token)
        self._batch = Batch(self.before_parse)
        self._begin()
        # where every note is a file, and paid for, the default is not at once
        self._note_s = self.size.journal_seconds or (0.0 if self._journal.can_grow else SOON_S)
        self._files = self._new_files()

    def add(self, record: FetchRecord) -> None:
        for observe in self.observers:
            observe(record)
        if self._filling.rows >= 2 * self.size.records and record.datum.status is not Status.LINKED:
            # a host of many pages, refused all at once; a link is committed with the page
            # that led to it
            self.flush()
        filling = self._filling
        filling.rows += 1
        filling.bytes += self._batch.add(record)
        if self.line is not None:
            self._batch.depths[record.url] = record.depth
        if self._is_noted:
            self._growing().records.append(record)

    def add_followed(self, followed: FollowedUrl) -> None:
        """Keeps a URL that the fetch takes on, with the record that was added last."""
        self._batch.followed.append(followed)
        if self._is_noted:
            self._growing().followed.append(followed)

    def add_archived(self, content: Content) -> None:
        """Keeps an answer that is nobody's record."""
        self._filling.rows += 1
        self._filling.bytes += self._batch.archive(content)
        if self._is_noted:
            self._growing().archived.append(content)

    def add_host_troubles(self, troubles: Iterable[HostTrouble]) -> None:
        """Keeps hosts that failed until the part is finished."""
        self.host_troubles.extend(troubles)

    @property
    def is_behind(self) -> bool:
        """Whether pages come faster than they are parsed: nothing more should be asked for,
        rather than wait for the parser with requests under way."""
        if self.line is None:
            return False
        return sum(not batch.done() for batch in self._waiting) >= _MOST_WAITING - 1

    def found_links(self) -> Iterable[FoundLinks]:
        """Links that are to be followed."""
        return () if self.line is None else self.line.found()

    def awaits_links(self) -> bool:
        """Whether pages are being parsed whose links may be followed; has the others parsed."""
        if self.line is None or not self.line.follows:
            return False
        if self._is_idle:
            self._pass_on()
        return not self._is_idle or self.line.has_found

    def commit_point(self, now: float) -> None:
        """To be called where all records of an answer have been added, and now and then:
        records must not wait for long because no others come."""
        size, batch, chunk = self.size, self._batch, self._filling
        if not chunk.rows:
            return
        if chunk.begun is None:
            chunk.begun = now
        age = now - chunk.begun
        soon = max(SOON_S, self._note_s)
        is_quick = self._is_noting and self._commit_s <= QUICK_COMMIT_S and chunk.is_quick(age)
        if (
            chunk.is_full(size)
            or age >= size.seconds
            or (age >= soon and self._is_fast)  # nothing of it was noted
        ):
            self.flush()
            self._is_fast = is_quick
            return
        if not batch.rows:
            return
        if batch.begun is None:
            batch.begun = now
        if batch.is_full:
            self._pass_on()
            self._is_fast |= is_quick
        elif self.line is not None and now - batch.begun >= SOON_S and self._is_idle:
            self._pass_on()
        elif self._is_noted:
            if self._answers.begun is None:
                self._answers.begun = now
            if now - self._answers.begun >= self._note_s:
                self._note()

    def flush(self) -> None:
        """Has what has gathered written and committed, while the fetch goes on; waits for
        the chunk before."""
        if self._closing is not None:
            self._closing.result()
        if not self._filling.rows:
            return
        self._pass_on()
        self._closing = self._thread.submit(self._commit, self._filling.notes.end)
        self._begin()

    def take_over(self, fetched: set[str], contained: set[str]) -> bool:
        """Commits what those before this task had noted and not committed; says whether
        there was anything. Of a note with a page that has a record, written by a task given
        up for dead, nothing is taken: its other pages are asked for again."""
        left = self._journal.left(contained.__contains__)
        taken = []
        for note in chain.from_iterable(left.values()):
            urls = {each.url for each in note.records if each.datum.status is not Status.LINKED}
            if fetched.isdisjoint(urls):
                fetched |= urls
                taken.append(note)
        for packed in pack_notes(taken, self.before_parse):
            self._write(packed)
        if self.line is not None:
            deque(self.line.found(), maxlen=0)  # stored now, as those of any other chunk
        if taken:
            self._commit(lambda: list(left))
        else:
            self._journal.delete(list(left))
        return bool(taken)

    def close(self) -> None:
        """Writes the last chunk; everything that was added is committed then."""
        try:
            self.flush()
            if self._closing is not None:
                self._closing.result()
        finally:
            self._noting.close()
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

    @property
    def _is_noting(self) -> bool:
        return self._note_s >= 0

    @property
    def _is_noted(self) -> bool:
        """Whether what comes now is."""
        return self._note_s >= 0 and not self._is_fast

    def _begin(self) -> None:
        """Begins a chunk."""
        self._filling = OpenChunk(self._journal.begin(self._told))
        self._answers = PendingNote(self._filling.notes)

    def _growing(self) -> PendingNote:
        """What the next answer is added to: nobody may be noting it."""
        if self._answers.is_due and not self._noting.take_back(self._answers):
            self._answers = PendingNote(self._filling.notes)
        return self._answers

    def _note(self) -> None:
        """Has the answers noted that are not yet."""
        if self._answers.rows and not self._answers.is_due:
            self._answers.total = Counters(self.counters)
            self._noting.put(self._answers)

    def _pass_on(self) -> None:
        """Gives the batch to the thread, which may be busy with others."""
        while self._waiting and (self._waiting[0].done() or len(self._waiting) >= _MOST_WAITING):
            self._waiting.popleft().result()
        if not self._batch.rows:
            return
        if self._is_noted:
            self._note()
        total = Counters(self.counters)
        since = Counters(total)
        since.subtract(self._told)
        counters = {name: count for name, count in since.items() if count}
        # tables are made here, for values that one thread makes and another lets go cost
        # both of them more than the tables do; and first of all, for a batch of which none
        # can be made must not be passed over by the commit that deletes its notes
        packed = self._batch.packed(counters)
        self._told, self._batch = total, self._batch.next()
        self._waiting.append(self._thread.submit(self._take, packed))

    # in the thread

    def _take(self, packed: PackedBatch) -> None:
        self.parse_counters.update(self._write(packed))

    def _write(self, packed: PackedBatch) -> Counters:
        """Writes a batch and what its parse adds to it, whose counts are returned."""
        tables, parsed = packed.tables, Counters()
        if self.line is not None:
            tables, parsed, found = self.line.parse(tables, packed.depths)
            for each in found:
                self._followed += each.as_followed()
        self._followed += packed.followed
        for part, rows in tables.items():
            if part != CONTENT or self.keep_content:
                self._files.write(part, rows)
        self._counted.update(packed.counters)
        self._counted.update(parsed)
        return parsed

    def _commit(self, end_of_notes: Callable[[], list[str]]) -> None:
        begun = self.monotonic()
        pieces = self._files.finish()
        followed = None
        if self._followed:
            followed = write_followed(self.segment, self.part, self._followed)
        names = end_of_notes()  # not sooner: files take long to finish
        self.log.commit(Chunk(pieces, dict(self._counted), names, followed))
        self._journal.delete(names)
        self._files, self._counted, self._followed = self._new_files(), Counters(), []
        self._commit_s = self.monotonic() - begun

    def _new_files(self) -> ChunkFiles:
        return ChunkFiles(self.segment, self.part, self.buckets)


def pages_of(rows: pa.Table) -> set[str]:
    """The URLs of crawl_fetch rows, but for targets left for a later round."""
    linked = pc.equal(rows["status"], pa.scalar(int(Status.LINKED)))
    return set(cast(list[str], rows["url"].filter(pc.invert(linked)).to_pylist()))
