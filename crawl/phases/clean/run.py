"""clean: documents of pages that are gone, redirected, duplicates or orphans leave every index
writer, and so do those of URLs that the CrawlDb no longer has.

Steps: find (a task a shard: the ledger, and what a job that died may have sent to servers, held
against the CrawlDb) → delete (a task a shard that has any) → publish. Segments are not needed,
and may be deleted already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
from crawl.phases.index.state import IndexState, check_writers, writing_index
from crawl.phases.index.tasks.deliver import deliver_shard
from crawl.phases.index.tasks.output_places import check_places
from crawl.phases.index.tasks.stale import StaleJob, StaleTask, send_stale
from crawl.phases.index.tasks.writers import WriterSpec, active_writers
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.last_runs import note_run
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner


@dataclass(frozen=True, slots=True)
class CleanResult:
    """What is left of the index."""

    number: int
    documents: Mapping[str, int]
    report: Report
    remarks: tuple[str, ...]
    took_over: str | None


def check(config: Config, options: CleanOptions | None = None) -> list[WriterSpec]:
    """Raises what is wrong with the settings; the active writers."""
    specs = active_writers(config, (options or CleanOptions()).params or {})
    for spec in specs:
        spec.build(config)
    return specs


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
) -> CleanResult:
    """Deletes stale documents and publishes what the writers have then."""
    report = Report("clean", clock.now_ms(), config.digest(), asdict(options))
    specs = check(config, options)
    crawldb = crawl_dir.require_crawldb()
    require_index(crawl_dir, specs)
    with writing_index(crawl_dir, "clean", config, clock, specs, steal_lock=options.steal_lock) as (
        transaction,
        settled,
    ):
        check_writers(specs, config, transaction.base)
        index = IndexState.of(crawl_dir, config, transaction, crawldb, specs)
        shards = [
            (shard, index.ledger(shard), tuple(index.unsettled_of(shard).values()))
            for shard in range(index.shards)
        ]
        finders = largest_first(
            StaleTask(shard, file, index.crawldb_files(shard), unsettled, index.kept_out(shard))
            for shard, file, unsettled in shards
            if file is not None or unsettled
        )
        with timed(report, "clean", clock):
            sent = runner.exchange(
                partial(send_stale, StaleJob(index.kept_out_target, crawl_dir.crawldb.folder)),
                finders,
                index.shards,
                "clean: find",
            )
            counts = sent.row_counts()
            tasks = [task for task in index.tasks() if counts[task.number] or task.unsettled]
            results = sent.run(
                partial(deliver_shard, index.deliver_job(crawl_dir, config, specs)),
                [(task.number, task) for task in tasks],
                "clean: delete",
            )
        stale = {task.number: each for task, each in zip(finders, sent.results(), strict=True)}
        for each in stale.values():
            report.counters += each.counters
        for result in results:
            report.counters += result.counters
        if options.commit:
            for spec in specs:
                spec.build(config).commit()
        by_shard = {task.number: result for task, result in zip(tasks, results, strict=True)}
        kept_out = {number: each.kept_out for number, each in stale.items()}
        snapshot, outputs = index.publish(
            transaction, crawl_dir, specs, by_shard, report, clock, kept_out
        )
        note_run(crawl_dir, "clean", crawldb=crawldb.number)
    documents = {spec.id: sum(outputs[spec.id].documents.values()) for spec in specs}
    return CleanResult(
        snapshot.number, documents, report, tuple(settled.lines()), transaction.lock.took_over
    )
