"""Asks some servers for their sitemaps: the work of one task, through the fetch engine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache, partial

from crawl.config.properties import FETCHER_THREADS_FETCH, SITEMAP_REDIR_MAX, SITEMAP_SIZE_MAX
from crawl.counters import Counters
from crawl.fetcher.drivers.protocols import Protocols
from crawl.fetcher.drivers.threaded import ThreadedDriver
from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.engine.robots_handler import ROBOTS_ON_OTHER_PART
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.hand_over import (
    KnownRobots,
    KnownServers,
    read_server_states,
    write_server_states,
)
from crawl.fetcher.values.hooks import EngineHooks, KnownServer
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_HANG, FetchSettings
from crawl.model.arrow import strings
from crawl.net.dns import HostResolver
from crawl.phases.sitemap.tasks.deal import first_address, key_of_server
from crawl.phases.sitemap.tasks.scratch_files import (
    Note,
    Topic,
    sources_table,
    to_sources,
    write_notes,
    write_states,
)
from crawl.phases.sitemap.tasks.session import ROBOTS_READ, SitemapSession
from crawl.phases.sitemap.tasks.values import (
    SitemapFindings,
    SitemapJob,
    SitemapList,
    SitemapSource,
    SitemapTask,
    SitemapTaskResult,
    SiteUsage,
)
from crawl.storage.layout import bucket_of
from crawl.storage.row_files import read_rows, write_rows
from crawl.urls.parse import host_of

_COUNTER_NAMES = {
    "outlinks_followed": "sitemaps_followed",
    "outlinks_not_followed.": "sitemaps_not_followed.",
    "outlinks_not_served.": "sitemaps_not_asked.",
    "handed_back.": "sitemaps_not_asked.",
}
"""To the engine, a sitemap that another names is a link that is followed."""


def read_sitemaps(job: SitemapJob, file: SitemapList) -> SitemapTaskResult:
    """Asks for all sources of a list, and for the sitemaps that they lead to."""
    task = _task(job, file)
    limit = {"http.content.limit": job.config[SITEMAP_SIZE_MAX]}
    config = job.config.with_values(limit, SITEMAP_SIZE_MAX.name)
    with closing(Protocols(job.protocols, config)) as protocols:
        engine, session = sitemap_engine(job, task, protocols.resolver)
        driver = ThreadedDriver(
            engine,
            protocols.fetch,
            config[FETCHER_THREADS_FETCH],
            job.clock,
            hang_s=config[FETCHER_HANG],
            transfers=protocols.transfers(),
        )
        driver.run()
        engine.finish()
    return _result(engine, session, job, task)


def sitemap_engine(
    job: SitemapJob, task: SitemapTask, resolver: HostResolver
) -> tuple[FetchEngine, SitemapSession]:
    """The engine of a task, and what it works for."""
    config = job.config

    key_of = key_of_server(config, resolver)
    pauses = EarlierPauses(job, task.number, is_alone=task.is_alone)
    handed_over = job.handed_over
    known_servers = KnownServers(handed_over.servers, job.clock, handed_over.pauses)

    @cache
    def others_servers() -> frozenset[str]:
        """The servers of the wave's other tasks. Their lists are read when first asked about: a
        robots.txt that redirects to another host is rare."""
        names = [each.name for each in job.lists if each.number != task.number]
        lists = (read_rows(job.scratch, name) for name in names)
        return frozenset[str]().union(*(strings(each["server"]) for each in lists))

    def owns_server(key: str) -> bool:
        return task.is_alone or key in task.server_keys

    session = SitemapSession(job, task, lambda url: owns_server(key_of(host_of(url) or "")))
    settings = replace(
        FetchSettings.of(config),
        store_content=True,
        store_robots=False,
        redirect_max=config[SITEMAP_REDIR_MAX],
        redirect_exceeded_skip=True,
    )
    hosts = {host_of(source.url) or "" for source in task.sources}
    known_robots = KnownRobots(job.handed_over.robots, hosts, settings.robots_keep_s, job.clock)
    has_ip_delay = Politeness.of(config).ip_delay_s > 0
    hooks = EngineHooks(
        key_of=key_of,
        clock=job.clock,
        rng=random.Random(0),
        accept_target=session.accept_target,
        owns_server=owns_server,
        is_other_parts_server=lambda key: not owns_server(key) and key in others_servers(),
        address_of=partial(first_address, resolver) if has_ip_delay else None,
        known_robots=known_robots.take,
        known_server=lambda key: pauses.take(key) or known_servers.take(key),
        why_left_out=session.why_left_out,
    )
    deadline = None
    if job.deadline_ms is not None:
        deadline = job.clock.monotonic() + (job.deadline_ms - job.clock.now_ms()) / 1000
    engine = FetchEngine(
        session.listed(), settings, Politeness.of(config), hooks, session, deadline=deadline
    )
    engine.queues.keep_pauses(pauses.own, job.clock.monotonic())
    return engine, session


def _task(job: SitemapJob, file: SitemapList) -> SitemapTask:
    """A list as it was written. Where several rows tell what was read for a site, the highest
    numbers count: each of them is what one task knows."""
    sources: list[SitemapSource] = []
    keys: set[str] = set()
    usage: dict[str, SiteUsage] = {}
    for source, used, server in to_sources(read_rows(job.scratch, file.name)):
        sources.append(source)
        keys.add(server)
        other = usage.get(source.site, used)
        usage[source.site] = SiteUsage(
            max(used.sitemaps, other.sitemaps), max(used.urls, other.urls)
        )
    is_alone = len(job.lists) == 1
    return SitemapTask(file.number, tuple(sources), frozenset(keys), is_alone, usage)


class EarlierPauses:
    """The pauses that servers are owed for what earlier waves asked of them, as a task takes them
    up: those of its own servers at once, those of others when it meets one."""

    def __init__(self, job: SitemapJob, number: int, *, is_alone: bool) -> None:
        """A task that is alone may ask any server, so that all are its own."""
        self._job = job
        numbers = range(len(job.pauses)) if is_alone else [number]
        self._read: dict[int, dict[str, ServerState]] = {}
        self.own = [state for number in numbers for state in self._states(number).values()]
        """Those that the engine has from the beginning."""
        self._read = {number: {} for number in numbers}

    def take(self, key: str) -> KnownServer | None:
        """What a server of another destination is owed, in the engine's time; once."""
        if not self._job.pauses:
            return None
        state = self._states(bucket_of(key, len(self._job.pauses))).pop(key, None)
        if state is None:
            return None
        ready_at = self._job.clock.monotonic() + state.pause_s
        return KnownServer(ready_at, state.exceptions, state.min_delay_s, state.wait_reason)

    def _states(self, number: int) -> dict[str, ServerState]:
        if number not in self._read:
            pieces = [piece for piece in self._job.pauses[number : number + 1] if piece is not None]
            states = read_server_states(self._job.scratch, pieces, self._job.clock.now_ms())
            self._read[number] = {state.key: state for state in states}
        return self._read[number]


def _result(
    engine: FetchEngine, session: SitemapSession, job: SitemapJob, task: SitemapTask
) -> SitemapTaskResult:
    """The result of a task whose engine is done; what it found by name is written."""
    findings = session.finish(engine.cross_part_authorities)
    counters = Counters()
    for name, count in session.counters.items():
        prefix = next((prefix for prefix in _COUNTER_NAMES if name.startswith(prefix)), "")
        counters[_COUNTER_NAMES.get(prefix, "") + name.removeprefix(prefix)] += count
    del counters[f"sitemaps_not_asked.{ROBOTS_READ}"]
    del counters[f"sitemaps_not_asked.{ROBOTS_ON_OTHER_PART}"]  # they come again
    states = engine.queues.server_states(job.clock.monotonic())
    onward = [
        (source, findings.usage.get(source.site, SiteUsage()), "")
        for source in (*findings.elsewhere, *findings.cross_part)
    ]
    return SitemapTaskResult(
        counters,
        session.samples,
        tuple(session.rows.files),
        tuple(session.rows.unproved_files),
        write_rows(job.scratch, "sources", sources_table(onward)) if onward else None,
        bool(findings.cross_part),
        write_notes(job.scratch, _notes(task, findings)),
        len(findings.unproved),
        write_states(job.scratch, findings.states, job.now_ms),
        tuple(findings.robots),
        write_server_states(job.scratch, task.number, states, job.clock),
    )


def _notes(task: SitemapTask, findings: SitemapFindings) -> Iterator[Note]:
    again = {source.url for source in findings.cross_part}
    asked = {source.url for source in task.sources if source.url not in again}
    for url in sorted(asked | findings.scopes.keys()):
        yield Topic.ASKED, url, "", 0
    for url, scopes in findings.scopes.items():
        for scope in sorted(scopes):
            yield Topic.SCOPE, url, scope, 0
    for host, sitemap in findings.named:
        yield Topic.SCOPE, sitemap, host, 0
    for source, sitemap in sorted(findings.links):
        yield Topic.LINK, source, sitemap, 0
    for host in sorted(findings.robots_read):
        yield Topic.ROBOTS_READ, host, "", 0
    for host, (origin, count) in findings.unproved.items():
        yield Topic.UNPROVED, host, origin, count
