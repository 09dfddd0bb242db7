"""The loop over a crawl's rounds on one Runner: it does the step that the crawl's folder calls for,
until something ends it. All its state is in that folder, so that it may die anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from crawl.buckets.runner import Runner
from crawl.clock import Clock
from crawl.config import Config, Property
from crawl.config.config import DEFAULT_ORIGIN
from crawl.config.properties import FETCHER_THREADS_FETCH
from crawl.counters import Counters
from crawl.errors import EnvironmentFault, NothingToDo
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_PARSE, FETCHER_TIMELIMIT
from crawl.phases import fetch, generate, inject, parse, updatedb
from crawl.phases.fetch import FetchOptions
from crawl.phases.generate import GenerateOptions
from crawl.phases.inject import InjectOptions
from crawl.phases.parse import ParseOptions
from crawl.phases.updatedb import UpdateDbOptions
from crawl.rounds import (
    STOP_FILE,
    LoopOptions,
    NextStep,
    Round,
    RoundOptions,
    Step,
    StopReason,
    build_round,
    inject_step,
    next_step,
)
from crawl.rounds.results import LoopResult, RoundResult
from crawl.rounds.state import segment_states
from crawl.rules.updatedb import Event
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, PARSE, Segment
from crawl.telemetry.ambient import meter
from crawl.telemetry.context import in_context
from crawl.telemetry.metrics import ROUND
from crawl.urls.partition import Resolver

T = TypeVar("T", int, float)

_STOP_CHECK_S = 5.0
"""How often a wait looks whether the loop is to end."""


class RoundObserver(Protocol):
    """Is informed of the steps and rounds of a loop."""

    def on_step(self, step: Step, segments: tuple[str, ...]) -> None:
        """A step begins."""

    def on_remark(self, step: Step, line: str) -> None:
        """A line for the user."""

    def on_round(self, done: RoundResult) -> None:
        """A round is closed."""

    def on_wait(self, seconds: float) -> None:
        """Nothing is due, and the loop waits."""


def check(config: Config, options: RoundOptions, seeds: tuple[str, ...]) -> None:
    """Raises what is wrong with the settings of any step, before anything is started."""
    if seeds:
        inject.check(config, InjectOptions(seeds))
    generate.check(config, GenerateOptions(top_n=options.top_n))
    fetch.check(fetch_config(config, options))
    parse.check(config)
    updatedb.check(config)


def round_options(
    config: Config,
    *,
    top_n: int,
    num_fetchers: int | None = None,
    threads: int | None = None,
    time_limit_min: float | None = None,
) -> RoundOptions:
    """The options of a round: the given ones, else the configured ones, else the defaults."""
    usual = RoundOptions()
    return RoundOptions(
        top_n=top_n,
        num_fetchers=num_fetchers,
        threads=_first_of(threads, config, FETCHER_THREADS_FETCH, usual.threads),
        time_limit_min=_first_of(time_limit_min, config, FETCHER_TIMELIMIT, usual.time_limit_min),
        parses_in_fetch=config[FETCHER_PARSE],
    )


def _first_of(option: T | None, config: Config, setting: Property[T], usual: T) -> T:
    """What the option says, else what somebody configured, else what is usual for rounds."""
    if option is not None:
        return option
    return usual if config.origin(setting) == DEFAULT_ORIGIN else config[setting]


def fetch_config(config: Config, options: RoundOptions) -> Config:
    """The settings of a round's fetch."""
    return config.with_values(
        {
            "fetcher.threads.fetch": options.threads,
            "fetcher.timelimit.mins": options.time_limit_min,
        },
        "crawl run",
    )


@dataclass(slots=True)
class RoundLoop:
    """Runs rounds, from wherever the crawl stands."""

    runner: Runner
    directory: CrawlDir
    config: Config
    options: RoundOptions
    loop: LoopOptions
    clock: Clock
    observer: RoundObserver
    resolver: Resolver
    sleep: Callable[[float], None]
    interrupted: Callable[[], bool] = lambda: False
    """Whether the user wants it to end; called between the steps, and by the fetch."""
    fetching: Callable[[Segment], AbstractContextManager[object]] = nullcontext
    """Entered for the fetch of a segment, which can be asked to end."""
    parsing: Callable[[Segment], AbstractContextManager[object]] = nullcontext
    """Entered for the parse of a segment."""
    force: bool = False
    rounds: list[RoundResult] = field(default_factory=list, init=False)
    """The rounds that were closed so far."""
    _round: Round = field(init=False)
    _idle: int = field(default=0, init=False)
    """Rounds in which nothing was due."""
    _seconds: dict[str, float] = field(default_factory=dict, init=False)
    _last: NextStep | None = field(default=None, init=False)
    _fetched_at: float = field(default=-math.inf, init=False)
    """When the last fetch ended, by the clock that never runs backwards."""
    _hosts_waiting: int = field(default=0, init=False)
    _next_host_ms: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._round = build_round(self.options)

    def run(self, seeds: tuple[str, ...] = ()) -> LoopResult:
        """Injects the seeds, if there are any, and runs rounds until the loop ends."""
        stop = self._stop_requested()
        if stop is None and seeds:
            self._inject(seeds)
        while stop is None:
            stop = self._stop_requested() or self._run_next_step()
        return LoopResult(stop, tuple(self.rounds), self._hosts_waiting, self._next_host_ms)

    def _stop_requested(self) -> StopReason | None:
        if self.interrupted():
            return StopReason.INTERRUPTED
        return StopReason.STOP_FILE if self.directory.folder.exists(STOP_FILE) else None

    def _run_next_step(self) -> StopReason | None:
        due = next_step(segment_states(self.directory), self._round)
        if due.step is self._round.generate:
            return self._rounds_done() or self._generate(due)
        if due == self._last:
            names = ", ".join(due.segments)
            raise EnvironmentFault(f"{due.step.name} of {names} left it as it was")
        self._last = due
        if due.step is self._round.fetch:
            return self._fetch(due)
        if due.step is self._round.parse:
            return self._parse(due)
        return self._update(due)

    def _rounds_done(self) -> StopReason | None:
        return self.loop.ends(len(self.rounds) + self._idle)

    def _inject(self, seeds: tuple[str, ...]) -> None:
        options = InjectOptions(seeds, force=self.force)
        due = NextStep(inject_step(seeds))
        try:
            with self._timed(due):
                done = inject.run(self.runner, self.directory, self.config, options, self.clock)
        except NothingToDo as nothing:
            known = self.directory.crawldb.current()
            if known is None or not known.rows:
                raise
            # the seeds brought nothing new, but there is a CrawlDb to run rounds on
            self._remark(due, str(nothing))
        else:
            self._remark(due, done.took_over)

    def _generate(self, due: NextStep) -> StopReason | None:
        options = GenerateOptions(
            top_n=self.options.top_n,
            num_fetchers=self.options.num_fetchers or 1,
            force=self.force,
        )
        with self._timed(due):
            done = generate.run(
                self.runner,
                self.directory,
                self.config,
                options,
                self.clock,
                resolver=self.resolver,
            )
        self._remark(due, done.took_over)
        self._hosts_waiting = done.report.counters["hosts_waiting"]
        self._next_host_ms = done.next_host_ms
        if done.segments:
            return None
        self._idle += 1
        return self._wait_or_stop(StopReason.NOTHING_DUE)

    def _wait_or_stop(self, reason: StopReason) -> StopReason | None:
        """Waits for something to be due, or ends where no wait is wanted."""
        if self.loop.wait_s is None:
            return reason
        if self._rounds_done() is None:
            wait_s = self.loop.wait_s
            if self._next_host_ms is not None:
                wait_s = min(wait_s, max(0.0, (self._next_host_ms - self.clock.now_ms()) / 1000))
            self.observer.on_wait(wait_s)
            return self._pause(self.clock.monotonic() + wait_s)
        return None

    def _fetch(self, due: NextStep) -> StopReason | None:
        (name,) = due.segments
        config = fetch_config(self.config, self.options)
        is_last = self.loop.ends(len(self.rounds) + self._idle + 1) is not None
        options = FetchOptions(name, self.force, more_rounds=not is_last)
        # the servers that the last round asked at its end are asked first now, perhaps
        stop = self._pause(self._fetched_at + Politeness.of(config).usual.delay_s)
        if stop is not None:
            return stop
        with self._timed(due), self.fetching(self.directory.segments.segment(name)):
            done = fetch.run(
                self.runner, self.directory, config, options, self.clock, self.interrupted
            )
        self._fetched_at = self.clock.monotonic()
        self._remark(due, done.took_over)
        return None if done.complete else StopReason.INTERRUPTED

    def _parse(self, due: NextStep) -> StopReason | None:
        (name,) = due.segments
        options = ParseOptions(segment=name, force=self.force)
        with self._timed(due), self.parsing(self.directory.segments.segment(name)):
            done = parse.run(self.runner, self.directory, self.config, options, self.clock)
        self._remark(due, done.took_over)
        return None

    def _update(self, due: NextStep) -> StopReason | None:
        options = UpdateDbOptions(segments=due.segments, force=self.force)
        with self._timed(due):
            done = updatedb.run(self.runner, self.directory, self.config, options, self.clock)
        self._remark(due, done.took_over, *done.remarks)
        counted = done.report.counters
        records, left, seconds = self._fetched(due.segments)
        parsed = self._counted(due.segments, PARSE)
        closed = RoundResult(
            number=len(self.rounds) + 1,
            segments=due.segments,
            fetched=_total(counted, Event.FETCHED, Event.CHANGED, Event.UNPARSABLE),
            not_modified=_total(counted, Event.UNCHANGED, Event.NOT_MODIFIED),
            redirects=_total(counted, Event.MOVED, Event.MOVED_FOR_NOW),
            gone=_total(counted, Event.GONE, Event.GIVEN_UP),
            retried=_total(counted, Event.FAILED),
            left_for_later=left,
            new=counted["urls_new"],
            pages_truncated=parsed["truncated.length"],
            links_over_limit=parsed["outlinks_dropped.limit"],
            records=records,
            fetch_s=seconds,
            db_urls=done.snapshot.rows,
            db_bytes=done.snapshot.bytes,
            seconds=self._seconds,
        )
        self._seconds = {}
        self.rounds.append(closed)
        self.observer.on_round(closed)
        # hosts that are put off are left out of the next round: it has other URLs
        goes_on = closed.records or counted["hosts_put_off"]
        return None if goes_on else self._wait_or_stop(StopReason.NOTHING_FETCHED)

    def _fetched(self, names: tuple[str, ...]) -> tuple[int, int, float]:
        """Records, returned URLs and seconds of these segments' fetches, by their reports: an
        earlier process may have run them."""
        reports = [self.directory.segments.segment(name).report(FETCH) for name in names]
        counted = [
            report.get("counters") or {"records": self._rows_of(name)}
            for name, report in zip(names, reports, strict=True)
        ]
        records = sum(int(counters.get("records", 0)) for counters in counted)
        left = sum(
            int(count)
            for counters in counted
            for name, count in counters.items()
            if name.startswith("handed_back.")
        )
        seconds = sum(float(report.get("durations_s", {}).get("fetch", 0.0)) for report in reports)
        return records, left, seconds

    def _counted(self, names: tuple[str, ...], part: str) -> Counters:
        """The counters of these segments' reports on a phase, added up."""
        total = Counters()
        for name in names:
            total.update(self.directory.segments.segment(name).report(part).get("counters", {}))
        return total

    def _rows_of(self, name: str) -> int:
        """The rows of a segment's fetch, by its manifest: for a report that was lost."""
        manifest = self.directory.segments.segment(name).manifest(FETCH)
        return 0 if manifest is None else manifest.rows

    def _pause(self, until: float) -> StopReason | None:
        """Sleeps until that moment of the clock, or until the loop is to end."""
        stop = None
        while stop is None and (left := until - self.clock.monotonic()) > 0:
            self.sleep(min(left, _STOP_CHECK_S))
            stop = self._stop_requested()
        return stop

    @contextmanager
    def _timed(self, due: NextStep) -> Iterator[None]:
        """Reports that the step begins, and measures it."""
        self.observer.on_step(due.step, due.segments)
        number, figures = len(self.rounds) + 1, meter()
        if figures is not None:
            figures.set(ROUND, number)
        began = self.clock.monotonic()
        with in_context(round=number):
            yield
        spent = self.clock.monotonic() - began
        self._seconds[due.step.name] = round(self._seconds.get(due.step.name, 0.0) + spent, 3)

    def _remark(self, due: NextStep, *lines: str | None) -> None:
        for line in filter(None, lines):
            self.observer.on_remark(due.step, line)


def _total(counters: Counters, *events: Event) -> int:
    return sum(counters[event.value] for event in events)
