"""scoreupdater: the scores of the link graph become those of the CrawlDb; those of PageRank
times the number of pages, so that the mean is 1 as that of LinkRank nearly is.

Steps: send (a task a file of nodes) → update (a task a slice of the CrawlDb) → publish.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from crawl.clock import Clock
from crawl.config import Config
from crawl.driver.crawldb_writer import CrawlDbUpdate, crawldb_writer
from crawl.driver.empty_results import scores_remarks
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.graph.settings import LINK_SCORE_UPDATER_CLEAR_SCORE
from crawl.model.derived_tables import WEBGRAPH
from crawl.model.report import Report
from crawl.phases.linkrank.run import require_scores, scale_of
from crawl.phases.scoreupdater.options import ScoreUpdaterOptions
from crawl.phases.scoreupdater.tasks import NodesTask, send_scores, update_scores
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.last_runs import note_run
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner


@observed("scoreupdater")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: ScoreUpdaterOptions, clock: Clock
) -> CrawlDbUpdate:
    """Writes the scores into the CrawlDb and publishes it."""
    report = Report("scoreupdater", clock.now_ms(), config.digest(), asdict(options))
    crawl_dir.require_crawldb()
    require_scores(crawl_dir)
    dataset = crawl_dir.dataset(WEBGRAPH)
    with crawldb_writer(crawl_dir, config, clock, report, steal_lock=options.steal_lock) as crawldb:
        assert crawldb.transaction.base is not None
        slices = crawldb.slices
        clear_score = config[LINK_SCORE_UPDATER_CLEAR_SCORE]

        def updated_from(snapshot: Snapshot) -> tuple[Snapshot, list[BucketFile]]:
            graph = StoredGraph.of(dataset.folder, snapshot)
            sent = runner.exchange(
                partial(send_scores, graph, slices.router, scale_of(snapshot)),
                largest_first(NodesTask(part, file.rows) for part, file in enumerate(graph.nodes)),
                len(slices),
                "scoreupdater: send",
            )
            update = partial(update_scores, crawldb.target, clear_score)
            stored = slices.stored()
            return snapshot, crawldb.rewrite(sent, update, stored, "scoreupdater: update")

        with timed(report, "update", clock):
            # nobody locks the link graph: anew where it is replaced and deleted meanwhile
            webgraph, files = dataset.reading(partial(require_scores, crawl_dir), updated_from)
        # those of slices without a record reached nobody
        report.counters["nodes_unknown"] = webgraph.rows - report.counters["urls_scored"]
        report.details["graph"] = webgraph.number
        remarks = scores_remarks(crawl_dir.address, report.counters)
        update = crawldb.publish(files, remarks=remarks)
        number = update.snapshot.number
        note_run(crawl_dir, "scoreupdater", crawldb=number, webgraph=webgraph.number)
        return update
