"""Reports the progress of a task, and finds out whether the task has to end.

SEGMENT/crawl_fetch/progress/part-00003.json   the last progress report of the task
SEGMENT/crawl_fetch/STOP                       asks all tasks to end in good order: empty where the
                                               fetch is to be gone on with, else the reason
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.engine.robots_handler import ROBOTS_ON_OTHER_PART
from crawl.fetcher.frontier.pauses import current_pauses, read_pauses
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.frontier.queue_stats import LongWait, open_chains, stats_of
from crawl.fetcher.output.segment_output import SegmentOutput
from crawl.fetcher.reporting.request_times import RequestTimes
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_PROGRESS_INTERVAL
from crawl.storage.chunks import ChunkLog
from crawl.storage.folder import Folder
from crawl.storage.segments import PartFile

STOP = "crawl_fetch/STOP"
"""A Ctrl-C that tasks on all machines notice."""
PROGRESS = "crawl_fetch/progress"
INTERRUPTED = "interrupted"
TAIL = "tail"
"""What is left is a tail, which the next round takes up: the fetch is complete without it."""
SUPERSEDED = "superseded"
"""Another task has claimed the part, because this one was taken for dead."""

_WITHOUT_RECORD = ("handed_back", "outlinks_not_served", "no_host", "already_fetched_here")
"""Counters, or families of them, of URLs that were queued and have no record."""
_RESUMED = (ROBOTS_ON_OTHER_PART, INTERRUPTED, SUPERSEDED, "crashed")
"""Reasons for which another task of the same fetch will ask for them."""

_NOTICES_WITHIN_S = 1.0
"""At the most, beside the interval: a driver calls the monitor twice a second."""


_MAX_HOST_CHARS = 80
"""Characters of a host's name that are reported."""
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
_log = logging.getLogger(__name__)


def _sleep(seconds: float) -> None:
    threading.Event().wait(seconds)


def claim_part(
    log: ChunkLog,
    segment: Folder,
    part: int,
    config: Config,
    clock: Clock,
    sleep: Callable[[float], None] = _sleep,
) -> bool:
    """Claims the part; returns whether another task was at work on it before. Where that was
    until just now, waits until that one has noticed, should it live, and its servers have had
    their pause."""
    claimed_ms = log.claim(clock.now_ms())
    if claimed_ms is None:
        return False
    report = read_report(segment, part) or {}
    alive_ms = max(claimed_ms, report.get("told_ms", 0))
    pause_s = usual_pause_s(config)
    left_s = pause_s - (clock.now_ms() - alive_ms) / 1000
    if left_s > 0:
        sleep(min(left_s, pause_s))  # another machine's clock may be ahead
    return True


def usual_pause_s(config: Config) -> float:
    """How long after the last sign of life of a task its servers may be asked by another: it has
    noticed by then, should it live, and they have had their pause."""
    return (
        config[FETCHER_PROGRESS_INTERVAL] + _NOTICES_WITHIN_S + Politeness.of(config).usual.delay_s
    )


def pauses_of_previous_task(segment: Folder, part: int, now_ms: int) -> list[ServerState]:
    """The servers that the task before this one had to leave alone by its last report."""
    return read_pauses(segment.read(_progress_file(part)), now_ms)


def read_report(segment: Folder, part: int) -> dict[str, Any] | None:
    """The last report of a part; None where there is none, or none that is whole: it may be being
    written at this moment."""
    try:
        report = json.loads(segment.read(_progress_file(part)) or b"null")
    except ValueError:
        return None
    is_whole = isinstance(report, dict) and isinstance(report.get("told_ms"), int)
    return report if is_whole else None


def _progress_file(part: int) -> str:
    return f"{PROGRESS}/part-{part:05d}.json"


@dataclass(slots=True)
class TaskMonitor:
    """The monitor that a driver calls now and then. At its end, as a context, a last report is
    written."""

    output: SegmentOutput
    file: PartFile
    config: Config
    clock: Clock
    earlier_records: int
    """URLs that had a record before it began."""
    times: RequestTimes = field(default_factory=RequestTimes)
    followed: int = 0
    """Of those that had one, URLs that are not on the list."""
    _messenger: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _usual_pause_s: float = field(init=False)
    _next: float = 0.0
    _last: tuple[float, int, int] = field(init=False)
    _answer: Future[str] | None = None
    _engine: FetchEngine | None = None

    def __post_init__(self) -> None:
        self._usual_pause_s = usual_pause_s(self.config)
        self._last = (self.clock.monotonic(), 0, 0)

    def __enter__(self) -> TaskMonitor:
        return self

    def __exit__(self, *exception: object) -> None:
        """Writes a last report, when nothing is under way any more."""
        with self._messenger:
            if self._engine is not None:
                now = self.clock.monotonic()
                rates = {"pages_per_s": 0.0, "kb_per_s": 0.0}  # nothing is fetched any more
                last = {**self._progress(self._engine, 0, now), **rates, "ended": True}
                self._messenger.submit(self._exchange, last)

    def __call__(self, engine: FetchEngine, busy: int) -> str:
        """Called under the engine's lock: the store, which may be slow, is asked by another
        thread, and its answer is taken at the next call."""
        self._engine = engine
        self.output.commit_point(self.clock.monotonic())
        if self._answer is not None:
            if not self._answer.done():
                return ""
            reason, self._answer = self._answer.result(), None
            if reason:
                return reason
        now = self.clock.monotonic()
        if now >= self._next:
            self._next = now + self.config[FETCHER_PROGRESS_INTERVAL]
            self._answer = self._messenger.submit(self._exchange, self._progress(engine, busy, now))
        return ""

    def _progress(self, engine: FetchEngine, busy: int, now: float) -> dict[str, Any]:
        pages, amount = engine.counters["records"], engine.counters["bytes"]
        then, pages_then, amount_then = self._last
        self._last = (now, pages, amount)
        spent = max(now - then, 1e-3)
        stats = stats_of(engine.queues, now)
        chains = open_chains(engine.queues, now)
        followed = self.followed + followed_count(engine.counters)
        settled = self.earlier_records + settled_count(engine.counters)
        return {
            "part": self.file.part,
            "urls": self.file.rows,
            "followed": followed,
            # a thread that hangs counts as a URL, and may have asked for a robots.txt
            "done": min(settled, self.file.rows + followed),
            "pages_per_s": round((pages - pages_then) / spent, 1),
            "kb_per_s": round((amount - amount_then) / spent / 1000, 1),
            "busy_threads": busy,
            "waiting": engine.queues.waiting,
            "queues": len(engine.queues),
            "queues_ready": stats.ready,
            "queues_waiting": stats.waiting,
            "queues_awaiting_robots": stats.awaiting_robots,
            "queues_backed_off": stats.backed_off,
            "longest_queue_s": round(stats.serial_s, 1),
            "servers_busy": chains.busy,
            "longest_chain_s": round(chains.longest_s, 1),
            "waits": [self._long_wait(wait, now) for wait in stats.waits],
            "errors": _errors(engine.counters),
            "counters": {**engine.counters, **self.output.parse_counters},
            "request_times": {"counts": list(self.times.counts), "ms": self.times.total_ms},
            "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT,
            "paused": current_pauses(engine.queues, now, self._usual_pause_s),
            "run": self.output.log.token,
            "told_ms": self.clock.now_ms(),
        }

    def _long_wait(self, wait: LongWait, now: float) -> dict[str, Any]:
        until_ms = self.clock.now_ms() + round((wait.until - now) * 1000)
        return {"host": wait.host[:_MAX_HOST_CHARS], "why": wait.reason, "until_ms": until_ms}

    def _exchange(self, progress: dict[str, Any]) -> str:
        """Writes the report; returns why the task has to end, if it has."""
        try:
            if not self.output.log.is_ours():
                _log.warning("another task has claimed this part: this one ends")
                return SUPERSEDED
            self.output.segment.write(_progress_file(self.file.part), json.dumps(progress).encode())
            return stop_reason(self.output.segment)
        except StorageError as error:
            _log.warning("cannot write the progress of the part: %s", error)
            return ""  # a passing fault of the store: a lasting one shows when pages are written


def stop_reason(segment: Folder) -> str:
    """Why all tasks of the segment's fetch are to end; empty where they are not."""
    raw = segment.read(STOP)
    if raw is None:
        return ""
    return TAIL if raw == TAIL.encode() else INTERRUPTED


def request_tail_end(segment: Folder) -> None:
    """Has all tasks end and hand back what is left; nothing where somebody else stops them."""
    segment.create(STOP, TAIL.encode())


def followed_count(counters: Mapping[str, int]) -> int:
    """How many URLs were queued that were not on the list."""
    return sum(
        counters.get(name, 0)
        for name in ("redirects_followed", "outlinks_followed", "followed_again")
    )


def settled_count(counters: Mapping[str, int]) -> int:
    """How many URLs, of the list or followed, this task is done with: they have a record, or
    are left for later. A redirect's target that was not queued has a record but is none of
    them."""
    settled = counters.get("records", 0) - counters.get("redirects_left_for_later", 0)
    for name, count in counters.items():
        family, _, reason = name.partition(".")
        if family in _WITHOUT_RECORD and reason not in _RESUMED:
            settled += count
    return settled


def _errors(counters: Counters) -> dict[str, int]:
    """Answers that are no pages, by kind: `http_503`, `connect_timeout`."""
    return {
        kind: count
        for name, count in counters.items()
        if (kind := name.removeprefix("answers.")) != name
        and not kind.startswith(("http_2", "http_3"))
    }
