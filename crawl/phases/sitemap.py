"""sitemap: the URLs that sites list in their sitemaps become records of the CrawlDb.

Steps: hosts (a task a bucket) → waves of reading (a task a share of the servers) → merge (a task
a touched slice) → publish. A task asks none but its own servers; sitemaps that it finds named
on others are read by the next wave. All waves together are one transaction: a job that dies
leaves the CrawlDb as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import partial

import numpy as np

from crawl.buckets.bucket_files import crawldb_target, largest_first
from crawl.buckets.hosts import waiting_hosts
from crawl.buckets.renormalize import StoredRecords
from crawl.buckets.runner import Runner
from crawl.buckets.sitemap.hosts import FindSitesJob, find_sites, most_urls
from crawl.buckets.sitemap.merge import (
    SitemapMergeJob,
    merge_listed,
    send_listed,
)
from crawl.buckets.sitemap.task import read_sitemaps
from crawl.buckets.sitemap.values import (
    SitemapJob,
    SitemapSource,
    SitemapTask,
    SitemapTaskResult,
    SiteUsage,
    SourceKind,
)
from crawl.buckets.slices import Slices
from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import (
    CRAWLDB_BUCKETS,
    CRAWLDB_FILE_ROWS,
    CRAWLDB_SNAPSHOTS_KEEP,
    DB_HOST_WAIT_MAX,
    REPORT_SAMPLES,
    SEED_MAX_LINE,
    SITEMAP_MAX_CROSS_HOSTS,
    SITEMAP_MAX_HOSTS,
)
from crawl.errors import NothingToDo, UsageError
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.frontier.pauses import strictest
from crawl.fetcher.frontier.queues import ServerState
from crawl.fetcher.hand_over import write_server_states
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_QUEUE_MODE, FETCHER_TIMELIMIT
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.net.dns import HostResolver
from crawl.phases.hand_over import HandOverTask, handed_over, publish_handed_over
from crawl.phases.observed import observed
from crawl.phases.timing import timed
from crawl.rules.host_wait import waits_until
from crawl.rules.inject import parse_line
from crawl.rules.sitemap import REASONS, joined_scopes
from crawl.storage.chunks import Piece
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.seeds import plan_seeds, read_lines
from crawl.storage.snapshot import Transaction
from crawl.urls.parse import authority_of, canonical, host_of, parse
from crawl.urls.partition import Partitioner, PartitionMode


@dataclass(frozen=True, slots=True)
class SitemapOptions:
    """What the command line says."""

    urls: tuple[str, ...] = ()
    """Sitemaps; or front pages of sites, whose sitemaps are wanted."""
    hosts: bool = True
    """Whether hosts of the CrawlDb are asked, too."""
    max_hosts: int | None = None
    """How many; None for `sitemap.max.hosts`."""
    filter: bool = True
    normalize: bool = True
    num_tasks: int = 1
    force: bool = False


@dataclass(frozen=True, slots=True)
class SitemapResult:
    """The published state and what was done."""

    snapshot: Snapshot
    report: Report
    took_over: str | None


def check(config: Config, options: SitemapOptions) -> None:
    """Raises what is wrong with settings and options, before anything is started."""
    given_sources(options.urls)
    if not options.urls and not options.hosts:
        raise UsageError("neither hosts nor URLs to ask for sitemaps")
    Politeness.of(config)
    Protocols(resolved_protocols(config), config).close()
    _plugins(config, options)


def given_sources(urls: Iterable[str]) -> list[SitemapSource]:
    """What to ask for where a user names URLs; UsageError for one that is none."""
    return [_given(url) for url in dict.fromkeys(urls)]


def _given(text: str) -> SitemapSource:
    url = canonical(text)
    parts = None if url is None else parse(url)
    if url is None or parts is None or parts.scheme not in ("http", "https") or not parts.host:
        raise UsageError(f"{text!r} is no http(s) URL")
    if parts.path in ("", "/") and parts.query is None:
        return _site(authority_of(url) or "", parts.host)
    return SitemapSource(url.partition("#")[0], parts.host)


def urls_of_files(paths: Iterable[str], config: Config) -> list[str]:
    """The URLs on the lines of files, as in seed files."""
    urls: list[str] = []
    for piece in plan_seeds(list(paths)).pieces:
        for line in read_lines(piece, config[SEED_MAX_LINE]):
            if line.raw is None:
                raise UsageError(f"{piece.address}: the line at byte {line.offset} is too long")
            seed = parse_line(line.raw.decode("utf-8", "replace"))
            urls += [] if seed is None else [seed.url]
    return urls


def _site(origin: str, host: str, kind: SourceKind = SourceKind.SITE) -> SitemapSource:
    return SitemapSource(f"{origin}/robots.txt", host, kind)


def _plugins(
    config: Config, options: SitemapOptions
) -> tuple[NormalizerChain | None, FilterChain | None, ScoringChain]:
    return (
        NormalizerChain.from_config(config, Scope.INJECT) if options.normalize else None,
        FilterChain.from_config(config) if options.filter else None,
        ScoringChain.from_config(config),
    )


@observed("sitemap")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: SitemapOptions, clock: Clock
) -> SitemapResult:
    """Reads sitemaps and publishes a new snapshot of the CrawlDb; raises NothingToDo, and
    publishes nothing, where no sitemap lists a URL that may be taken."""
    given = given_sources(options.urls)
    if not given:
        crawl_dir.require_crawldb()
    shown = replace(options, urls=options.urls[: config[REPORT_SAMPLES]])
    report = Report("sitemap", clock.now_ms(), config.digest(), asdict(shown))
    normalizers, filters, scoring = _plugins(config, options)
    limit = config[FETCHER_TIMELIMIT]
    with (
        crawl_dir.writing_crawldb("sitemap", config, clock, force=options.force) as transaction,
        crawl_dir.fetching("sitemap", config, clock, force=options.force) as fetching,
    ):
        base = transaction.base
        buckets = base.buckets if base else config[CRAWLDB_BUCKETS]
        if options.hosts and base is not None:
            with timed(report, "hosts", clock):
                given += _known_sites(runner, transaction, base, config, options, report)
        job = SitemapJob(
            config=config,
            protocols=resolved_protocols(config),
            normalizers=normalizers,
            filters=filters,
            scoring=scoring,
            now_ms=report.started_ms,
            scratch=transaction.scratch,
            deadline_ms=None if limit < 0 else report.started_ms + round(limit * 60_000),
            clock=clock,
            handed_over=handed_over(crawl_dir),
        )
        waves = _Waves(runner, job, options.num_tasks, report)
        with timed(report, "read", clock):
            waves.read(given)
            waves.prove()
        with timed(report, "hand_over", clock):
            left = [waves.handed_over_task()]
            publish_handed_over(
                runner, crawl_dir, config, clock, left, report, buckets, force=options.force
            )
        slices = Slices.to_write(base, buckets, config[CRAWLDB_FILE_ROWS])
        stored = StoredRecords(transaction.folder, slices.router)
        target = crawldb_target(transaction.folder, transaction.place, config)
        merge = SitemapMergeJob(config, stored, target, report.started_ms, waves.scopes())
        with timed(report, "merge", clock):
            files = _merge(runner, transaction, slices, merge, waves.files, report)
        if not report.counters["urls_new"] and not report.counters["urls_known"]:
            raise NothingToDo(_nothing(report))
        report.finished_ms = clock.now_ms()
        snapshot = transaction.publish(
            files, report, buckets=buckets, keep=config[CRAWLDB_SNAPSHOTS_KEEP]
        )
        took_over = transaction.lock.took_over or fetching.took_over
        return SitemapResult(snapshot, report, took_over)


def _known_sites(
    runner: Runner,
    transaction: Transaction,
    base: Snapshot,
    config: Config,
    options: SitemapOptions,
    report: Report,
) -> list[SitemapSource]:
    """The hosts of the CrawlDb that are asked; the others are counted."""
    most = config[SITEMAP_MAX_HOSTS] if options.max_hosts is None else options.max_hosts
    longest_ms = round(config[DB_HOST_WAIT_MAX] * 1000)
    now_ms = report.started_ms
    waiting = frozenset(
        state.host
        for state in waiting_hosts(transaction.folder, base, now_ms, longest_ms)
        if waits_until(state, longest_ms) > now_ms
    )
    found = runner.run(
        partial(find_sites, FindSitesJob(transaction.folder, waiting, most)),
        largest_first(Slices.of(base, base.buckets, base.rows).stored()),
        "sitemap: find hosts",
    )
    sites = most_urls((site for bucket in found for site in bucket.sites), most)
    report.counters["hosts_chosen"] = len(sites)
    report.counters["hosts_left_out.too_many"] = sum(each.found for each in found) - len(sites)
    report.counters["hosts_left_out.waiting"] = sum(each.waiting for each in found)
    return [_site(site.origin, site.host) for site in sites]


@dataclass(slots=True)
class _Waves:
    """Reads sources in waves, until no task names a sitemap on another's server."""

    runner: Runner
    job: SitemapJob
    num_tasks: int
    report: Report
    files: list[str] = field(default_factory=list)
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
        self.read([_site(origin, host, SourceKind.ROBOTS) for _, host, origin in unproved[:most]])

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


def _merge(
    runner: Runner,
    transaction: Transaction,
    slices: Slices,
    job: SitemapMergeJob,
    files: list[str],
    report: Report,
) -> list[BucketFile]:
    """Rewrites the slices that have URLs listed; the others' files stay as they are."""
    router = job.stored.router
    sent = runner.exchange(
        partial(send_listed, transaction.scratch, router), files, len(slices), "sitemap: send"
    )
    listed = np.flatnonzero(sent.row_counts()).tolist()
    tasks = largest_first(slices.all[number] for number in listed)
    done = sent.run(
        partial(merge_listed, job), [(task.number, task) for task in tasks], "sitemap: merge"
    )
    for result in done:
        report.counters += result.counters
        report.add_samples(result.samples, job.config[REPORT_SAMPLES])
    return slices.files_after(
        {task.number: result.files for task, result in zip(tasks, done, strict=True)}
    )


def _nothing(report: Report) -> str:
    """Why there is nothing to publish."""
    why = [
        f"{reason} {count:,}"
        for reason, count in sorted(report.counters.items())
        if count and reason.startswith(REASONS)
    ]
    return "no sitemap lists a URL that may be taken; nothing was changed" + (
        f" ({'; '.join(why)})" if why else ""
    )
