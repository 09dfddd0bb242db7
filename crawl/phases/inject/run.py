"""inject: seed files become records of the CrawlDb.

Steps: read (a task a piece of seed file, and one a bucket where old records are normalised
again) → merge (a task a touched slice) → publish.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import (
    CRAWLDB_BUCKETS,
    CRAWLDB_FILE_ROWS,
    CRAWLDB_SNAPSHOTS_KEEP,
    DB_INJECTOR_OVERWRITE,
    DB_INJECTOR_UPDATE,
    DB_UPDATE_PURGE_404,
    REPORT_SAMPLES,
)
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.errors import NothingToDo, UsageError
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.phases.inject.options import InjectOptions
from crawl.phases.inject.tasks.merge import (
    InjectMergeJob,
    InjectSendJob,
    merge_slice,
    send_rows,
)
from crawl.phases.inject.tasks.seeds import ReadSeedsJob, ReadSeedsTaskResult
from crawl.rules.inject import OnKnown
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.seeds import SeedPlan, plan_seeds
from crawl.tables.bucket_files import crawldb_target, largest_first
from crawl.tables.exchange import Exchange
from crawl.tables.renormalize import Renormalization, StoredRecords
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices


@dataclass(frozen=True, slots=True)
class InjectResult:
    """The published state and what was done."""

    snapshot: Snapshot
    report: Report
    took_over: str | None


def check(config: Config, options: InjectOptions) -> None:
    """Raises what is wrong with settings and options, before anything is started."""
    _on_known(config, options)
    _plugins(config, options)


def _plugins(
    config: Config, options: InjectOptions
) -> tuple[NormalizerChain | None, FilterChain | None, ScoringChain]:
    return (
        NormalizerChain.from_config(config, Scope.INJECT) if options.normalize else None,
        FilterChain.from_config(config) if options.filter else None,
        ScoringChain.from_config(config),
    )


@observed("inject")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: InjectOptions, clock: Clock
) -> InjectResult:
    """Injects the seeds of the files, not `options.urls`, and publishes a new snapshot of the
    CrawlDb; raises NothingToDo, and publishes nothing, where not one of them is usable."""
    on_known = _on_known(config, options)
    plan = plan_seeds(list(options.files))
    normalizers, filters, scoring = _plugins(config, options)
    report = Report("inject", clock.now_ms(), config.digest(), asdict(options))
    report.counters["seed_files"] = plan.files
    for folder in plan.skipped_folders:
        report.counters["seed_folders_skipped"] += 1
        report.add_samples({"seed_folders_skipped": [folder]}, config[REPORT_SAMPLES])

    with crawl_dir.writing_crawldb(
        "inject", config, clock, steal_lock=options.steal_lock
    ) as transaction:
        base = transaction.base
        buckets = base.buckets if base else config[CRAWLDB_BUCKETS]
        slices = Slices.to_write(base, buckets, config[CRAWLDB_FILE_ROWS])
        router = slices.router
        stored = StoredRecords(
            crawldb=transaction.folder,
            router=router,
            purge_gone=config[DB_UPDATE_PURGE_404],
            renormalization=(
                Renormalization(normalizers, filters) if options.filter_normalize_all else None
            ),
        )
        read = ReadSeedsJob(config, normalizers, filters, scoring, report.started_ms, router)
        moving = largest_first(base.files) if base and options.filter_normalize_all else []
        with timed(report, "read", clock):
            sent = runner.exchange(
                partial(send_rows, InjectSendJob(read, stored)),
                [*plan.pieces, *moving],
                len(slices),
                "inject: read seeds",
                rows=_most_rows(plan, base),
            )
            for piece in filter(None, sent.results()):
                report.counters += piece.counters
                report.add_samples(piece.samples, config[REPORT_SAMPLES])
        if not report.counters["urls_injected"] and not options.filter_normalize_all:
            raise NothingToDo(_no_seed(report))

        target = crawldb_target(transaction.folder, transaction.place, config)
        job = InjectMergeJob(config, stored, target, on_known)
        files = _merge(sent, slices, job, report, clock)
        report.finished_ms = clock.now_ms()
        snapshot = transaction.publish(
            files, report, buckets=buckets, keep=config[CRAWLDB_SNAPSHOTS_KEEP]
        )
        return InjectResult(snapshot, report, transaction.lock.took_over)


def _most_rows(plan: SeedPlan, base: Snapshot | None) -> int:
    """As many rows as there may be: a seed is hardly ever shorter, compressed or not."""
    seeds = sum(piece.end - piece.start for piece in plan.pieces) // _SEED_BYTES
    return seeds + (base.rows if base else 0)


def _no_seed(report: Report) -> str:
    """Why not one seed could be taken, with an example of each reason."""
    lines = report.counters["seed_lines"]
    why = [
        f"{reason} {count:,}" + (f", such as {samples[0]!r}" if samples else "")
        for reason, count in sorted(report.counters.items())
        if count and reason.startswith(_REFUSED)
        for samples in (report.samples.get(reason, []),)
    ]
    reason = (
        f"none of the {lines:,} seed lines is usable ({'; '.join(why)})" if lines else "no seeds"
    )
    line = f"{reason}: {' '.join(report.options['files'])}; nothing was injected"
    if report.counters["urls_filtered"]:
        line += "; --no-filter takes what the URL filters (urlfilter.order) reject"
    return line


_SEED_BYTES = 10
_REFUSED = ("malformed.", "plugin_errors.", "urls_filtered")


def _on_known(config: Config, options: InjectOptions) -> OnKnown:
    if options.overwrite and options.update:
        raise UsageError("--overwrite and --update exclude each other")
    if options.overwrite or (config[DB_INJECTOR_OVERWRITE] and not options.update):
        return OnKnown.OVERWRITE
    if options.update or config[DB_INJECTOR_UPDATE]:
        return OnKnown.UPDATE
    return OnKnown.KEEP


def _merge(
    sent: Exchange[ReadSeedsTaskResult | None],
    slices: Slices,
    job: InjectMergeJob,
    report: Report,
    clock: Clock,
) -> list[BucketFile]:
    """Rewrites the slices that anything happens to; the others' files stay as they are."""
    touched = set(np.flatnonzero(sent.row_counts()).tolist())
    if job.stored.purge_gone or job.stored.renormalization is not None:
        touched |= {each.number for each in slices.stored()}
    tasks = largest_first(slices.all[number] for number in touched)
    with timed(report, "merge", clock):
        results = sent.run(
            partial(merge_slice, job), [(task.number, task) for task in tasks], "inject: merge"
        )
    for result in results:
        report.counters += result.counters
    return slices.files_after(
        {task.number: result.files for task, result in zip(tasks, results, strict=True)}
    )
