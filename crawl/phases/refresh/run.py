"""refresh: URLs of the CrawlDb that somebody wants to be fetched anew are due now.

Steps: lists (a task a file of an unfinished fetch list) → match (a task a slice that may have such
URLs) → write (a task a slice in which a record changes) → publish. Where nothing changes, nothing
is published. What is known of a page stays, so that a server may still say that it did not change;
so do the backoffs of hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import compress
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_FILE_ROWS
from crawl.driver.crawldb_writer import CrawlDbUpdate, crawldb_writer
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.errors import NothingToDo, UsageError
from crawl.interfaces.chains import NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.phases.generate.tasks.selection import selection_of
from crawl.phases.generate.tasks.unfinished import list_files, send_list, unfinished_segments
from crawl.phases.refresh.options import RefreshOptions
from crawl.phases.refresh.rules import RefreshOutcome, UrlPattern, parse_pattern
from crawl.phases.refresh.tasks import RefreshJob, count_slice, refresh_slice
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.exchange import Exchange, by_number
from crawl.tables.runner import Runner
from crawl.tables.slices import Slice, Slices


def check(config: Config, options: RefreshOptions) -> tuple[UrlPattern, ...]:
    """Raises what is wrong with settings and options, before anything is started; the patterns."""
    if not options.patterns:
        raise UsageError("name a host, a URL or a pattern of the URLs to be fetched anew")
    selection_of(config, 0)
    normal = NormalizerChain.from_config(config, Scope.DEFAULT)
    return tuple(parse_pattern(text, normal.normalize) for text in dict.fromkeys(options.patterns))


@observed("refresh")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: RefreshOptions, clock: Clock
) -> CrawlDbUpdate:
    """Makes the matching URLs due now and publishes a new snapshot of the CrawlDb, if any was not
    due before; a dry run takes no lock and leaves everything as it is."""
    report = Report("refresh", clock.now_ms(), config.digest(), asdict(options))
    patterns = check(config, options)
    crawl_dir.require_crawldb()
    work = _Refresh(runner, crawl_dir, config, options, patterns, report)
    if options.dry_run:
        base = crawl_dir.reading(lambda state: work.count(state, clock).base)
        return CrawlDbUpdate(base, report, None, _remarks(crawl_dir, patterns, report))
    with crawldb_writer(crawl_dir, config, clock, report, steal_lock=options.steal_lock) as writer:
        base = crawl_dir.require_crawldb()
        first_pass = work.count(base, clock)
        remarks = _remarks(crawl_dir, patterns, report)
        if not first_pass.changed:
            return CrawlDbUpdate(base, report, writer.transaction.lock.took_over, remarks)
        refresh = partial(refresh_slice, first_pass.job, writer.target)
        with timed(report, "write", clock):
            files = writer.rewrite(
                first_pass.listed_urls, refresh, first_pass.changed, "refresh: write"
            )
        return writer.publish(files, remarks=remarks)


@dataclass(frozen=True)
class _FirstPass:
    """A state of the CrawlDb, counted: which slices have URLs to be made due."""

    base: Snapshot
    job: RefreshJob
    listed_urls: Exchange[Any]
    """The URLs on lists of unfinished segments, at their slices."""
    changed: list[Slice]


@dataclass(frozen=True)
class _Refresh:
    """The first pass, which counts: all that a dry run does."""

    runner: Runner
    crawl_dir: CrawlDir
    config: Config
    options: RefreshOptions
    patterns: tuple[UrlPattern, ...]
    report: Report

    def count(self, base: Snapshot, clock: Clock) -> _FirstPass:
        report, selection = self.report, selection_of(self.config, self.report.started_ms)
        report.counters.clear()
        unfinished = unfinished_segments(
            self.crawl_dir.segments.generated(),
            base.applied,
            selection.now_ms,
            selection.reserved_ms,
        )
        slices = Slices.to_write(base, base.buckets, self.config[CRAWLDB_FILE_ROWS])
        buckets = self._buckets(base.buckets)
        tasks = largest_first(each for each in slices.stored() if each.bucket in buckets)
        job = RefreshJob(self.crawl_dir.crawldb.folder, self.patterns, selection, self.options.gone)
        with timed(report, "match", clock):
            listed_urls = self.runner.exchange(
                partial(send_list, slices.router),
                list_files(unfinished),
                len(slices),
                "refresh: lists of unfinished segments",
                rows=sum(task.rows for task in tasks),
            )
            results = listed_urls.run(partial(count_slice, job), by_number(tasks), "refresh: match")
        for result in results:
            report.counters += result.counters
        report.details["patterns"] = {
            pattern.text: sum(result.matched[place] for result in results)
            for place, pattern in enumerate(self.patterns)
        }
        report.finished_ms = clock.now_ms()
        made_due = [result.counters[RefreshOutcome.MADE_DUE.value] for result in results]
        return _FirstPass(base, job, listed_urls, list(compress(tasks, made_due)))

    def _buckets(self, count: int) -> frozenset[int]:
        """The buckets that may have such URLs: those of the hosts, where all patterns name one."""
        hosts = [pattern.host for pattern in self.patterns]
        if not all(hosts):
            return frozenset(range(count))
        return frozenset(bucket_of(host, count) for host in hosts)


def _remarks(
    crawl_dir: CrawlDir, patterns: Sequence[UrlPattern], report: Report
) -> tuple[str, ...]:
    """A line for each pattern that means no URL; raises NothingToDo where none means any."""
    counts = report.details["patterns"]
    vain = [_described(pattern) for pattern in patterns if not counts[pattern.text]]
    if len(vain) == len(patterns):
        raise NothingToDo(f"{crawl_dir.address}: no URL of the CrawlDb matches {' or '.join(vain)}")
    return tuple(f"no URL of the CrawlDb matches {text}" for text in vain)


def _described(pattern: UrlPattern) -> str:
    """A pattern as it was given; and how it was read, where whoever wrote it may not expect it."""
    is_usual = "*" not in pattern.text.strip().removeprefix("*.")
    if not is_usual and pattern.host_regex and not pattern.url_regex:
        return f"{pattern.text} (which means hosts: a pattern of URLs has a /)"
    return pattern.text
