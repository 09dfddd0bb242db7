"""Waves of reading sitemaps: a task asks none but its own servers, and what it finds named on
others is read by the next wave."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from crawl.buckets.runner import Runner
from crawl.buckets.sitemap.task import read_sitemaps
from crawl.buckets.sitemap.values import (
    SitemapJob,
    SitemapSource,
    SitemapTask,
    SitemapTaskResult,
    SiteState,
    SiteUsage,
    SourceKind,
)
from crawl.config.properties import (
    REPORT_SAMPLES,
    SITEMAP_MAX_CROSS_HOSTS,
)
from crawl.fetcher.frontier.pauses import strictest
from crawl.fetcher.frontier.queues import ServerState
from crawl.fetcher.hand_over import write_server_states
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_QUEUE_MODE
from crawl.model.report import Report
from crawl.net.dns import HostResolver
from crawl.phases.hand_over import HandOverTask
from crawl.rules.sitemap import joined_scopes
from crawl.storage.chunks import Piece
from crawl.urls.parse import host_of
from crawl.urls.partition import Partitioner, PartitionMode


def site_source(origin: str, host: str, kind: SourceKind = SourceKind.SITE) -> SitemapSource:
    """The sitemaps that a site says it has."""
    return SitemapSource(f"{origin}/robots.txt", host, kind)


@dataclass(slots=True)
class SitemapWaves:
    """Reads sources in waves, until no task names a sitemap on another's server."""

    runner: Runner
    job: SitemapJob
    num_tasks: int
    report: Report
    files: list[str] = field(default_factory=list)
    states: dict[str, SiteState] = field(default_factory=dict)
    """By site, what became of its sitemaps."""
    _asked: set[str] = field(default_factory=set)
    _usage: dict[str, SiteUsage] = field(default_factory=dict)
    _servers: dict[str, ServerState] = field(default_factory=dict)
    _scopes: dict[str, frozenset[str]] = field(default_factory=dict)
    _links: set[tuple[str, str]] = field(default_factory=set)
    _named: dict[str, set[str]] = field(default_factory=dict)
    _robots_read: set[str] = field(default_factory=set)
    _unproved: dict[str, tuple[str, int]] = field(default_factory=dict)
    _robots: list[Piece] = field(default_factory=list)

    def handed_over_task(self) -> HandOverTask:
        """What was learnt of servers, for later fetches."""
        scratch = self.job.scratch
        servers = write_server_states(scratch, 0, self._servers.values(), self.job.clock)
        return HandOverTask(0, scratch, tuple(self._robots), scratch, servers)

    def read(self, sources: list[SitemapSource]) -> None:
        """Reads the sources and all that they lead to: no more waves than there may be indexes
        below each other, and one for robots.txt files that are on servers of other tasks."""
        is_alone = False
        while wanted := self._not_asked(sources):
            elsewhere, alone = self._wave(wanted, is_alone=is_alone)
            sources, is_alone = elsewhere + alone, bool(alone)

    def prove(self) -> None:
        """Asks hosts for their robots.txt whose URLs are listed by sitemaps elsewhere."""
        unproved = sorted(
            (-count, host, origin)
            for host, (origin, count) in self._unproved.items()
            if host not in self._robots_read
        )
        most = self.job.config[SITEMAP_MAX_CROSS_HOSTS]
        self.report.counters["hosts_left_out.cross"] += len(unproved[most:])
        self.read(
            [site_source(origin, host, SourceKind.ROBOTS) for _, host, origin in unproved[:most]]
        )

    def scopes(self) -> dict[str, frozenset[str]]:
        """The scopes of every sitemap that was read, by all that is known now."""
        own = {url: scopes | self._named.get(url, set()) for url, scopes in self._scopes.items()}
        return joined_scopes(own, self._links)

    def _not_asked(self, sources: list[SitemapSource]) -> list[SitemapSource]:
        wanted: dict[str, SitemapSource] = {}
        for source in sources:
            if source.url in self._asked or source.url in wanted:
                self.report.counters["sitemaps_repeated"] += 1
            else:
                wanted[source.url] = source
        return list(wanted.values())

    def _wave(
        self, sources: list[SitemapSource], *, is_alone: bool
    ) -> tuple[list[SitemapSource], list[SitemapSource]]:
        """Reads the sources; the sitemaps that they name elsewhere, and the sources that must be
        asked while no other task runs."""
        tasks = self._tasks(sources, 1 if is_alone else self.num_tasks)
        keys = frozenset(key for task in tasks for key in task.server_keys)
        job = replace(self.job, servers=tuple(self._servers.values()), server_keys=keys)
        results = self.runner.run(partial(read_sitemaps, job), tasks, "sitemap: read")
        self._servers = strictest(server for result in results for server in result.servers)
        elsewhere: list[SitemapSource] = []
        alone: list[SitemapSource] = []
        for result in results:
            self._take(result)
            elsewhere += result.elsewhere
            alone += result.cross_part
        again = {source.url for source in alone}
        self._asked.update(source.url for source in sources if source.url not in again)
        return elsewhere, alone

    def _take(self, result: SitemapTaskResult) -> None:
        self.report.counters += result.counters
        self.report.add_samples(result.samples, self.job.config[REPORT_SAMPLES])
        self.files += result.files
        self._robots += result.robots
        self._asked.update(result.scopes)
        self._usage.update(result.usage)
        for site, state in result.states.items():
            self.states[site] = self.states.get(site, SiteState()) + state
        for url, scopes in result.scopes.items():
            self._scopes[url] = self._scopes.get(url, frozenset()) | scopes
        self._links |= result.links
        for host, sitemap in result.named:
            self._named.setdefault(sitemap, set()).add(host)
        self._robots_read |= result.robots_read
        for host, (origin, count) in result.unproved.items():
            self._unproved[host] = origin, count + self._unproved.get(host, ("", 0))[1]

    def _tasks(self, sources: list[SitemapSource], most: int) -> list[SitemapTask]:
        """The sources by server, shared out among tasks."""
        config = self.job.config
        if Politeness.of(config).ip_delay_s > 0:
            most = 1  # no task knows what another asks of an address
        if most == 1:
            return [SitemapTask(tuple(sources), frozenset(), True, self._usage)]
        resolver = HostResolver(config)

        def address_of(host: str) -> str | None:
            found = resolver.locate(host).addresses
            return found[0] if found else None

        partitioner = Partitioner(PartitionMode(config[FETCHER_QUEUE_MODE]), address_of)
        by_server: dict[str, list[SitemapSource]] = {}
        for source in sources:
            key = partitioner.key_of_host(host_of(source.url) or "").key
            by_server.setdefault(key, []).append(source)
        if len(by_server) == 1:
            return self._tasks(sources, 1)
        tasks = []
        for number in range(min(most, len(by_server))):
            keys = sorted(by_server)[number::most]
            mine = tuple(source for key in keys for source in by_server[key])
            usage = {
                source.site: self._usage[source.site]
                for source in mine
                if source.site in self._usage
            }
            tasks.append(SitemapTask(mine, frozenset(keys), False, usage))
        return tasks
