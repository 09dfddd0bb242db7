"""The loop over a crawl's rounds on one Runner: it does the step that the crawl's folder calls for,
until something ends it. All its state is in that folder, so that it may die anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from crawl.clock import Clock
from crawl.config import Config, Property
from crawl.config.config import DEFAULT_ORIGIN
from crawl.config.properties import (
    FETCHER_THREADS_FETCH,
    GENERATE_EXPECTED_LATENCY,
    GENERATE_MAX_COUNT,
)
from crawl.errors import EnvironmentFault, NothingToDo
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_PARSE, FETCHER_TIMELIMIT
from crawl.operations.work import Work
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.tail import last_round_costs
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.steps import Bounding
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.rounds.after import run_after
from crawl.rounds.closing import closed_round, mean_due
from crawl.rounds.events import AfterDone, RoundClosed, RoundStep, StepRemark, Waiting
from crawl.rounds.lanes import Lane
from crawl.rounds.options import RunOptions
from crawl.rounds.overlap_rules import pages_of_a_host
from crawl.rounds.results import AfterResult, LoopResult, RoundResult
from crawl.rounds.state import segment_states
from crawl.rounds.steps import (
    STOP_FILE,
    LoopOptions,
    NextStep,
    Round,
    RoundOptions,
    StopReason,
    build_round,
    inject_step,
    next_step,
    open_segments,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import Segment, is_of_service
from crawl.tables.runner import Runner
from crawl.telemetry.ambient import meter
from crawl.telemetry.context import in_context
from crawl.telemetry.metrics import ROUND
from crawl.urls.partition import Resolver

T = TypeVar("T", int, float)

_ENDS = (StopReason.ROUNDS_DONE, StopReason.NOTHING_DUE, StopReason.NOTHING_FETCHED)
"""After which something may follow the rounds: nobody asked for a stop."""
_STOP_CHECK_S = 5.0
"""How often a wait looks whether the loop is to end."""


def check(config: Config, options: RoundOptions, seeds: tuple[str, ...]) -> None:
    """Raises what is wrong with the settings of any step, before anything is started."""
    if seeds:
        inject.check(config, InjectOptions(seeds))
    generate.check(config, GenerateOptions(top_n=options.top_n))
    fetch.check(fetch_config(config, options))
    parse.check(config)
    updatedb.check(config)


def round_options(config: Config, asked: RunOptions) -> RoundOptions:
    """The options of a round: the given ones, else the configured ones, else the defaults."""
    usual = RoundOptions()
    minutes = _first_of(asked.time_limit_min, config, FETCHER_TIMELIMIT, usual.time_limit_min)
    return RoundOptions(
        top_n=asked.top_n,
        num_fetchers=asked.num_fetchers,
        threads=_first_of(asked.threads, config, FETCHER_THREADS_FETCH, usual.threads),
        time_limit_min=minutes,
        parses_in_fetch=config[FETCHER_PARSE],
        add_days=asked.add_days,
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

    work: Work
    runner: Runner
    options: RoundOptions
    loop: LoopOptions
    resolver: Resolver
    sleep: Callable[[float], None]
    interrupted: Callable[[], bool] = lambda: False
    """Whether the user wants it to end; called between the steps, and by the fetch."""
    fetching: Callable[[Segment], AbstractContextManager[object]] = nullcontext
    """Entered for the fetch of a segment, which can be asked to end."""
    parsing: Callable[[Segment], AbstractContextManager[object]] = nullcontext
    """Entered for the parse of a segment."""
    steal_lock: bool = False
    overlapping: Callable[[RoundLoop], StopReason] | None = None
    """Runs the rounds while lists are fetched (overlap.py); None where they wait for the fetch."""
    bounding: Bounding | None = None
    """Evaluates expressions over the HostDb; None where there is none."""
    count_parts: Callable[[], int] = lambda: 1
    """How many parts a list has that is made now, where the options do not say: a cluster grows
    and shrinks between rounds."""
    rounds: list[RoundResult] = field(default_factory=list, init=False)
    """The rounds that were closed so far."""
    round: Round = field(init=False)
    _idle: int = field(default=0, init=False)
    """Rounds in which nothing was due."""
    _seconds: dict[str, dict[str, float]] = field(default_factory=dict, init=False)
    """Spent on each step, by segment; what was done for none yet is the next round's."""
    _mean_due: float = field(default=0.0, init=False)
    """Due URLs of a host in the mean, when the last list was made."""
    _last: dict[str, NextStep] = field(default_factory=dict, init=False)
    """The last step of each kind."""
    _fetched_at: float = field(default=-math.inf, init=False)
    """When the last fetch ended, by the clock that never runs backwards."""
    _hosts_waiting: int = field(default=0, init=False)
    _next_host_ms: int | None = field(default=None, init=False)
    after: list[AfterResult] = field(default_factory=list, init=False)
    """What followed the rounds so far."""
    _followed: int = field(default=-1, init=False)
    """The rounds that were closed when all that follows them was last done; -1: never."""

    def __post_init__(self) -> None:
        self.round = build_round(self.options)

    def run(self, seeds: tuple[str, ...] = ()) -> LoopResult:
        """Injects the seeds, if there are any, and runs rounds until the loop ends."""
        stop = self.stop_requested()
        if stop is None and seeds:
            self._inject(seeds)
        if stop is None and self.overlapping is not None:
            stop = self.overlapping(self)
        while stop is None:
            stop = self.stop_requested() or self._run_next_step()
        if stop in _ENDS:
            stop = self._follow() or stop
        return LoopResult(
            stop, tuple(self.rounds), self._hosts_waiting, self._next_host_ms, tuple(self.after)
        )

    def _follow(self) -> StopReason | None:
        """Does what follows the rounds, unless no round was closed since it was last done; returns
        what has ended it, if anything did. A stop file ends the crawl, and so this too."""
        if self._followed == len(self.rounds):
            return None
        for step in self.loop.then:
            if (stop := self.stop_requested()) is not None:
                return stop
            self.work.observer.on_event(RoundStep(step))
            result = run_after(step, self.work, steal_lock=self.steal_lock)
            _remark(self.lane, NextStep(step), *result.remarks)
            self.after.append(result)
            self.work.observer.on_event(AfterDone(result))
        self._followed = len(self.rounds)
        return None

    def stop_requested(self) -> StopReason | None:
        if self.interrupted():
            return StopReason.INTERRUPTED
        return StopReason.STOP_FILE if self.directory.folder.exists(STOP_FILE) else None

    @property
    def lane(self) -> Lane:
        """Where steps run one after the other."""
        return Lane(self.runner, self.work.observer, self.parsing)

    @property
    def directory(self) -> CrawlDir:
        return self.work.directory

    @property
    def config(self) -> Config:
        return self.work.config

    @property
    def clock(self) -> Clock:
        return self.work.clock

    def _run_next_step(self) -> StopReason | None:
        due = next_step(segment_states(self.directory), self.round)
        if due.step is self.round.generate and (stop := self._rounds_done()) is not None:
            return stop
        return self.wait_or_stop(self.run_step(due, self.lane))

    def run_step(self, due: NextStep, lane: Lane) -> StopReason | None:
        """Runs a step; returns what speaks against another, if anything does."""
        if due.step is self.round.generate:
            return self._generate(due, lane)
        if due == self._last.get(due.step.name):
            names = ", ".join(due.segments)
            raise EnvironmentFault(f"{due.step.name} of {names} left it as it was")
        self._last[due.step.name] = due
        if due.step is self.round.fetch:
            return self._fetch(due, lane)
        if due.step is self.round.parse:
            return self._parse(due, lane)
        return self._update(due, lane)

    def _rounds_done(self) -> StopReason | None:
        return self.loop.ends(len(self.rounds) + self._idle)

    def _inject(self, seeds: tuple[str, ...]) -> None:
        options = InjectOptions(seeds, steal_lock=self.steal_lock)
        due = NextStep(inject_step(seeds))
        try:
            with self._timed(due, self.lane):
                result = inject.run(self.runner, self.directory, self.config, options, self.clock)
        except NothingToDo as nothing:
            snapshot = self.directory.crawldb.current()
            if snapshot is None or not snapshot.rows:
                raise
            # the seeds brought nothing new, but there is a CrawlDb to run rounds on
            _remark(self.lane, due, str(nothing))
        else:
            _remark(self.lane, due, result.took_over)

    def _generate(self, due: NextStep, lane: Lane) -> StopReason | None:
        options = GenerateOptions(
            top_n=self.options.top_n,
            num_fetchers=self.options.num_fetchers or self.count_parts(),
            add_days=self.options.add_days,
            steal_lock=self.steal_lock,
        )
        with self._timed(due, lane):
            result = generate.run(
                lane.runner,
                self.directory,
                self.config if self.overlapping is None else self._half_of_hosts(),
                options,
                self.clock,
                resolver=self.resolver,
                bounding=self.bounding,
                not_again=self._fetched_before() if self.options.add_days else (),
            )
        _remark(lane, due, result.took_over)
        if not self.rounds and not self._idle:  # later it is no news that nothing is due
            _remark(lane, due, *result.remarks)
        self._hosts_waiting = result.report.counters["hosts_waiting"]
        self._next_host_ms = result.next_host_ms
        if result.segments:
            self._mean_due = mean_due(result.report)
            return None
        self._idle += 1
        return StopReason.NOTHING_DUE

    def _fetched_before(self) -> tuple[str, ...]:
        """The segments of this run, and those under way. Where URLs are selected before they are
        due, those of a round would be selected again by the next: pages whose interval is shorter
        than the look ahead for ever, failed ones until they count as gone."""
        names = {name for each in self.rounds for name in each.segments}
        under_way = (each.name for each in open_segments(segment_states(self.directory)))
        return tuple(sorted({*names, *under_way}))

    def _half_of_hosts(self) -> Config:
        """The settings of a list that leaves work for the next one."""
        overhead_s = last_round_costs(self.directory, None, self.config).overhead_s
        page_s = Politeness.of(self.config).usual.delay_s + self.config[GENERATE_EXPECTED_LATENCY]
        most = pages_of_a_host(self._mean_due, overhead_s, page_s)
        limit = self.config[GENERATE_MAX_COUNT]
        if not isinstance(limit, int) or 0 < limit <= most:
            return self.config
        return self.config.with_values({"generate.max.count": most}, "crawl run")

    def wait_or_stop(self, reason: StopReason | None) -> StopReason | None:
        """Waits for something to be due where nothing is, or ends where no wait is wanted. A loop
        that waits may have no end: what follows the rounds follows each of them."""
        is_idle = reason in (StopReason.NOTHING_DUE, StopReason.NOTHING_FETCHED)
        if self.loop.wait_s is None or not (is_idle or reason is None):
            return reason
        is_closed = len(self.rounds) > max(0, self._followed)
        stop = self._follow() if is_idle or is_closed else None
        if stop is not None or not is_idle:
            return stop
        if self._rounds_done() is None:
            wait_s = self.loop.wait_s
            if self._next_host_ms is not None:
                wait_s = min(wait_s, max(0.0, (self._next_host_ms - self.clock.now_ms()) / 1000))
            self.work.observer.on_event(Waiting(wait_s))
            return self._pause(self.clock.monotonic() + wait_s)
        return None

    def _fetch(self, due: NextStep, lane: Lane) -> StopReason | None:
        (name,) = due.segments
        config = fetch_config(self.config, self.options)
        is_last = self.loop.ends(len(self.rounds) + self._idle + 1) is not None
        options = FetchOptions(name, more_rounds=not is_last, steal_lock=self.steal_lock)
        # the servers that the last round asked at its end are asked first now, perhaps
        stop = self._pause(self._fetched_at + Politeness.of(config).usual.delay_s)
        if stop is not None:
            return stop
        with self._timed(due, lane), self.fetching(self.directory.segments.segment(name)):
            result = fetch.run(
                lane.runner, self.directory, config, options, self.clock, self.interrupted
            )
        self._fetched_at = self.clock.monotonic()
        _remark(lane, due, result.took_over, *result.remarks)
        return None if result.complete else StopReason.INTERRUPTED

    def _parse(self, due: NextStep, lane: Lane) -> StopReason | None:
        (name,) = due.segments
        options = ParseOptions(segment=name, steal_lock=self.steal_lock)
        with self._timed(due, lane), lane.parsing(self.directory.segments.segment(name)):
            result = parse.run(lane.runner, self.directory, self.config, options, self.clock)
        _remark(lane, due, result.took_over, *result.remarks)
        return None

    def _update(self, due: NextStep, lane: Lane) -> StopReason | None:
        options = UpdateDbOptions(segments=due.segments, steal_lock=self.steal_lock)
        with self._timed(due, lane):
            result = updatedb.run(lane.runner, self.directory, self.config, options, self.clock)
        _remark(lane, due, result.took_over, *result.remarks)
        if all(map(is_of_service, due.segments)):
            self._seconds.setdefault("", {}).update(self._take_seconds(due.segments))
            return None  # what a service has fetched meanwhile is no round
        number, seconds = len(self.rounds) + 1, self._take_seconds(due.segments)
        closed = closed_round(self.directory, number, result, seconds)
        self.rounds.append(closed)
        lane.observer.on_event(RoundClosed(closed))
        # hosts that are put off are left out of the next round: it has other URLs
        goes_on = closed.records or result.report.counters["hosts_put_off"]
        return None if goes_on else StopReason.NOTHING_FETCHED

    def _pause(self, until: float) -> StopReason | None:
        """Sleeps until that moment of the clock, or until the loop is to end."""
        stop = None
        while stop is None and (rest_s := until - self.clock.monotonic()) > 0:
            self.sleep(min(rest_s, _STOP_CHECK_S))
            stop = self.stop_requested()
        return stop

    @contextmanager
    def _timed(self, due: NextStep, lane: Lane) -> Iterator[None]:
        """Reports that the step begins, and measures it."""
        lane.observer.on_event(RoundStep(due.step, due.segments))
        number, figures = len(self.rounds) + 1, meter()
        if figures is not None:
            figures.set(ROUND, number)
        began = self.clock.monotonic()
        with in_context(round=number):
            yield
        spent = self._seconds.setdefault(due.segments[0] if due.segments else "", {})
        seconds = spent.get(due.step.name, 0.0) + self.clock.monotonic() - began
        spent[due.step.name] = round(seconds, 3)

    def _take_seconds(self, names: tuple[str, ...]) -> dict[str, float]:
        """Spent on the round of these segments, and on what was for none."""
        totals: dict[str, float] = {}
        for name in ("", *names):
            for step, seconds in self._seconds.pop(name, {}).items():
                totals[step] = round(totals.get(step, 0.0) + seconds, 3)
        return totals


def _remark(lane: Lane, due: NextStep, *lines: str | None) -> None:
    for line in filter(None, lines):
        lane.observer.on_event(StepRemark(due.step, line))
