"""updatehostdb: what each host is like, from the CrawlDb and from what segments brought.

Steps: send (a task a file) → settle (a task a bucket) → publish. The CrawlDb's counts are taken
anew each time; a segment is counted once: the snapshot says which ones it contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from crawl.clock import Clock
from crawl.config import Config
from crawl.driver import segment_choice
from crawl.driver.observed import observed
from crawl.driver.phase_run import PhaseRun, Published
from crawl.driver.segment_choice import ChosenSegments, SegmentRule
from crawl.errors import StorageError, UsageError
from crawl.fetcher.values.settings import FetchSettings
from crawl.model.derived_tables import HOSTDB
from crawl.model.tables import ROBOTS, SERVERS, SITEMAPS
from crawl.phases.updatehostdb.options import UpdateHostDbOptions
from crawl.phases.updatehostdb.settings import HOSTDB_CONTENT_SIZES
from crawl.phases.updatehostdb.tasks.send import SendJob, SendTask, send_sums
from crawl.phases.updatehostdb.tasks.settle import SettleJob, SettleTask, settle_bucket
from crawl.phases.updatehostdb.tasks.sums import HostsFile
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.hostdb import LAYOUT, LAYOUT_NOTE
from crawl.storage.manifest import COUNTED_CRAWLDB, BucketFile, Snapshot
from crawl.storage.segments import CONTENT, FETCH, PartFile, Segment
from crawl.storage.snapshot import Dataset
from crawl.tables.bucket_files import BucketTarget, largest_first
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.telemetry.context import update_context


def choose(crawl_dir: CrawlDir, options: UpdateHostDbOptions) -> ChosenSegments:
    """The named segments, or every one that is fetched and not counted yet, which may be none:
    the CrawlDb is counted all the same. Raises UsageError where a named one cannot be meant."""
    if options.rebuild and options.segments:
        raise UsageError("--rebuild counts every segment: name none")
    snapshot = None if options.rebuild else crawl_dir.dataset(HOSTDB).current()
    rule = SegmentRule(
        lacks=lambda segment: segment_choice.no_fetch(segment, "count"),
        unready=lambda segment: segment_choice.interrupted(crawl_dir, segment, FETCH),
        destination="the HostDb",
        verb="count",
        third_person="counts",
        participle="counted",
        ready="fetched",
        can_repeat=False,  # its requests would be counted twice
    )
    inside = snapshot.applied if snapshot else {}
    return segment_choice.choose_segments(crawl_dir, options.segments, inside, rule)


@observed("updatehostdb")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: UpdateHostDbOptions, clock: Clock
) -> Published:
    """Counts the segments and publishes a new snapshot of the HostDb."""
    phase = PhaseRun.begin("updatehostdb", crawl_dir, config, options, clock)
    report = phase.report
    crawl_dir.require_crawldb()
    with phase.writing(crawl_dir.dataset(HOSTDB)) as transaction:
        choice = choose(crawl_dir, options)  # nobody else can count them from here on
        update_context(segment=" ".join(choice.names))
        base = None if options.rebuild else transaction.base
        target = BucketTarget(HOSTDB, transaction.folder, transaction.place)

        def counted_from(crawldb: Snapshot) -> tuple[Snapshot, list[BucketFile]]:
            report.counters.clear()
            sizes = config[HOSTDB_CONTENT_SIZES]
            senders = _senders(crawl_dir, base, crawldb, choice.segments, sizes=sizes)
            folder, buckets = crawl_dir.crawldb.folder, crawldb.buckets
            send = partial(send_sums, SendJob(folder, buckets, FetchSettings.of(config).robots))
            sent = runner.exchange(send, senders, buckets, "updatehostdb: count")
            old = base if base and base.buckets == buckets else None
            tasks = largest_first(
                SettleTask(bucket, old.files_of(bucket) if old else (), crawldb.hosts_of(bucket))
                for bucket in range(buckets)
            )
            settle = partial(settle_bucket, SettleJob(target, folder, report.started_ms))
            addressed = [(task.bucket, task) for task in tasks]
            settled = sent.run(settle, addressed, "updatehostdb: settle")
            for counters in (*sent.results(), *(result.counters for result in settled)):
                report.counters += counters
            return crawldb, [file for result in settled for file in result.files]

        with phase.timed("count"):
            crawldb, files = crawl_dir.reading(counted_from)
        report.counters["segments"] = len(choice.segments)
        report.details["crawldb_snapshot"] = crawldb.number
        notes = {COUNTED_CRAWLDB: crawldb.number, LAYOUT_NOTE: LAYOUT}
        hostdb = phase.publish(
            transaction, files, buckets=crawldb.buckets, notes=notes, applying=choice.names
        )
        took_over = transaction.lock.took_over
        return Published(hostdb, report, tuple(choice.remarks), took_over, choice.names)


def _senders(
    crawl_dir: CrawlDir,
    base: Snapshot | None,
    crawldb: Snapshot,
    segments: Iterable[Segment],
    *,
    sizes: bool,
) -> list[SendTask]:
    """Whatever tells of hosts, a file a task."""
    tasks: list[SendTask] = list(Slices.of(crawldb, crawldb.buckets).stored())
    for segment in segments:
        for part in (FETCH, CONTENT) if sizes else (FETCH,):
            if manifest := segment.manifest(part):
                tasks += _files(part, segment.part_folder(part), manifest.files)
    for table in (ROBOTS, SERVERS, SITEMAPS):
        dataset = crawl_dir.dataset(table)
        tasks += _files(table.name, dataset.folder, _cached(dataset))
    if base is not None and base.buckets != crawldb.buckets:
        tasks += _files(HOSTDB.name, crawl_dir.dataset(HOSTDB).folder, base.files)
    return largest_first(tasks)


def _files(
    table: str, folder: Folder, files: Sequence[BucketFile | PartFile]
) -> Iterator[HostsFile]:
    return (HostsFile(table, folder, file.path, file.rows) for file in files if file.rows)


def _cached(dataset: Dataset) -> tuple[BucketFile, ...]:
    """The files of a cache; none where it cannot be read: it is learnt anew."""
    try:
        snapshot = dataset.current()
    except StorageError:
        return ()
    return snapshot.files if snapshot else ()
