"""Logs, spans, metrics and costs of a phase: that it runs, how it ended, what it counted. One line
above each phase's `run`, so that none is forgotten and none knows who listens.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.errors import CrawlError, NothingToDo
from crawl.fetcher.reporting.fetch_metrics import count_event, is_measured
from crawl.model.report import Report
from crawl.model.status import DB_STATUSES, status_label
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner
from crawl.tables.stats import count_statuses
from crawl.telemetry import ambient, logs, metrics
from crawl.telemetry.context import current_context, in_context
from crawl.telemetry.costs import cost_account
from crawl.telemetry.meter import Meter

P = ParamSpec("P")
Result = TypeVar("Result")

_log = logging.getLogger(__name__)


def observed(phase: str) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Wraps a function with arguments `runner`, `crawl_dir` and `clock`, whose result may have
    a `report`, a `snapshot` and segments."""

    def around(run: Callable[P, Result]) -> Callable[P, Result]:
        signature = inspect.signature(run)

        @functools.wraps(run)
        def watched(*args: P.args, **kwargs: P.kwargs) -> Result:
            arguments = signature.bind(*args, **kwargs).arguments
            crawl_dir: CrawlDir = arguments["crawl_dir"]
            observer = _PhaseObserver(
                phase, crawl_dir, arguments["runner"], arguments["clock"], ambient.meter()
            )
            with (
                in_context(phase=phase, crawl=crawl_dir.address),
                ambient.span(phase) as span,
                cost_account(),
            ):
                began = observer.begin()
                try:
                    result = run(*args, **kwargs)
                except BaseException as error:
                    observer.fail(error)
                    raise
                span.set(segment=current_context().segment)
                report = getattr(result, "report", None)
                if isinstance(report, Report):
                    span.set(**_counts(report.counters))
                observer.succeed(result, observer.clock.monotonic() - began)
                return result

        return watched

    return around


def _counts(counters: Counters) -> dict[str, object]:
    return {f"nutria.count.{name}": count for name, count in counters.most_common(60)}


@dataclass(frozen=True, slots=True)
class _PhaseObserver:
    phase: str
    crawl_dir: CrawlDir
    runner: Runner
    clock: Clock
    meter: Meter | None

    def begin(self) -> float:
        _log.info("%s begins", self.phase)
        if self.meter is not None:
            self.meter.set(metrics.PHASE_RUNNING, 1, phase=self.phase)
            for outcome in ("success", "interrupted", "nothing_to_do", "failure"):
                self.meter.add(metrics.PHASE_RUNS, 0, phase=self.phase, outcome=outcome)
        return self.clock.monotonic()

    def fail(self, error: BaseException) -> None:
        is_outcome = isinstance(error, NothingToDo)
        # as text it is printed once, by whoever handles it
        if isinstance(error, Exception) and logs.is_json():
            _log.log(
                logging.INFO if is_outcome else logging.ERROR,
                "%s ended: %s",
                self.phase,
                error,
                exc_info=not isinstance(error, CrawlError),
            )
        if self.meter is None:
            return
        self.meter.set(metrics.PHASE_RUNNING, 0, phase=self.phase)
        outcome = "nothing_to_do" if is_outcome else "failure"
        self.meter.add(metrics.PHASE_RUNS, phase=self.phase, outcome=outcome)
        if not is_outcome:
            self.meter.set(metrics.PHASE_LAST_FAILURE, self.clock.now_ms() / 1000, phase=self.phase)

    def succeed(self, result: object, seconds: float) -> None:
        report = getattr(result, "report", None)
        counters = report.counters if isinstance(report, Report) else Counters()
        _log.info(
            "%s done in %.1f s",
            self.phase,
            seconds,
            extra={"fields": {"seconds": round(seconds, 3), "counters": dict(counters)}},
        )
        meter = self.meter
        if meter is None:
            return
        if isinstance(report, Report):
            for step, spent in report.durations_s.items():
                meter.set(metrics.STEP_SECONDS, spent, phase=self.phase, step=step)
        self._count(meter, counters)
        self._tell_crawldb(meter, result)
        meter.set(metrics.PHASE_RUNNING, 0, phase=self.phase)
        if getattr(result, "complete", True) is False:
            meter.add(metrics.PHASE_RUNS, phase=self.phase, outcome="interrupted")
            return
        meter.add(metrics.PHASE_RUNS, phase=self.phase, outcome="success")
        meter.set(metrics.PHASE_SECONDS, seconds, phase=self.phase)
        meter.set(metrics.PHASE_LAST_SUCCESS, self.clock.now_ms() / 1000, phase=self.phase)

    def _count(self, meter: Meter, counters: Counters) -> None:
        for name, count in counters.items():
            if self.phase == "parse" and name.startswith("parse."):
                count_event(meter, name, count)
            elif self.phase != "fetch" or not is_measured(name):
                meter.add(metrics.PHASE_EVENTS, count, phase=self.phase, event=name)

    def _tell_crawldb(self, meter: Meter, result: object) -> None:
        snapshot = result if isinstance(result, Snapshot) else getattr(result, "snapshot", None)
        if not isinstance(snapshot, Snapshot):
            return
        meter.set(metrics.CRAWLDB_SNAPSHOT, snapshot.number)
        meter.set(metrics.CRAWLDB_BYTES, snapshot.bytes)
        if not ambient.settings().counts_crawldb:
            return
        files = largest_first(snapshot.files)
        try:
            counts = self.runner.run(
                partial(count_statuses, self.crawl_dir.crawldb.folder),
                files,
                f"{self.phase}: count by status",
            )
        except CrawlError as error:
            _log.warning("the CrawlDb's records cannot be counted: %s", error)
            return
        total = sum(counts, Counters())
        for status in DB_STATUSES:
            label = status_label(status)
            meter.set(metrics.CRAWLDB_RECORDS, total[label], status=label)
