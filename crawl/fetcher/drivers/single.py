"""Fetches one URL after the other as a crawl would, for people who want to look at a page.

The engine decides over each request, so that robots.txt, pauses and address rules hold as
they do for a crawl. In one thing it is less patient: a host whose robots.txt cannot be had is
not waited for, but asked again when one of its URLs is wanted later. And a page may be
fetched as often as somebody wants to see it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.drivers.protocols import ask
from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.fetcher.frontier.queue import Idle
from crawl.fetcher.values.hooks import EngineHooks, address_lookup, queue_keys, url_acceptance
from crawl.fetcher.values.item import Purpose
from crawl.fetcher.values.output_port import MemoryOutput
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.record import FetchRecord
from crawl.fetcher.values.settings import FetchSettings, is_at_or_below
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.protocol import Failure, Request, Response
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.net.dns import HostResolver
from crawl.robots.answer import Deferred, rules_from_answer
from crawl.robots.rules import Basis, RobotRules, allow_all
from crawl.urls.parse import authority_of, host_of

_REASON_COUNTERS = ("handed_back.", "redirects_dropped.", "no_host", "already_fetched_here")
"""Beginnings of the counters that say why a URL has no record."""

MAX_ROBOTS_ANSWERS = 1000
"""Authorities whose robots.txt is kept to be shown: somebody may ask for weeks."""


@dataclass(frozen=True, slots=True)
class FetchEnvironment:
    """How requests are sent, and how time passes: the network and the clock, or a test's."""

    fetch: Callable[[Request], Response | Failure]
    clock: Clock
    sleep: Callable[[float], None]
    on_pause: Callable[[str, float], None] = lambda url, seconds: None
    """Called before a pause with the URL that has to wait, and for how long."""


@dataclass(frozen=True, slots=True)
class PageVisit:
    """What became of one URL."""

    url: str
    records: tuple[FetchRecord, ...]
    """Its own and those of the redirects that were followed; a last one that is `linked`
    is a redirect's target that was not. Empty where it was not fetched."""
    rules: RobotRules | Deferred | None
    """Of the host that was asked last; None where no robots.txt was asked for, or so long ago
    that it is not kept."""
    reasons: tuple[str, ...] = ()
    """Why it, or a redirect's target, was not fetched: names of the fetch's counters."""

    @property
    def pages(self) -> tuple[FetchRecord, ...]:
        """The records of what was asked for, without a redirect's target that was not."""
        return tuple(each for each in self.records if each.datum.status is not Status.LINKED)

    @property
    def content(self) -> Content | None:
        """What was got in the end."""
        return self.pages[-1].content if self.pages else None


def robots_rules_for(
    url: str, config: Config, environment: FetchEnvironment, agents: tuple[str, ...] | None = None
) -> RobotRules | Deferred:
    """Returns what the robots.txt of the URL's host says to the crawler, or to other `agents`;
    the page itself is not asked for."""
    fetcher = PageFetcher(config, environment, redirects=0, agents=agents)
    fetcher.ask_for(url, {}, pages=False)
    return fetcher.rules_of(url) or allow_all(Basis.EXEMPT)


def is_allowlisted(url: str, exempt: frozenset[str]) -> bool:
    """Whether the URL's host, or one above it, is among those whose robots.txt need not be
    asked for (`FetchSettings.robots_exempt`)."""
    return is_at_or_below(host_of(url) or "", exempt)


@dataclass(slots=True)
class PageFetcher:
    """Runs an engine by hand, one URL after the other: pauses are kept between those of a host."""

    config: Config
    environment: FetchEnvironment
    redirects: int
    agents: tuple[str, ...] | None = None
    """Whose rules are looked for; None for the configured names."""
    _output: MemoryOutput = field(default_factory=MemoryOutput)
    _answers: dict[str, Response | Failure] = field(default_factory=dict)
    """The last answer for an authority's robots.txt, the oldest first."""
    _settings: FetchSettings = field(init=False)
    _engine: FetchEngine = field(init=False)

    def __post_init__(self) -> None:
        usual = FetchSettings.of(self.config)
        agents = usual.robots.agents if self.agents is None else self.agents
        self._settings = replace(
            usual,
            threads=1,
            store_content=True,
            redirect_max=self.redirects,
            robots=replace(usual.robots, agents=agents),
            robots_defer_retries=0,
            leave_alone_s=usual.robots_defer_s,
            tail_wait_s=math.inf,
            tail_silence_s=math.inf,
        )
        self._engine = FetchEngine(
            iter(()), self._settings, Politeness.of(self.config), self._hooks(), self._output
        )

    def visit(self, url: str, metadata: Mapping[str, str] | None = None) -> PageVisit:
        """Fetches the page, and those that it redirects to."""
        self._output.clear()
        before = Counters(self._engine.counters)
        self.ask_for(url, metadata or {})
        records = tuple(self._output.records)
        rules = self.rules_of(records[-1].url if records else url)
        return PageVisit(url, records, rules, self._reasons_since(before))

    def ask_for(self, url: str, metadata: Mapping[str, str], *, pages: bool = True) -> None:
        """Sends what requests it takes; without `pages`, those for robots.txt alone."""
        clock, engine = self.environment.clock, self._engine
        now_ms = clock.now_ms()
        datum = CrawlDatum(Status.DB_UNFETCHED, now_ms, score=1.0, metadata=dict(metadata))
        at = clock.monotonic()
        engine.forget_seen()  # somebody may want to see a page again
        engine.add(url, datum, at)
        while (step := engine.next_request(at)) is not None:
            if isinstance(step, Idle):
                # nothing is under way, so that there always is such a moment
                at = step.until if step.until is not None else at
                continue
            if not pages and step.item.purpose is Purpose.PAGE:
                return
            self._wait(step, at)
            answer = ask(self.environment.fetch, step.request, clock)
            at = clock.monotonic()
            engine.handle(step, answer, at)
            engine.commit_point(at)
            if step.item.purpose is Purpose.ROBOTS:
                self._keep(step.item.robots_for, answer)

    def _keep(self, authority: str, answer: Response | Failure) -> None:
        self._answers.pop(authority, None)
        self._answers[authority] = answer
        if len(self._answers) > MAX_ROBOTS_ANSWERS:
            del self._answers[next(iter(self._answers))]

    def _wait(self, work: ReadyRequest, at: float) -> None:
        seconds = at - self.environment.clock.monotonic()
        if seconds > 0:
            self.environment.on_pause(work.request.url, seconds)
            self.environment.sleep(seconds)

    def rules_of(self, url: str) -> RobotRules | Deferred | None:
        answer = self._answers.get(authority_of(url) or "")
        if answer is None:
            return None
        return rules_from_answer(answer, self._settings.robots, self.environment.clock.now_ms())

    def _reasons_since(self, before: Counters) -> tuple[str, ...]:
        return tuple(
            name
            for name, count in sorted(self._engine.counters.items())
            if name.startswith(_REASON_COUNTERS) and count > before[name]
        )

    def _hooks(self) -> EngineHooks:
        config = self.config
        normalizers = NormalizerChain.from_config(config, Scope.FETCHER)
        address_of = address_lookup(HostResolver(config))
        return EngineHooks(
            key_of=queue_keys(config, address_of),
            clock=self.environment.clock,
            rng=random.Random(0),
            accept_target=url_acceptance(normalizers, FilterChain.from_config(config)),
            address_of=address_of if Politeness.of(config).ip_delay_s > 0 else None,
        )
