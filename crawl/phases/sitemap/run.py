"""sitemap: the URLs that sites list in their sitemaps become records of the CrawlDb.

Steps: hosts (a task a bucket) → waves of reading (a task a share of the servers) → merge (a task
a touched slice) → publish → what became of each host's sitemaps (`states.py`). A task
asks none but its own servers; sitemaps that it finds named on others are read by the next wave.
Hosts, sources and states go from task to task: the driver hears of counts and files.
All waves together are one transaction: a job that dies leaves the CrawlDb as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import (
    CRAWLDB_BUCKETS,
    CRAWLDB_FILE_ROWS,
    CRAWLDB_SNAPSHOTS_KEEP,
    DB_HOST_WAIT_MAX,
    REPORT_SAMPLES,
    SEED_MAX_LINE,
    SITEMAP_MAX_HOSTS,
)
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.errors import NothingToDo, UsageError
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_TIMELIMIT
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.phases.fetch.hand_over import handed_over, publish_handed_over
from crawl.phases.sitemap.options import SitemapOptions
from crawl.phases.sitemap.rules import REASONS
from crawl.phases.sitemap.states import SiteStates
from crawl.phases.sitemap.tasks.deal import DealTask, GivenSources
from crawl.phases.sitemap.tasks.hosts import FindSitesJob, FindSitesTask
from crawl.phases.sitemap.tasks.merge import (
    SitemapMergeJob,
    merge_listed,
    send_listed,
)
from crawl.phases.sitemap.tasks.sources import site_source
from crawl.phases.sitemap.tasks.values import (
    SitemapJob,
    SitemapSource,
)
from crawl.phases.sitemap.waves import SitemapWaves
from crawl.rules.inject import parse_line
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.seeds import plan_seeds, read_lines
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import crawldb_target, largest_first
from crawl.tables.renormalize import StoredRecords
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.urls.parse import authority_of, canonical, parse


@dataclass(frozen=True, slots=True)
class SitemapResult:
    """The published state and what was done."""

    snapshot: Snapshot
    report: Report
    took_over: str | None


def check(config: Config, options: SitemapOptions) -> None:
    """Raises what is wrong with settings and options, before anything is started."""
    given_sources(options.urls)
    if not options.urls and not options.asks_hosts:
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
        return site_source(authority_of(url) or "", parts.host)
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
    sources = given_sources(options.urls)
    if not sources:
        crawl_dir.require_crawldb()
    reported = replace(
        options, urls=options.urls[: config[REPORT_SAMPLES]], hosts=options.asks_hosts
    )
    report = Report("sitemap", clock.now_ms(), config.digest(), asdict(reported))
    normalizers, filters, scoring = _plugins(config, options)
    limit = config[FETCHER_TIMELIMIT]
    with (
        crawl_dir.writing_crawldb(
            "sitemap", config, clock, steal_lock=options.steal_lock
        ) as transaction,
        crawl_dir.fetching("sitemap", config, clock, steal_lock=options.steal_lock) as fetching,
        ExitStack() as held,
    ):
        base = transaction.base
        buckets = base.buckets if base else config[CRAWLDB_BUCKETS]
        first: list[DealTask] = [GivenSources(tuple(sources))] if sources else []
        find = None
        if options.asks_hosts and base is not None:
            find = _find_job(transaction, config, options, report)
            first += _find_tasks(base)
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
        waves = SitemapWaves(runner, job, options.num_fetchers or 1, report)
        with timed(report, "read", clock):
            waves.read(first, find)
            waves.prove()
        with timed(report, "hand_over", clock):
            left = waves.handed_over_tasks()
            publish_handed_over(
                runner,
                crawl_dir,
                config,
                clock,
                left,
                report,
                buckets,
                steal_lock=options.steal_lock,
            )
        slices = Slices.to_write(base, buckets, config[CRAWLDB_FILE_ROWS])
        stored = StoredRecords(transaction.folder, slices.router)
        target = crawldb_target(transaction.folder, transaction.place, config)
        merge = SitemapMergeJob(config, stored, target, report.started_ms)
        with timed(report, "merge", clock):
            files = _merge(runner, transaction, slices, merge, waves.files(), report)
        states = SiteStates(
            runner, crawl_dir, config, clock, report, buckets, steal_lock=options.steal_lock
        )
        publish_states = states.merge(transaction.scratch, waves.state_files(), held)
        if not report.counters["urls_new"] and not report.counters["urls_known"]:
            publish_states()
            raise NothingToDo(_nothing(report))
        report.finished_ms = clock.now_ms()
        snapshot = transaction.publish(
            files, report, buckets=buckets, keep=config[CRAWLDB_SNAPSHOTS_KEEP]
        )
        publish_states()
        took_over = transaction.lock.took_over or fetching.took_over
        return SitemapResult(snapshot, report, took_over)


def _find_job(
    transaction: Transaction, config: Config, options: SitemapOptions, report: Report
) -> FindSitesJob:
    most = config[SITEMAP_MAX_HOSTS] if options.max_hosts is None else options.max_hosts
    longest_ms = round(config[DB_HOST_WAIT_MAX] * 1000)
    return FindSitesJob(transaction.folder, report.started_ms, longest_ms, most)


def _find_tasks(base: Snapshot) -> list[FindSitesTask]:
    """A task for each bucket of the CrawlDb, whose hosts may be asked."""
    hosts = {file.bucket: file for file in base.hosts}
    buckets = largest_first(Slices.of(base, base.buckets, base.rows).stored())
    return [FindSitesTask(bucket, hosts.get(bucket.bucket)) for bucket in buckets]


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
    results = sent.run(
        partial(merge_listed, job), [(task.number, task) for task in tasks], "sitemap: merge"
    )
    for result in results:
        report.counters += result.counters
    return slices.files_after(
        {task.number: result.files for task, result in zip(tasks, results, strict=True)}
    )


def _nothing(report: Report) -> str:
    """Why there is nothing to publish."""
    why = [
        f"{reason} {count:,}"
        for reason, count in sorted(report.counters.items())
        if count and reason.startswith(REASONS)
    ]
    line = "no sitemap lists a URL that may be taken; nothing was changed"
    line += f" ({'; '.join(why)})" if why else ""
    if report.counters["urls_dropped.filtered"]:
        line += "; --no-filter takes what the URL filters (urlfilter.order) reject"
    return line
