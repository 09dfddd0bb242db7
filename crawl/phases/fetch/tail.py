"""Ends a fetch when what is left of it is a tail (crawl/phases/fetch/rules.py).

The parts tell how many of their servers are busy; this process adds them up, and asks all parts to
end when the rest is better fetched by the next round. That ending is a complete one: what is handed
back stays due in the CrawlDb, as after a time limit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.fetcher.reporting.part_reports import PartReports
from crawl.fetcher.reporting.task_monitor import STOP, TAIL, request_tail_end, stop_reason
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_PROGRESS_INTERVAL, FETCHER_TAIL_CUT, TailCut
from crawl.model.report import BELOW_TOP_N, PER_HOST_OVERFLOW
from crawl.phases.fetch.rules import FetchSoFar, RoundCosts, is_tail
from crawl.storage.chunks import ChunkLog
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.segments import GENERATE, PARSE, PartFile, Segment, is_of_service
from crawl.telemetry.repeating import repeating

_USUAL_OVERHEAD_S = 10.0
"""Of parse and updatedb, before there was one."""
_MIN_OVERHEAD_S = 1.0
"""A round is never for nothing: tasks are started, lists read, files published."""
_USUAL_FOUND_PER_PAGE = 1.0
"""New URLs of a page, before the first updatedb."""
_READS_PER_S = 100
"""Reports that are read of a fetch of very many parts."""

_log = logging.getLogger(__name__)


def is_tail_cut(config: Config, *, more_rounds: bool) -> bool:
    """Whether a fetch is to be ended when it has become a tail."""
    cut = TailCut(config[FETCHER_TAIL_CUT])
    return cut is TailCut.ALWAYS or (cut is TailCut.ROUNDS and more_rounds)


def last_round_costs(crawl_dir: CrawlDir, segment: Segment | None, config: Config) -> RoundCosts:
    """What a round costs beside its fetch, by the reports of the last one. `segment`: the one that
    is about to be fetched, if there is one. Reports are no state: where one is missing, the usual
    is taken."""
    snapshot = crawl_dir.crawldb.current()
    applied = {
        name: number
        for name, number in (snapshot.applied.items() if snapshot else ())
        if not is_of_service(name)
    }
    if segment is None and applied:
        segment = crawl_dir.segments.segment(max(applied))
    generated = {} if segment is None else segment.report(GENERATE)
    counted = _counters(generated)
    closing_s, found_per_page = _USUAL_OVERHEAD_S, _USUAL_FOUND_PER_PAGE
    if applied:
        updated = crawl_dir.crawldb.report(max(applied.values()))
        parsed = crawl_dir.segments.segment(max(applied)).report(PARSE)
        if updated.get("phase") == "updatedb":
            closing_s = _seconds(updated)
            # pages that were parsed in the fetch cost no time of their own
            closing_s += _seconds(parsed) if parsed.get("phase") == "parse" else 0.0
            records = _number(_counters(updated), "fetch_records")
            if records:
                found_per_page = _number(_counters(updated), "urls_new") / records
    overhead_s = _seconds(generated) + closing_s
    return RoundCosts(
        max(overhead_s, Politeness.of(config).usual.delay_s, _MIN_OVERHEAD_S),
        found_per_page,
        round(_number(counted, BELOW_TOP_N) + _number(counted, PER_HOST_OVERFLOW)),
    )


def _seconds(report: Mapping[str, Any]) -> float:
    """How long a phase took; by its steps where the clock was set in the middle of it."""
    steps = report.get("durations_s")
    stepped = sum(_number(steps, name) for name in steps) if isinstance(steps, dict) else 0.0
    whole = (_number(report, "finished_ms") - _number(report, "started_ms")) / 1000
    return max(0.0, whole, stepped)


def _counters(report: Mapping[str, Any]) -> Mapping[str, Any]:
    counters = report.get("counters")
    return counters if isinstance(counters, dict) else {}


def _number(content: Mapping[str, Any], name: str) -> float:
    value = content.get(name, 0)
    return float(value) if isinstance(value, int | float) else 0.0


class TailCutter:
    """Looks, while parts are fetched, whether they have become a tail, and ends them then."""

    def __init__(self, segment: Folder, costs: RoundCosts, config: Config, clock: Clock) -> None:
        self._segment = segment
        self._costs = costs
        self._clock = clock
        self._interval_s: float = config[FETCHER_PROGRESS_INTERVAL]
        self.cut: dict[str, float] | None = None
        """The figures by which the fetch was ended; None where it was not."""

    @contextmanager
    def watching(self, parts: Sequence[PartFile]) -> Iterator[None]:
        """Watches these parts, which one call of the runner fetches, as long as the block runs."""
        begun = [file for file in parts if ChunkLog(self._segment, file.part).finished() is None]
        watch = _Watch(PartReports(self._segment, begun), len(begun), self._clock)
        interval_s = max(self._interval_s, len(begun) / _READS_PER_S, 0.1)
        with repeating(lambda: self._look(watch), interval_s, "fetch-tail"):
            yield
        if stop_reason(self._segment) == TAIL:
            self._segment.delete(STOP)  # those parts have ended; others may come

    def _look(self, watch: _Watch) -> None:
        try:
            fetch = watch.look()
            if fetch is None or watch.is_ended or not is_tail(fetch, self._costs):
                return
            request_tail_end(self._segment)
            watch.is_ended = True
            self.cut = {
                "after_s": round(fetch.spent_s, 1),
                "servers_busy": fetch.busy,
                "servers_busy_mean": round(fetch.mean_busy(self._costs.overhead_s), 1),
                "longest_chain_s": round(fetch.longest_s, 1),
                "round_overhead_s": round(self._costs.overhead_s, 1),
            }
            _log.info("what is left of the fetch is a tail: it is ended (%s)", self.cut)
        except Exception:
            # a fetch must not suffer from being watched
            _log.warning("whether the fetch has become a tail cannot be told", exc_info=True)


class _Watch:
    """Adds up what the parts tell."""

    def __init__(self, reports: PartReports, parts: int, clock: Clock) -> None:
        self._reports = reports
        self._parts = parts
        self._clock = clock
        self._began = self._looked = clock.monotonic()
        self._busy = self._most_busy = 0
        self._served_s = 0.0
        self.is_ended = False

    def look(self) -> FetchSoFar | None:
        """The fetch as it is now; None while there are parts without a report: their
        servers are still to come."""
        reports = self._reports.read()
        now = self._clock.monotonic()
        under_way = [each for each in reports if not each.get("ended")]
        busy = round(sum(_number(each, "servers_busy") for each in under_way))
        self._served_s += (now - self._looked) * (busy + self._busy) / 2
        self._looked, self._busy = now, busy
        self._most_busy = max(self._most_busy, busy)
        if len(reports) < self._parts:
            return None
        return FetchSoFar(
            spent_s=now - self._began,
            served_s=self._served_s,
            busy=busy,
            most_busy=self._most_busy,
            longest_s=max((_number(each, "longest_chain_s") for each in under_way), default=0.0),
            pages=round(sum(_number(_counters(each), "records") for each in reports)),
        )
