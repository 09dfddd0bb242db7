"""Parses what the lane brought while what came before it is stored: the finisher's first half, in
a thread of its own.

It is one batch ahead at the most. What has arrived meanwhile is the next batch: few pages where
there is time, more of them, each for less, where there is not.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Condition

from crawl.clock import Clock
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.record import FetchRecord
from crawl.model.hosts import HostTrouble
from crawl.parsing.document import ParsedBatch
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.finishing.page_rows import ParsedPage, Wanted
from crawl.service.finishing.record_parser import RecordParser

MAX_BATCH = 64
"""Answers that are finished together: one of them must not wait for a second of parsing."""
_TICK_S = 0.5
_KEEP_WARM_S = 120.0
"""The parser's process ends when nobody has needed it for longer; who comes next would wait for
another one."""


@dataclass(frozen=True, slots=True)
class ParsedRecords:
    """Answers with the parses of their pages, and what else came meanwhile."""

    records: Sequence[FetchRecord] = ()
    returned: Sequence[tuple[FetchItem, str]] = ()
    """URLs that the lane gives back, with the reasons."""
    troubles: Sequence[HostTrouble] = ()
    parsed: Mapping[str, ParsedPage] = field(default_factory=dict)
    """By URL."""
    batch: ParsedBatch | None = None
    """The rows of all of them."""
    wanted: Mapping[str, Wanted] = field(default_factory=dict)
    """What those who waited by then want of each URL."""
    without_markdown: Container[str] = ()
    """URLs of pages of which nobody wanted it by then."""
    parse_s: float = 0.0

    @property
    def is_empty(self) -> bool:
        return not (self.records or self.returned or self.troubles)


_NOTHING = ParsedRecords()


class ParseStage:
    """Runs in a thread of its own, until it is stopped and all that arrived is handed on."""

    def __init__(self, arrivals: Arrivals, parser: RecordParser, clock: Clock) -> None:
        self._arrivals = arrivals
        self._parser = parser
        self._clock = clock
        self._ready: ParsedRecords | None = None
        self._changed = Condition()
        self._parsed_at = clock.monotonic()
        self._is_woken = False
        self._is_stopped = False
        self._is_abandoned = False
        self.has_ended = False

    def stop(self) -> None:
        """Has it end when all that arrived is handed on."""
        self._is_stopped = True
        self._arrivals.wake()

    def abandon(self) -> None:
        """Has it end although nobody takes what it parsed: the queue has it still."""
        with self._changed:
            self._is_abandoned = True
            self._changed.notify_all()
        self.stop()

    def wake(self) -> None:
        """Has `take` come back."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def run(self) -> None:
        """Parses until it is stopped."""
        try:
            while self._step():
                pass
        finally:
            with self._changed:
                self.has_ended = True
                self._changed.notify_all()

    def take(self, timeout_s: float) -> ParsedRecords:
        """What was parsed; nothing where nothing was within the time, or when it was woken."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._ready is not None or self._is_woken or self.has_ended, timeout_s
            )
            self._is_woken = False
            ready, self._ready = self._ready, None
            self._changed.notify_all()
        return ready or _NOTHING

    def _step(self) -> bool:
        is_last = self._is_stopped
        records, returned, troubles = self._arrivals.take(MAX_BATCH, 0.0 if is_last else _TICK_S)
        if not (records or returned or troubles):
            if not is_last and self._clock.monotonic() - self._parsed_at >= _KEEP_WARM_S:
                self._parser.keep_warm()
                self._parsed_at = self._clock.monotonic()
            return not is_last
        begun = self._clock.monotonic()
        parses = self._parser.parse(records)
        self._parsed_at = self._clock.monotonic()
        parse_s = self._parsed_at - begun
        ready = ParsedRecords(
            *(records, returned, troubles, parses.pages, parses.batch),
            *(parses.wanted, parses.without_markdown, parse_s),
        )
        with self._changed:
            self._changed.wait_for(lambda: self._ready is None or self._is_abandoned)
            self._ready = ready
            self._changed.notify_all()
        return not self._is_abandoned
