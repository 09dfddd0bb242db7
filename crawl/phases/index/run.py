"""index: pages become documents, and documents reach the index writers.

Steps: returning (returning.py) → keys (a task a file of a segment) → decide (a task a shard
of the index) → assemble (a task a part of a parse) → deliver (a task a shard) → publish: the
writers' files and the ledger of what they have become the state at one moment. What a server was
sent before a job died is sent again by the next one, under the same URLs and versions, or deleted
if it went stale since: it was noted before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial

from crawl.clock import Clock
from crawl.config import Config
from crawl.driver.empty_results import pages_remarks
from crawl.driver.observed import observed
from crawl.driver.segment_choice import ChosenSegments
from crawl.driver.timing import timed
from crawl.errors import NothingToDo, UsageError
from crawl.hints import command
from crawl.interfaces.chains import FilterChain
from crawl.model.derived_tables import INDEX
from crawl.model.report import Report
from crawl.phases.index import settings
from crawl.phases.index.choice import choose, later_segments, looks_for_returning, takes_what_is_new
from crawl.phases.index.options import IndexOptions
from crawl.phases.index.returning import ReturningPages, find_returning
from crawl.phases.index.rules import IndexRules
from crawl.phases.index.state import (
    IndexResult,
    IndexState,
    check_writers,
    document_counts,
    refusals,
    writing_index,
)
from crawl.phases.index.tasks.assemble import AssembleJob, assemble_part
from crawl.phases.index.tasks.decide import DecideJob
from crawl.phases.index.tasks.decide_shard import IndexDecideJob, decide_shard
from crawl.phases.index.tasks.deliver import LEDGER_LOST, DeliverTaskResult
from crawl.phases.index.tasks.filter_chain import DocumentMaker
from crawl.phases.index.tasks.inlinks import InlinkSource
from crawl.phases.index.tasks.kept_out import KeptOutJob
from crawl.phases.index.tasks.keys import KeysJob, exchange_keys
from crawl.phases.index.tasks.settle import SettledOutputs, settle_index
from crawl.phases.index.tasks.writers import WriterSpec, checked_writers
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.segments import Segment
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner
from crawl.telemetry.context import update_context


def check(config: Config, options: IndexOptions) -> list[WriterSpec]:
    """Raises what is wrong with the settings, before anything is started; the active writers."""
    choice_count = sum((bool(options.segments), options.every, options.since is not None))
    if choice_count > 1:
        raise UsageError("name segments, or all of them, or those since a snapshot")
    if options.rebuild and (options.segments or options.since is not None):
        raise UsageError("to rebuild an index takes all segments: name none")
    if options.since is not None and not options.crawldb:
        raise UsageError("which segments came since a snapshot is known to the CrawlDb alone")
    if options.base64 and not options.binary_content:
        raise UsageError("base64 is the form of binary content: ask for that too")
    DocumentMaker.from_config(config)
    if options.filter:
        FilterChain.from_config(config)
    return checked_writers(config, options.params)


@observed("index")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: IndexOptions, clock: Clock
) -> IndexResult:
    """Indexes the segments and publishes what the writers have then."""
    report = Report("index", clock.now_ms(), config.digest(), asdict(options))
    specs = check(config, options)
    crawldb = crawl_dir.require_crawldb() if options.crawldb else None
    with writing_index(
        crawl_dir,
        "index",
        config,
        clock,
        specs,
        steal_lock=options.steal_lock,
        rebuild=options.rebuild,
    ) as (transaction, settled):
        try:
            choice = choose(crawl_dir, options, specs)
        except NothingToDo:
            completed = _settled_result(settled, transaction.base, specs, report, clock)
            if completed is None:
                raise
            return replace(completed, took_over=transaction.lock.took_over)
        update_context(segment=" ".join(choice.names))
        new = check_writers(specs, config, transaction.base)
        index = IndexState(crawl_dir, config, transaction, crawldb, specs)
        old = ReturningPages()
        if looks_for_returning(crawl_dir, options):
            with timed(report, "returning", clock):
                old = find_returning(runner, crawl_dir, config, index, choice)
        report.counters["returning.without_segment"] += old.lost
        later = later_segments(crawl_dir, transaction.base, choice)
        beside = {segment.name: segment for segment in (*old.segments, *later)}
        with timed(report, "index", clock):
            kept_out, results = _index(
                runner, crawl_dir, config, options, index, choice, beside, old.job, report
            )
        refused = refusals(results.values(), report)
        if options.commit:
            with timed(report, "commit", clock):
                index.commit()
        # of a segment that the CrawlDb does not have some pages may have to wait for it
        applied = crawldb.applied if crawldb else choice.names
        snapshot = index.publish(
            results,
            kept_out,
            report,
            clock,
            applying=[name for name in choice.names if name in applied],
            looked=takes_what_is_new(options) or options.every or options.rebuild,
            indexed=choice.names,
            returning=[segment.name for segment in old.segments],
        )
    remarks = [*settled.lines(), *choice.remarks, *([] if options.rebuild else new), *refused]
    if absent := report.counters["skipped.not_in_crawldb"]:
        remarks.append(
            f"{absent:,} pages are not in the CrawlDb and were not indexed:"
            f" `{command('updatedb', crawl_dir.address)}` and index again, or --no-crawldb"
        )
    if old.lost:
        remarks.append(
            f"{old.lost:,} pages could be indexed again, but the segments that have their text are"
            " not here any more: they are indexed when they are next fetched"
        )
    if lost := report.counters[LEDGER_LOST]:
        remarks.append(
            f"the ledger of {lost:,} shards was damaged and is made anew:"
            " index writers that are servers may keep documents of pages that are gone"
        )
    documents = document_counts(snapshot, specs)
    if not any(documents.values()):
        remarks += pages_remarks(crawl_dir.address, "index", 0, report.counters)
    took_over = transaction.lock.took_over
    return IndexResult(snapshot.number, documents, report, choice.names, tuple(remarks), took_over)


def settle(
    crawl_dir: CrawlDir, config: Config, options: IndexOptions, clock: Clock
) -> IndexResult | None:
    """For whoever has found nothing to index: completes what an earlier job was interrupted in,
    which needs nobody's help; None where that is nothing either."""
    report = Report("index", clock.now_ms(), config.digest(), asdict(options))
    specs = check(config, options)
    settled = settle_index(crawl_dir, "index", config, clock, specs, steal_lock=options.steal_lock)
    return _settled_result(settled, crawl_dir.dataset(INDEX).current(), specs, report, clock)


def _settled_result(
    settled: SettledOutputs,
    ledger: Snapshot | None,
    specs: Sequence[WriterSpec],
    report: Report,
    clock: Clock,
) -> IndexResult | None:
    """What the index is that was only completed; None where there was nothing to complete."""
    if not settled or ledger is None:
        return None
    report.finished_ms = clock.now_ms()
    documents = document_counts(ledger, specs)
    return IndexResult(ledger.number, documents, report, (), tuple(settled.lines()), None)


def _index(
    runner: Runner,
    crawl_dir: CrawlDir,
    config: Config,
    options: IndexOptions,
    index: IndexState,
    choice: ChosenSegments,
    beside: Mapping[str, Segment],
    returning: KeptOutJob | None,
    report: Report,
) -> tuple[dict[int, tuple[BucketFile, ...]], dict[int, DeliverTaskResult]]:
    """What is noted of pages that are kept out, and what was delivered, of each shard. Segments
    `beside` the chosen ones were indexed before: of them the pages count that are in a chosen one
    too, or return."""
    segments = sorted([*choice.segments, *beside.values()], key=lambda segment: segment.name)
    parts, sent = exchange_keys(
        runner, KeysJob(index.shards), segments, crawl_dir.segments.folder, "index: keys"
    )
    applied = index.crawldb.applied if index.crawldb else {}
    pages = DecideJob(
        index.shards,
        len(parts),
        rules_of(config, options),
        tuple(segment.name in applied for segment in segments),
        crawl_dir.crawldb.folder if index.crawldb else None,
        InlinkSource.of(crawl_dir, config[settings.INDEX_MAX_INLINKS]),
        FilterChain.from_config(config) if options.filter else None,
    )
    decide = IndexDecideJob(
        pages,
        tuple(segment.name for segment in segments),
        tuple(segment.name in beside for segment in segments),
        index.kept_out_target,
        returning,
    )
    shards = largest_first(
        index.shard(number, anew=options.rebuild) for number in range(index.shards)
    )
    decided = sent.send(
        partial(decide_shard, decide),
        [(task.number, task) for task in shards],
        len(parts),
        "index: decide",
    )
    assemble = AssembleJob(
        index.shards,
        DocumentMaker.from_config(config),
        config[settings.INDEXER_DELETE_FILTERED],
        options.binary_content,
        options.base64,
    )
    made = decided.send(
        partial(assemble_part, assemble),
        [(part.number, part) for part in largest_first(parts)],
        index.shards,
        "index: assemble",
    )
    delivered = index.deliver(made, report, "index: deliver", rebuild=options.rebuild)
    for counters in (*sent.results(), *made.results()):
        report.counters += counters
    kept_out = {}
    for shard, each in zip(shards, decided.results(), strict=True):
        report.counters += each.counters
        kept_out[shard.number] = each.kept_out
    return kept_out, delivered


def rules_of(config: Config, options: IndexOptions) -> IndexRules:
    """What options and configuration say about pages that are not to be added."""
    deletes = (
        config[settings.INDEXER_DELETE] if options.delete_gone is None else options.delete_gone
    )
    return IndexRules(
        delete_gone=deletes,
        delete_noindex=config[settings.INDEXER_DELETE_NOINDEX],
        delete_parse_failed=config[settings.PARSER_DELETE_FAILED_PARSE],
        skip_not_modified=config[settings.INDEXER_SKIP_NOTMODIFIED],
        uses_crawldb=options.crawldb,
    )
