"""inject: seed files become records of the CrawlDb.

Steps: read (a task a piece of seed file, and one a bucket where old records are normalised
again) → merge (a task a touched slice) → publish.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from crawl.clock import Clock
from crawl.config import Config, properties
from crawl.driver.crawldb_writer import CrawlDbUpdate, crawldb_writer, new_url_plugins
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.errors import NothingToDo, UsageError
from crawl.model.report import Report
from crawl.phases.inject.options import InjectOptions
from crawl.phases.inject.tasks.merge import InjectMergeJob, merge_slice, send_rows
from crawl.phases.inject.tasks.seeds import ReadSeedsJob
from crawl.rules.inject import OnKnown
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.seeds import plan_seeds
from crawl.tables.bucket_files import largest_first
from crawl.tables.renormalize import Renormalization, StoredRecords
from crawl.tables.runner import Runner


def check(config: Config, options: InjectOptions) -> None:
    """Raises what is wrong with settings and options, before anything is started."""
    _on_known(config, options)
    new_url_plugins(config, normalize=options.normalize, filter_urls=options.filter)


@observed("inject")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: InjectOptions, clock: Clock
) -> CrawlDbUpdate:
    """Injects the seeds of the files, not `options.urls`, and publishes a new snapshot of the
    CrawlDb; raises NothingToDo, and publishes nothing, where not one of them is usable."""
    on_known = _on_known(config, options)
    plan = plan_seeds(list(options.files))
    normalizers, filters, scoring = new_url_plugins(
        config, normalize=options.normalize, filter_urls=options.filter
    )
    report = Report("inject", clock.now_ms(), config.digest(), asdict(options))
    report.counters["seed_files"] = plan.files
    for folder in plan.skipped_folders:
        report.counters["seed_folders_skipped"] += 1
        report.add_samples({"seed_folders_skipped": [folder]}, config[properties.REPORT_SAMPLES])

    with crawldb_writer(crawl_dir, config, clock, report, steal_lock=options.steal_lock) as crawldb:
        base, slices = crawldb.transaction.base, crawldb.slices
        router = slices.router
        stored = StoredRecords(
            crawldb=crawldb.transaction.folder,
            router=router,
            purge_gone=config[properties.DB_UPDATE_PURGE_404],
            renormalization=(
                Renormalization(normalizers, filters) if options.filter_normalize_all else None
            ),
        )
        read = ReadSeedsJob(config, normalizers, filters, scoring, report.started_ms, router)
        moving = largest_first(base.files) if base and options.filter_normalize_all else []
        plan_bytes = sum(piece.end - piece.start for piece in plan.pieces)
        with timed(report, "read", clock):
            sent = runner.exchange(
                partial(send_rows, read, stored),
                [*plan.pieces, *moving],
                len(slices),
                "inject: read seeds",
                # as many as there may be: a seed is hardly ever shorter, compressed or not
                rows=plan_bytes // _SEED_BYTES + (base.rows if base else 0),
            )
            for piece in filter(None, sent.results()):
                report.counters += piece.counters
                report.add_samples(piece.samples, config[properties.REPORT_SAMPLES])
        if not report.counters["urls_injected"] and not options.filter_normalize_all:
            raise NothingToDo(_no_seed(report))

        job = InjectMergeJob(config, stored, crawldb.target, on_known)
        rows, is_anew = sent.row_counts(), stored.purge_gone or options.filter_normalize_all
        touched = [each for each in slices.all if rows[each.number] or (is_anew and each.files)]
        with timed(report, "merge", clock):
            files = crawldb.rewrite(sent, partial(merge_slice, job), touched, "inject: merge")
        return crawldb.publish(files)


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
    if options.overwrite or (config[properties.DB_INJECTOR_OVERWRITE] and not options.update):
        return OnKnown.OVERWRITE
    if options.update or config[properties.DB_INJECTOR_UPDATE]:
        return OnKnown.UPDATE
    return OnKnown.KEEP
