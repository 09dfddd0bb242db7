"""The segments of the service: each is published when it is old or large enough, and then taken by
updatedb, invertlinks and index like any other.

A segment has one record of a URL. A URL that is answered again, and not for want of an answer,
goes to a further segment that is open beside the first; one more is opened where none can take it.
What is known of a URL is so in segments whose names sort as its answers came.

A segment that the disk does not take is left as it is, as by a service that was killed: its answers
are in its journal. The next start publishes it, and another one is begun as soon as there is room.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from crawl.clock import Clock, as_segment_name
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS
from crawl.counters import Counters
from crawl.errors import CrawlError, Locked, StorageError
from crawl.fetcher.output.batch import KeptForParse
from crawl.fetcher.values.record import FetchRecord
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.datum import CrawlDatum
from crawl.model.hosts import HostTrouble
from crawl.parsing.document import ParsedBatch
from crawl.service.patience import Patience, passes
from crawl.service.segments.answer_group import AnswerGroup
from crawl.service.segments.background import Background
from crawl.service.segments.writer import (
    ParseTable,
    SegmentWriter,
    TakeRecovered,
    let_go_of_published,
    unpublished,
)
from crawl.service.settings import SEGMENT_BYTES, SEGMENT_SECONDS
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import SERVICE_END

MAX_OPEN = 4
"""Segments at a time. Where one more is needed, the first is published before its time."""
_LOOK_S = 60.0
"""So often it is looked whether another process has died that had a segment."""

_log = logging.getLogger(__name__)


def _nobody(
    segment: str, records: Sequence[FetchRecord], batches: Sequence[ParsedBatch]
) -> None: ...


class SegmentRoll:
    """Where answers are stored. For one thread."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        config: Config,
        clock: Clock,
        parse: ParseTable,
        on_published: Callable[[str], None] = lambda name: None,
        *,
        is_shared: bool = False,
        patience: Patience | None = None,
        require_place: Callable[[], None] = lambda: None,
    ) -> None:
        """Where it is shared, other processes write segments of their own beside it. Without
        `patience` the first fault of the disk is raised. `require_place` raises where the crawl's
        folder is no longer there: nothing may be written then to what has taken its place."""
        self._crawl_dir = crawl_dir
        self._config = config
        self._clock = clock
        self._parse = parse
        self._on_published = on_published
        self._before_parse = _kept_for_parse(config)
        self._max_age_s: float = config[SEGMENT_SECONDS]
        self._max_bytes: int = config[SEGMENT_BYTES]
        self._is_shared = is_shared
        self._patience = patience
        self._require_place = require_place
        self._others: list[str] = []
        """Segments that another process had when it was looked: it may have died since."""
        self._look_at = 0.0
        self._open: list[SegmentWriter] = []
        """As their names sort."""
        self._closing: dict[str, SegmentWriter] = {}
        """Closed, and not published yet."""
        self._failed: dict[str, StorageError] = {}
        """Segments that the disk did not take: nothing more is done for them."""
        self._left: dict[str, SegmentWriter] = {}
        """Those of them that the next start publishes, with who may still have files of theirs."""
        self._background = Background("service-segments")

    def recover(self, take: TakeRecovered = _nobody) -> None:
        """Publishes what a service that died has left. `take` is told of answers that it had noted,
        which may not have come farther; whoever does not care has those asked for again of which
        the store knows nothing."""
        let_go_of_published(self._crawl_dir, self._config, self._clock)
        self._recover(unpublished(self._crawl_dir), take)
        self._background.wait()

    def _recover(self, names: Iterable[str], take: TakeRecovered) -> None:
        self._others = []
        for name in names:
            self._recover_one(name, take)
        self._look_at = self._clock.monotonic() + _LOOK_S

    def _recover_one(self, name: str, take: TakeRecovered) -> None:
        try:
            writer = self._writer(name)
        except Locked as error:
            if not self._is_shared:
                _log.warning("%s: another service is at work here", error)
                raise
            self._others.append(name)
            return
        if self._is_shared and name not in unpublished(self._crawl_dir):
            writer.abandon()  # whoever had it has published it at this moment
            return
        try:
            writer.recover(take)
        except BaseException:
            with suppress(CrawlError, OSError):
                writer.abandon()
            raise
        self._publish(writer)

    def _look_for_left(self) -> None:
        """Publishes what another process had when it died, and what it still had then."""
        if self._others and self._clock.monotonic() >= self._look_at:
            left = set(unpublished(self._crawl_dir))
            # its queue has what it had noted, and gives that to another
            self._recover([name for name in self._others if name in left], _nobody)

    # what the disk does not take

    def _leave(self, writer: SegmentWriter, error: StorageError) -> None:
        """Leaves a segment as it is: what it has taken is in its journal."""
        self._failed.setdefault(writer.name, error)
        self._closing.pop(writer.name, None)
        self._open = [each for each in self._open if each is not writer]
        with suppress(CrawlError, OSError):
            writer.abandon()
        self._left[writer.name] = writer
        _log.warning("%s; the segment %s is published by the next start", error, writer.name)

    def _leave_failed(self) -> None:
        """Leaves those that failed while they were written in the background."""
        for writer in [*self._open, *self._closing.values()]:
            if (error := self._failed.get(writer.name)) is not None:
                self._leave(writer, error)

    def _drop_files(self) -> None:
        """Closes files of segments that are left, when nothing is done in the background."""
        for writer in self._left.values():
            writer.drop_files()

    def _do_later(self, name: str, work: Callable[[], None], held_bytes: int = 0, /) -> None:
        """Has work done for a segment in the background, unless that has failed by then."""

        def guarded() -> None:
            if name in self._failed:
                return
            try:
                self._require_place()
                work()
            except (StorageError, OSError) as error:
                if self._patience is None or not passes(error):
                    raise
                self._failed[name] = _as_fault(error)

        self._background.do(guarded, held_bytes)

    def add(
        self, records: Sequence[FetchRecord], parsed: Mapping[str, ParsedBatch]
    ) -> dict[str, str]:
        """Stores answers with the parses of their pages; the names of their segments, by URL. They
        are safe when it returns. Pages that were parsed together are in one segment."""
        segments: dict[str, str] = {}
        for group in self._groups(records, parsed):
            name = self._until_stored(partial(self._add, group))
            segments.update((record.url, name) for record in group.records)
        return segments

    def _until_stored(self, store: Callable[[], str]) -> str:
        return store() if self._patience is None else self._patience.until_done(store)

    def _add(self, group: AnswerGroup) -> str:
        """Stores answers; the name of their segment. Where the disk does not take them they are
        for another one."""
        self._require_place()
        self._leave_failed()
        try:
            writer = self._writer_for(self._first_that_takes(group.records))
        except OSError as error:
            raise _as_fault(error) from error
        try:
            writer.add(group.records, group.parsed)
        except (StorageError, OSError) as error:
            if self._patience is None or not passes(error):
                raise
            fault = _as_fault(error)
            self._leave(writer, fault)
            raise fault from error
        return writer.name

    def _groups(
        self, records: Sequence[FetchRecord], parsed: Mapping[str, ParsedBatch]
    ) -> Sequence[AnswerGroup]:
        whole = AnswerGroup(records, parsed)
        if self._first_that_takes(records) == 0 and not whole.has_repeats:
            return (whole,)
        return whole.split()

    def _first_that_takes(self, records: Sequence[FetchRecord]) -> int:
        """Which of the open segments takes answers: the first behind all that have a record of one
        of their URLs, or the last of these where the new one takes the place of that."""
        urls = {record.url for record in records}
        for at in reversed(range(len(self._open))):
            writer = self._open[at]
            known = urls & writer.urls
            if known:
                return at if all(map(writer.may_take, known)) else at + 1
        return 0

    def _writer_for(self, at: int) -> SegmentWriter:
        if at == len(self._open):
            if at == MAX_OPEN:
                self._publish(self._open.pop(0))
            self._open.append(self._begun())
        return self._open[min(at, len(self._open) - 1)]

    def add_host_troubles(self, troubles: Iterable[HostTrouble]) -> None:
        """Stores hosts that failed, with the answers that came meanwhile."""
        if self._open:
            self._open[0].add_host_troubles(troubles)

    @property
    def due_in_s(self) -> float | None:
        """After how long the first of the open segments is old enough; None where none is open."""
        return min(map(self._due_in_s, self._open), default=None)

    def _due_in_s(self, writer: SegmentWriter) -> float:
        if writer.bytes >= self._max_bytes:
            return 0.0
        return max(0.0, writer.begun + self._max_age_s - self._clock.monotonic())

    @property
    def age_s(self) -> float:
        """How old the first open segment is; 0 where none is open. For any thread."""
        oldest = self._open[:1]
        return max((self._clock.monotonic() - each.begun for each in oldest), default=0.0)

    def publish_if_due(self) -> None:
        """To be called now and then, also while nothing comes."""
        self._leave_failed()
        for writer in [each for each in self._open if self._due_in_s(each) == 0.0]:
            self._open.remove(writer)
            self._publish(writer)
        self._look_for_left()

    def publish(self) -> None:
        """Closes the open segments. They are written while the next one is filled."""
        while self._open:
            self._publish(self._open.pop(0))

    def close(self) -> None:
        """Closes the open segments, and waits until they are published. What the disk does not
        take is left to the next service."""
        try:
            self._leave_failed()
            self.publish()
        finally:
            self._background.close()
            self._leave_failed()
            self._drop_files()

    def _publish(self, writer: SegmentWriter) -> None:
        self._closing[writer.name] = writer
        writer.publish()
        self._do_later(writer.name, lambda: self._told_published(writer.name))

    def _told_published(self, name: str) -> None:
        self._closing.pop(name, None)
        self._on_published(name)

    def abandon(self) -> None:
        """Leaves the open segments as they are, where the service ends and cannot finish: the next
        one publishes them."""
        with suppress(CrawlError, OSError):  # it has been said, and is found again
            self._background.close()
        left, self._open = [*self._open, *self._closing.values()], []
        self._closing.clear()
        for writer in left:
            with suppress(CrawlError, OSError):
                writer.abandon()
            writer.drop_files()
        self._drop_files()

    def _writer(self, name: str) -> SegmentWriter:
        snapshot = self._crawl_dir.crawldb.current()
        return SegmentWriter(
            *(self._crawl_dir, name, self._config, self._clock),
            buckets=self._config[CRAWLDB_BUCKETS] if snapshot is None else snapshot.buckets,
            before_parse=self._before_parse,
            parse=self._parse,
            later=partial(self._do_later, name),
        )

    def _begun(self) -> SegmentWriter:
        name = self._new_name()
        while True:
            try:
                return self._writer(name)
            except Locked:
                if not self._is_shared:
                    raise
                # another began one in the same second
                name = self._new_name(name)
            except (StorageError, OSError):
                if not self._is_shared:  # else it may be another's
                    with suppress(CrawlError, OSError):
                        self._crawl_dir.segments.segment(name).folder.delete("")
                raise

    def _new_name(self, after: str = "") -> str:
        """By the clock, and after all that are there: names sort as the segments came."""
        last = max(after, max(self._crawl_dir.segments.folder.names(), default=""))
        moment_ms = self._clock.now_ms()
        while (name := as_segment_name(moment_ms) + SERVICE_END) <= last:
            moment_ms += 1000
        return name


def _as_fault(error: StorageError | OSError) -> StorageError:
    """What the disk said, as a fault that is told in a line."""
    if isinstance(error, StorageError):
        return error
    return StorageError(f"a segment cannot be written: {error.strerror or error}")


def _kept_for_parse(config: Config) -> KeptForParse:
    scoring, faults = ScoringChain.from_config(config), Counters()

    def before_parse(url: str, datum: CrawlDatum) -> Mapping[str, str]:
        return scoring.before_parse(url, datum, faults)

    return before_parse
