"""The segments of the service: each is published when it is old or large enough, and then taken by
updatedb, invertlinks and index like any other.

A segment has one record of a URL. A URL that is answered again, and not for want of an answer,
goes to a further segment that is open beside the first; one more is opened where none can take it.
What is known of a URL is so in segments whose names sort as its answers came.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from crawl.clock import Clock, as_segment_name
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS
from crawl.counters import Counters
from crawl.errors import CrawlError, Locked
from crawl.fetcher.output.batch import KeptForParse
from crawl.fetcher.values.record import FetchRecord
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.datum import CrawlDatum
from crawl.model.hosts import HostTrouble
from crawl.parsing.document import ParsedBatch
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
    ) -> None:
        """Where it is shared, other processes write segments of their own beside it."""
        self._crawl_dir = crawl_dir
        self._config = config
        self._clock = clock
        self._parse = parse
        self._on_published = on_published
        self._before_parse = _kept_for_parse(config)
        self._max_age_s: float = config[SEGMENT_SECONDS]
        self._max_bytes: int = config[SEGMENT_BYTES]
        self._is_shared = is_shared
        self._others: list[str] = []
        """Segments that another process had when it was looked: it may have died since."""
        self._look_at = 0.0
        self._open: list[SegmentWriter] = []
        """As their names sort."""
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
            try:
                writer = self._writer(name)
            except Locked as error:
                if not self._is_shared:
                    _log.warning("%s: another service is at work here", error)
                    raise
                self._others.append(name)
                continue
            if self._is_shared and name not in unpublished(self._crawl_dir):
                writer.abandon()  # whoever had it has published it at this moment
                continue
            writer.recover(take)
            self._publish(writer)
        self._look_at = self._clock.monotonic() + _LOOK_S

    def _look_for_left(self) -> None:
        """Publishes what another process had when it died, and what it still had then."""
        if self._others and self._clock.monotonic() >= self._look_at:
            left = set(unpublished(self._crawl_dir))
            # its queue has what it had noted, and gives that to another
            self._recover([name for name in self._others if name in left], _nobody)

    def add(
        self, records: Sequence[FetchRecord], parsed: Mapping[str, ParsedBatch]
    ) -> dict[str, str]:
        """Stores answers with the parses of their pages; the names of their segments, by URL. They
        are safe when it returns. Pages that were parsed together are in one segment."""
        segments: dict[str, str] = {}
        for group in self._groups(records, parsed):
            writer = self._writer_for(self._first_that_takes(group.records))
            writer.add(group.records, group.parsed)
            segments.update((record.url, writer.name) for record in group.records)
        return segments

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
        for writer in [each for each in self._open if self._due_in_s(each) == 0.0]:
            self._open.remove(writer)
            self._publish(writer)
        self._look_for_left()

    def publish(self) -> None:
        """Closes the open segments. They are written while the next one is filled."""
        while self._open:
            self._publish(self._open.pop(0))

    def close(self) -> None:
        """Closes the open segments, and waits until they are published."""
        try:
            self.publish()
        finally:
            self._background.close()

    def _publish(self, writer: SegmentWriter) -> None:
        writer.publish()
        self._background.do(lambda: self._on_published(writer.name))

    def abandon(self) -> None:
        """Leaves the open segments as they are, where the service ends and cannot finish: the next
        one publishes them."""
        left, self._open = self._open, []
        with suppress(CrawlError, OSError):  # it has been said, and is found again
            self._background.close()
        for writer in left:
            writer.abandon()

    def _writer(self, name: str) -> SegmentWriter:
        snapshot = self._crawl_dir.crawldb.current()
        return SegmentWriter(
            *(self._crawl_dir, name, self._config, self._clock),
            buckets=self._config[CRAWLDB_BUCKETS] if snapshot is None else snapshot.buckets,
            before_parse=self._before_parse,
            parse=self._parse,
            later=self._background.do,
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

    def _new_name(self, after: str = "") -> str:
        """By the clock, and after all that are there: names sort as the segments came."""
        last = max(after, max(self._crawl_dir.segments.folder.names(), default=""))
        moment_ms = self._clock.now_ms()
        while (name := as_segment_name(moment_ms) + SERVICE_END) <= last:
            moment_ms += 1000
        return name


def _kept_for_parse(config: Config) -> KeptForParse:
    scoring, faults = ScoringChain.from_config(config), Counters()

    def before_parse(url: str, datum: CrawlDatum) -> Mapping[str, str]:
        return scoring.before_parse(url, datum, faults)

    return before_parse
