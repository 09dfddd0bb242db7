"""The segments of the service, one after the other: each is published when it is old or large
enough, and then taken by updatedb, invertlinks and index like any other.
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
from crawl.service.background import Background
from crawl.service.segment_writer import (
    ParseTable,
    SegmentWriter,
    let_go_of_published,
    unpublished,
)
from crawl.service.settings import SEGMENT_BYTES, SEGMENT_SECONDS
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import SERVICE_END

_LOOK_S = 60.0
"""So often it is looked whether another process has died that had a segment."""

_log = logging.getLogger(__name__)


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
        self._open: SegmentWriter | None = None
        self._background = Background("service-segments")

    def recover(self) -> dict[str, int]:
        """Publishes what a service that died has left; the URLs that it had answers for, with the
        moments of those."""
        let_go_of_published(self._crawl_dir, self._config, self._clock)
        answered = self._recover(unpublished(self._crawl_dir))
        self._background.wait()
        return answered

    def _recover(self, names: Iterable[str]) -> dict[str, int]:
        answered: dict[str, int] = {}
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
            answered.update(writer.recover())
            self._publish(writer)
        self._look_at = self._clock.monotonic() + _LOOK_S
        return answered

    def _look_for_left(self) -> None:
        """Publishes what another process had when it died, and what it still had then."""
        if self._others and self._clock.monotonic() >= self._look_at:
            left = set(unpublished(self._crawl_dir))
            self._recover([name for name in self._others if name in left])

    def add(self, records: Sequence[FetchRecord], parsed: Mapping[str, ParsedBatch]) -> str:
        """Stores answers with the parses of their pages; the name of the segment. They are safe
        when it returns. A URL that has an answer in the open segment begins the next."""
        writer = self._open
        if writer is not None and not writer.urls.isdisjoint(record.url for record in records):
            self.publish()
        if self._open is None:
            self._open = self._begun()
        self._open.add(records, parsed)
        return self._open.name

    def add_host_troubles(self, troubles: Iterable[HostTrouble]) -> None:
        """Stores hosts that failed, with the answers that came meanwhile."""
        if self._open is not None:
            self._open.add_host_troubles(troubles)

    @property
    def due_in_s(self) -> float | None:
        """After how long the open segment is old enough; None where none is open."""
        if self._open is None:
            return None
        if self._open.bytes >= self._max_bytes:
            return 0.0
        return max(0.0, self._open.begun + self._max_age_s - self._clock.monotonic())

    @property
    def age_s(self) -> float:
        """How old the open segment is; 0 where none is open. For any thread."""
        writer = self._open
        return 0.0 if writer is None else max(0.0, self._clock.monotonic() - writer.begun)

    def publish_if_due(self) -> None:
        """To be called now and then, also while nothing comes."""
        if self.due_in_s == 0.0:
            self.publish()
        self._look_for_left()

    def publish(self) -> None:
        """Closes the open segment. It is written while the next one is filled."""
        writer, self._open = self._open, None
        if writer is not None:
            self._publish(writer)

    def close(self) -> None:
        """Closes the open segment, and waits until it is published."""
        try:
            self.publish()
        finally:
            self._background.close()

    def _publish(self, writer: SegmentWriter) -> None:
        writer.publish()
        self._background.do(lambda: self._on_published(writer.name))

    def abandon(self) -> None:
        """Leaves the open segment as it is, where the service ends and cannot finish: the next one
        publishes it."""
        writer, self._open = self._open, None
        with suppress(CrawlError, OSError):  # it has been said, and is found again
            self._background.close()
        if writer is not None:
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
