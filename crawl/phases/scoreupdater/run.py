"""scoreupdater: the scores of the link graph become those of the CrawlDb; those of PageRank
times the number of pages, so that the mean is 1 as that of LinkRank nearly is.

Steps: send (a task a file of nodes) → update (a task a slice of the CrawlDb) → publish.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_FILE_ROWS, CRAWLDB_SNAPSHOTS_KEEP
from crawl.driver.empty_results import scores_remarks
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.graph.settings import LINK_SCORE_UPDATER_CLEAR_SCORE
from crawl.model.derived_tables import WEBGRAPH
from crawl.model.report import Report
from crawl.phases.linkrank.run import require_scores, scale_of
from crawl.phases.scoreupdater.options import ScoreUpdaterOptions
from crawl.phases.scoreupdater.tasks import (
    NodesTask,
    SendScoresJob,
    UpdateScoresJob,
    UpdateScoresTaskResult,
    send_scores,
    update_scores,
)
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.last_runs import note_run
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import crawldb_target, largest_first
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices


@dataclass(frozen=True, slots=True)
class ScoreUpdaterResult:
    """The published CrawlDb and what was done."""

    snapshot: Snapshot
    report: Report
    took_over: str | None
    remarks: tuple[str, ...] = ()


@observed("scoreupdater")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: ScoreUpdaterOptions, clock: Clock
) -> ScoreUpdaterResult:
    """Writes the scores into the CrawlDb and publishes it."""
    report = Report("scoreupdater", clock.now_ms(), config.digest(), asdict(options))
    crawl_dir.require_crawldb()
    require_scores(crawl_dir)
    dataset = crawl_dir.dataset(WEBGRAPH)
    with crawl_dir.writing_crawldb(
        "scoreupdater", config, clock, steal_lock=options.steal_lock
    ) as transaction:
        base = transaction.base
        assert base is not None
        slices = Slices.to_write(base, base.buckets, config[CRAWLDB_FILE_ROWS])
        tasks = largest_first(slices.stored())
        target = crawldb_target(transaction.folder, transaction.place, config)
        job = UpdateScoresJob(target, config[LINK_SCORE_UPDATER_CLEAR_SCORE])

        def updated_from(snapshot: Snapshot) -> tuple[Snapshot, list[UpdateScoresTaskResult]]:
            graph = StoredGraph.of(dataset.folder, snapshot)
            sent = runner.exchange(
                partial(send_scores, SendScoresJob(graph, slices.router, scale_of(snapshot))),
                largest_first(NodesTask(part, file.rows) for part, file in enumerate(graph.nodes)),
                len(slices),
                "scoreupdater: send",
            )
            results = sent.run(
                partial(update_scores, job),
                [(task.number, task) for task in tasks],
                "scoreupdater: update",
            )
            return snapshot, results

        with timed(report, "update", clock):
            # nobody locks the link graph: anew where it is replaced and deleted meanwhile
            webgraph, results = dataset.reading(partial(require_scores, crawl_dir), updated_from)
        for result in results:
            report.counters += result.counters
        # those of slices without a record reached nobody
        report.counters["nodes_unknown"] = webgraph.rows - report.counters["urls_scored"]
        report.details["graph"] = webgraph.number
        report.finished_ms = clock.now_ms()
        written = {task.number: each.files for task, each in zip(tasks, results, strict=True)}
        snapshot = transaction.publish(
            slices.files_after(written),
            report,
            buckets=base.buckets,
            keep=config[CRAWLDB_SNAPSHOTS_KEEP],
        )
        note_run(crawl_dir, "scoreupdater", crawldb=snapshot.number, webgraph=webgraph.number)
        remarks = scores_remarks(crawl_dir.address, report.counters)
        return ScoreUpdaterResult(snapshot, report, transaction.lock.took_over, tuple(remarks))
