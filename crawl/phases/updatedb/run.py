"""updatedb: what segments brought becomes the CrawlDb's next state.

Steps: send (a task some files, and one a file where old records are normalised again) → merge
(a task a slice) → hosts (a task a bucket of several slices) → publish. A segment is applied
once: the snapshot says which ones it contains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from crawl.clock import Clock
from crawl.config import Config, properties
from crawl.driver import segment_choice
from crawl.driver.crawldb_writer import CrawlDbUpdate, CrawlDbWriter, crawldb_writer
from crawl.driver.observed import observed
from crawl.driver.segment_choice import ChosenSegments, SegmentRule
from crawl.driver.timing import timed
from crawl.hints import command
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.phases.updatedb.rules import UpdateRules
from crawl.phases.updatedb.same_pages import SamePagesRule
from crawl.phases.updatedb.tasks import delta
from crawl.phases.updatedb.tasks.bucket import (
    UpdateDbJob,
    UpdateDbTask,
    UpdateDbTaskResult,
    update_bucket,
    update_slice,
)
from crawl.phases.updatedb.tasks.hosts import (
    HostsTask,
    HostsTaskResult,
    HostTroublesFile,
    HostUpdateJob,
    settle_hosts,
)
from crawl.phases.updatedb.tasks.reservations import finished_marks
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import BucketFile
from crawl.storage.segments import FETCH, FETCH_HOSTS, PARSE, Segment
from crawl.tables.bucket_files import largest_first
from crawl.tables.hosts import hosts_target
from crawl.tables.renormalize import Renormalization, StoredRecords
from crawl.tables.runner import Runner
from crawl.telemetry.context import update_context


def applied(crawl_dir: CrawlDir) -> frozenset[str]:
    """The names of the segments that the CrawlDb contains."""
    snapshot = crawl_dir.crawldb.current()
    return frozenset(snapshot.applied if snapshot else ())


def check(config: Config, options: UpdateDbOptions | None = None) -> None:
    """Raises what is wrong with the settings, before anything is started."""
    UpdateRules.of(config, 0)
    _renormalization(config, options or UpdateDbOptions())


def choose(crawl_dir: CrawlDir, options: UpdateDbOptions) -> ChosenSegments:
    """The named segments, or every one that is parsed and not in the CrawlDb yet; raises
    UsageError where there is none, or a named one cannot be meant."""
    snapshot = crawl_dir.crawldb.current()
    inside = snapshot.applied if snapshot else {}
    is_named = bool(options.segments)

    def unready(segment: Segment) -> str:
        fault = segment_choice.interrupted(crawl_dir, segment, FETCH, PARSE)
        if is_named or fault or segment.is_done(PARSE):
            return fault
        # to apply it now would be to lose its links: later it is in the CrawlDb already
        where = crawl_dir.address
        return (
            f"{segment.name} is not parsed yet: `{command('parse', where, segment.name)}`, or"
            f" `{command('updatedb', where, segment.name)}` to apply it without its links"
        )

    rule = SegmentRule(
        lacks=lambda segment: segment_choice.no_fetch(segment, "apply"),
        unready=unready,
        destination="the CrawlDb",
        verb="apply",
        third_person="applies",
        participle="applied",
        ready="fetched",
    )
    choice = segment_choice.choose_segments(
        crawl_dir, options.segments, inside, rule, again=options.again
    )
    choice.remarks += [
        f"{segment.name} is not parsed: applied without links and signatures"
        for segment in choice.segments
        if not segment.is_done(PARSE)
    ]
    return segment_choice.require_some(choice, crawl_dir, rule)


@observed("updatedb")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: UpdateDbOptions, clock: Clock
) -> CrawlDbUpdate:
    """Applies the segments and publishes a new snapshot of the CrawlDb."""
    report = Report("updatedb", clock.now_ms(), config.digest(), asdict(options))
    allowed = config[properties.DB_UPDATE_ADDITIONS_ALLOWED]
    rules = UpdateRules.of(
        config,
        report.started_ms,
        additions=allowed if options.additions is None else options.additions,
        again=options.again,
    )
    renormalization = _renormalization(config, options)
    with crawldb_writer(crawl_dir, config, clock, report, steal_lock=options.steal_lock) as crawldb:
        choice = choose(crawl_dir, options)  # nobody else can apply them from here on
        update_context(segment=" ".join(choice.names))
        transaction = crawldb.transaction
        stored = StoredRecords(
            transaction.folder, crawldb.slices.router, renormalization=renormalization
        )
        job = UpdateDbJob(
            rules=rules,
            stored=stored,
            target=crawldb.target,
            max_inlinks=config[properties.DB_UPDATE_MAX_INLINKS],
            purge_gone=config[properties.DB_UPDATE_PURGE_404],
            purge_orphans=config[properties.DB_UPDATE_PURGE_ORPHANS],
            marks=finished_marks(choice.segments),
            hosts=HostUpdateJob(
                target=hosts_target(transaction.folder, transaction.place),
                longest_ms=round(config[properties.DB_HOST_WAIT_MAX] * 1000),
                same_pages=SamePagesRule(
                    config[properties.DB_HOST_SAME_PAGES],
                    round(config[properties.DB_HOST_SAME_PAGES_WAIT] * 1000),
                    round(config[properties.DB_HOST_WAIT_MAX] * 1000),
                ),
            ),
        )
        files = _delta_files(choice.segments, report)
        troubles = _troubles_files(choice.segments)
        with timed(report, "merge", clock):
            merged, hosts = _merge(runner, crawldb, job, files, troubles)
        update = crawldb.publish(merged, applying=choice.names, hosts=hosts, remarks=choice.remarks)
        crawl_dir.remove_dead_locks(choice.segments, "updatedb", config, clock)
        return update


def _renormalization(config: Config, options: UpdateDbOptions) -> Renormalization | None:
    normalize, filter_urls = options.normalize, options.filter
    if normalize is None:
        normalize = config[properties.CRAWLDB_URL_NORMALIZERS]
    if filter_urls is None:
        filter_urls = config[properties.CRAWLDB_URL_FILTERS]
    return Renormalization.from_config(config, Scope.CRAWLDB, normalize, filter_urls)


def _delta_files(segments: list[Segment], report: Report) -> list[delta.DeltaFile]:
    """Every file to be applied, oldest segment first; the report tells of them."""
    files: list[delta.DeltaFile] = []
    described = []
    for number, segment in enumerate(segments):
        rows = {FETCH: 0, PARSE: 0}
        for origin, part in enumerate(rows, 2 * number):
            manifest, folder = segment.manifest(part), segment.part_folder(part)
            stored = [file for file in manifest.files if file.rows] if manifest else []
            files += [delta.DeltaFile(folder, file.path, file.rows, origin) for file in stored]
            rows[part] = sum(file.rows for file in stored)
        described.append({"segment": segment.name, "parsed": segment.is_done(PARSE), **rows})
        report.counters["fetch_records"] += rows[FETCH]
        report.counters["parse_records"] += rows[PARSE]
    report.details["segments"] = described
    return files


def _troubles_files(segments: list[Segment]) -> list[HostTroublesFile]:
    """The files of segments about hosts that failed in their fetches."""
    return [
        HostTroublesFile(segment.part_folder(FETCH_HOSTS), file.path, number)
        for number, segment in enumerate(segments)
        if (manifest := segment.manifest(FETCH_HOSTS)) is not None
        for file in manifest.files
        if file.rows
    ]


def _merge(
    runner: Runner,
    crawldb: CrawlDbWriter,
    job: UpdateDbJob,
    files: list[delta.DeltaFile],
    troubles: list[HostTroublesFile],
) -> tuple[list[BucketFile], list[BucketFile]]:
    """The files of all slices, and of their hosts; those that no segment mentions stay as they
    are."""
    base, slices, report = crawldb.transaction.base, crawldb.slices, crawldb.report
    hosts = {file.bucket: file for file in base.hosts} if base else {}
    senders: list[delta.SendDeltaTask] = [*troubles, *delta.bundles(files)]
    renormalization = job.stored.renormalization
    if base is not None and renormalization is not None and renormalization.normalizers is not None:
        senders += largest_first(base.files)
    sending = delta.SendDeltaJob(job.stored, job.rules.scoring.may_combine_links)
    rows = (base.rows if base else 0) + sum(file.rows for file in files)
    send = partial(delta.send_delta, sending)
    sent = runner.exchange(send, senders, len(slices), "updatedb: send", rows=rows)
    parted = [each.bucket for each in slices.all if each.place == 0 and not each.is_whole]
    hosts_at = {bucket: number for number, bucket in enumerate(parted)}
    tasks = largest_first(
        UpdateDbTask(each, hosts.get(each.bucket), hosts_at.get(each.bucket, -1))
        for each in slices.all
    )
    addressed = [(task.base.number, task) for task in tasks]
    settled: list[HostsTaskResult] = []
    results: Sequence[UpdateDbTaskResult]
    if not parted:
        results = sent.run(partial(update_bucket, job), addressed, "updatedb: merge")
    else:
        # the slices of a bucket have each sent their share of its hosts
        update, settle = partial(update_slice, job), partial(settle_hosts, job.hosts)
        host_exchange = sent.send(update, addressed, len(parted), "updatedb: merge")
        host_tasks = [HostsTask(bucket, hosts.get(bucket)) for bucket in parted]
        settled = host_exchange.run(settle, list(enumerate(host_tasks)), "updatedb: hosts")
        results = host_exchange.results()
    report.counters["rows_sent"] = int(sent.row_counts().sum())
    every: list[HostsTaskResult | UpdateDbTaskResult] = [*settled, *results]
    for counters in (*sent.results(), *(each.counters for each in every)):
        report.counters += counters
    host_files = filter(None, (each.hosts for each in every))
    merged = {task.base.number: result.files for task, result in zip(tasks, results, strict=True)}
    return slices.files_after(merged), sorted(host_files, key=lambda file: file.bucket)
