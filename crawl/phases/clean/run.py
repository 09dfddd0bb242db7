"""clean: documents of pages that are gone, redirected, duplicates or orphans leave every index
writer, and so do those of URLs that the CrawlDb no longer has.

Steps: find (a task a shard: the ledger, and what a job that died may have sent to servers, held
against the CrawlDb) → delete (a task a shard that has any) → publish. Segments are not needed,
and may be deleted already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from crawl.clock import Clock
from crawl.config import Config
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.errors import NoSnapshot
from crawl.hints import command
from crawl.model.derived_tables import INDEX
from crawl.model.report import Report
from crawl.phases.clean.options import CleanOptions
from crawl.phases.index.state import (
    IndexResult,
    IndexState,
    check_writers,
    document_counts,
    writing_index,
)
from crawl.phases.index.tasks.outputs import check_places
from crawl.phases.index.tasks.stale import StaleJob, send_stale
from crawl.phases.index.tasks.writers import WriterSpec, checked_writers
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.last_runs import note_run
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner


def check(config: Config, options: CleanOptions) -> list[WriterSpec]:
    """Raises what is wrong with the settings; the active writers."""
    return checked_writers(config, options.params)


def require_index(crawl_dir: CrawlDir, specs: Sequence[WriterSpec]) -> None:
    """Raises where the crawl has no index yet, or a writer's folder is not its own."""
    ledger = crawl_dir.dataset(INDEX).current()
    check_places(crawl_dir, specs, ledger)
    if ledger is None:
        raise NoSnapshot(
            f"{crawl_dir.address} has no index yet: make one with"
            f" `{command('index', crawl_dir.address)}`"
        )


@observed("clean")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: CleanOptions, clock: Clock
) -> IndexResult:
    """Deletes stale documents and publishes what the writers have then."""
    report = Report("clean", clock.now_ms(), config.digest(), asdict(options))
    specs = check(config, options)
    crawldb = crawl_dir.require_crawldb()
    require_index(crawl_dir, specs)
    lock = writing_index(crawl_dir, "clean", config, clock, specs, steal_lock=options.steal_lock)
    with lock as (transaction, settled):
        check_writers(specs, config, transaction.base)
        index = IndexState(crawl_dir, config, transaction, crawldb, specs)
        shards = map(index.shard, range(index.shards))
        finders = largest_first(each for each in shards if each.ledger or each.unsettled)
        with timed(report, "clean", clock):
            sent = runner.exchange(
                partial(send_stale, StaleJob(index.kept_out_target, crawl_dir.crawldb.folder)),
                finders,
                index.shards,
                "clean: find",
            )
            delivered = index.deliver(sent, report, "clean: delete")
        kept_out = {}
        for task, each in zip(finders, sent.results(), strict=True):
            report.counters += each.counters
            kept_out[task.number] = each.kept_out
        if options.commit:
            index.commit()
        snapshot = index.publish(delivered, kept_out, report, clock)
        note_run(crawl_dir, "clean", crawldb=crawldb.number)
    documents = document_counts(snapshot, specs)
    took_over = transaction.lock.took_over
    return IndexResult(snapshot.number, documents, report, (), tuple(settled.lines()), took_over)
