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
from dataclasses import replace
from functools import partial

import numpy as np

from crawl.clock import Clock
from crawl.config import Config, properties
from crawl.driver.crawldb_writer import CrawlDbUpdate, crawldb_writer, new_url_plugins
from crawl.driver.observed import observed
from crawl.driver.phase_run import PhaseRun
from crawl.driver.yielding_services import YieldingServices
from crawl.errors import NothingToDo, UsageError
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_TIMELIMIT
from crawl.model.report import Report
from crawl.phases.fetch.hand_over import handed_over, publish_handed_over
from crawl.phases.sitemap.options import SitemapOptions
from crawl.phases.sitemap.rules import REASONS
from crawl.phases.sitemap.states import SiteStates
from crawl.phases.sitemap.tasks.deal import DealTask, GivenSources
from crawl.phases.sitemap.tasks.hosts import FindSitesJob, FindSitesTask
from crawl.phases.sitemap.tasks.merge import SitemapMergeJob, merge_listed, send_listed
from crawl.phases.sitemap.tasks.values import SitemapJob, SitemapSource, site_source
from crawl.phases.sitemap.waves import SitemapWaves
from crawl.rules.inject import parse_line
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.seeds import plan_seeds, read_lines
from crawl.tables.bucket_files import largest_first
from crawl.tables.renormalize import StoredRecords
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.urls.parse import authority_of, canonical, parse


def check(config: Config, options: SitemapOptions) -> None:
    """Raises what is wrong with settings and options, before anything is started."""
    given_sources(options.urls)
    if not options.urls and not options.asks_hosts:
        raise UsageError("neither hosts nor URLs to ask for sitemaps")
    Politeness.of(config)
    Protocols(resolved_protocols(config), config).close()
    new_url_plugins(config, normalize=options.normalize, filter_urls=options.filter)


def given_sources(urls: Iterable[str]) -> list[SitemapSource]:
    """The sources that URLs of a user name; UsageError for one that is none."""
    return [_source(url) for url in dict.fromkeys(urls)]


def _source(text: str) -> SitemapSource:
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
        for line in read_lines(piece, config[properties.SEED_MAX_LINE]):
            if line.raw is None:
                raise UsageError(f"{piece.address}: the line at byte {line.offset} is too long")
            seed = parse_line(line.raw.decode("utf-8", "replace"))
            urls += [] if seed is None else [seed.url]
    return urls


@observed("sitemap")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: SitemapOptions, clock: Clock
) -> CrawlDbUpdate:
    """Reads sitemaps and publishes a new snapshot of the CrawlDb; raises NothingToDo, and
    publishes nothing, where no sitemap lists a URL that may be taken."""
    sources = given_sources(options.urls)
    if not sources:
        crawl_dir.require_crawldb()
    reported = replace(
        options, urls=options.urls[: config[properties.REPORT_SAMPLES]], hosts=options.asks_hosts
    )
    phase = PhaseRun.begin("sitemap", crawl_dir, config, reported, clock)
    report = phase.report
    normalizers, filters, scoring = new_url_plugins(
        config, normalize=options.normalize, filter_urls=options.filter
    )
    limit = config[FETCHER_TIMELIMIT]
    with (
        crawldb_writer(crawl_dir, config, clock, report, steal_lock=options.steal_lock) as crawldb,
        crawl_dir.fetching("sitemap", config, clock, steal_lock=options.steal_lock) as fetching,
        ExitStack() as held,
    ):
        services = YieldingServices(crawl_dir, fetching, config, clock).wait(any_host=True)
        transaction, slices = crawldb.transaction, crawldb.slices
        base, buckets = transaction.base, slices.buckets
        first: list[DealTask] = [GivenSources(tuple(sources))] if sources else []
        find = None
        if options.asks_hosts and base is not None:
            usual = config[properties.SITEMAP_MAX_HOSTS]
            max_hosts = usual if options.max_hosts is None else options.max_hosts
            longest_ms = round(config[properties.DB_HOST_WAIT_MAX] * 1000)
            find = FindSitesJob(transaction.folder, report.started_ms, longest_ms, max_hosts)
            hosts = {file.bucket: file for file in base.hosts}
            whole = largest_first(Slices.of(base, buckets, base.rows).stored())
            first += [FindSitesTask(bucket, hosts.get(bucket.bucket)) for bucket in whole]
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
            handed_over=handed_over(crawl_dir, services.pauses),
        )
        waves = SitemapWaves(runner, job, options.num_fetchers or 1, report)
        with phase.timed("read"):
            waves.read(first, find)
            waves.prove()
        with phase.timed("hand_over"):
            tasks, steal_lock = waves.handed_over_tasks(), options.steal_lock
            publish_handed_over(
                runner, crawl_dir, config, clock, tasks, report, buckets, steal_lock=steal_lock
            )
        stored = StoredRecords(transaction.folder, slices.router)
        merge = SitemapMergeJob(config, stored, crawldb.target, report.started_ms)
        with phase.timed("merge"):
            send = partial(send_listed, transaction.scratch, slices.router)
            sent = runner.exchange(send, waves.files(), len(slices), "sitemap: send")
            listed = [slices.all[number] for number in np.flatnonzero(sent.row_counts()).tolist()]
            files = crawldb.rewrite(sent, partial(merge_listed, merge), listed, "sitemap: merge")
        states = SiteStates(runner, phase, buckets)
        publish_states = states.merge(transaction.scratch, waves.state_files(), held)
        if not report.counters["urls_new"] and not report.counters["urls_known"]:
            publish_states()
            raise NothingToDo(_nothing(report))
        update = crawldb.publish(files)
        publish_states()
        return replace(update, took_over=update.took_over or fetching.took_over)


def _nothing(report: Report) -> str:
    """Why there is nothing to publish."""
    counters = sorted(report.counters.items())
    why = [f"{name} {count:,}" for name, count in counters if count and name.startswith(REASONS)]
    line = "no sitemap lists a URL that may be taken; nothing was changed"
    line += f" ({'; '.join(why)})" if why else ""
    if report.counters["urls_dropped.filtered"]:
        line += "; --no-filter takes what the URL filters (urlfilter.order) reject"
    return line
