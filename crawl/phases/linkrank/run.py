"""linkrank: the nodes of the link graph get scores by the links into them.

Steps: with lists or denied pages those of pagerank.py → begin → iterations (a task some files of
nodes, with the edges into them) → write → publish.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from math import isfinite

from crawl.clock import Clock
from crawl.config import Config
from crawl.driver.link_sites import carried_note
from crawl.driver.observed import observed
from crawl.driver.phase_run import PhaseRun, Published
from crawl.errors import NoSnapshot, UsageError
from crawl.graph import settings
from crawl.graph.kernels.kernel import Sums
from crawl.graph.kernels.link_rank import LinkRank
from crawl.graph.kernels.surfer import PageRank
from crawl.hints import command
from crawl.model.derived_tables import WEBGRAPH, WEBGRAPH_SCORES
from crawl.model.report import Report
from crawl.phases.linkrank.name_lists import read_names
from crawl.phases.linkrank.options import LinkRankOptions
from crawl.phases.linkrank.pagerank import NameLists, PageRankRun
from crawl.phases.linkrank.ranking import iterate
from crawl.phases.webgraph.remarks import empty_graph_remarks
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.ranking import RankJob, rank_tasks, write_scores
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.last_runs import note_run
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.runner import Runner

RANKED_BY = "ranked_by"
"""The note of a snapshot with scores: how they came about."""


def require_graph(crawl_dir: CrawlDir) -> Snapshot:
    """The current link graph, or one line saying how to get one."""
    snapshot = crawl_dir.dataset(WEBGRAPH).current()
    if snapshot is None:
        raise NoSnapshot(
            f"{crawl_dir.address} has no link graph yet: make it with"
            f" `{command('webgraph', crawl_dir.address)}`"
        )
    return snapshot


def require_scores(crawl_dir: CrawlDir) -> Snapshot:
    """The current link graph where it has scores, or one line saying how to get them."""
    snapshot = require_graph(crawl_dir)
    if not StoredGraph.of(crawl_dir.dataset(WEBGRAPH).folder, snapshot).has_scores:
        raise NoSnapshot(
            f"the link graph of {crawl_dir.address} has no scores yet: rank it with"
            f" `{command('linkrank', crawl_dir.address)}`"
        )
    return snapshot


def kernel_of(config: Config, options: LinkRankOptions) -> LinkRank | PageRank:
    """The rank to be computed; raises what is wrong with the options."""
    by_domain, iterations = options.by_domain, options.iterations
    damping = config[
        settings.LINK_ANALYZE_DOMAIN_DAMPING if by_domain else settings.LINK_ANALYZE_DAMPING_FACTOR
    ]
    if options.pagerank:
        usual = PageRank()
        tolerance = usual.tolerance if options.tolerance is None else options.tolerance
        if not (isfinite(tolerance) and tolerance > 0):
            raise UsageError(f"the tolerance must be a number above 0, not {tolerance}")
        return PageRank(
            usual.most_iterations if iterations is None else iterations, damping, tolerance
        )
    if options.tolerance is not None or options.seeds or options.deny or by_domain:
        raise UsageError("--seeds, --deny, --tolerance and --by-domain go with --pagerank")
    return LinkRank(
        config[settings.LINK_ANALYZE_NUM_ITERATIONS] if iterations is None else iterations,
        damping,
        config[settings.LINK_ANALYZE_INITIAL_SCORE],
    )


def lists_of(config: Config, options: LinkRankOptions) -> NameLists:
    """The lists of names in the files of the options."""
    return NameLists(
        None if options.seeds is None else read_names(options.seeds, config),
        None if options.deny is None else read_names(options.deny, config),
    )


@observed("linkrank")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: LinkRankOptions, clock: Clock
) -> Published:
    """Ranks the nodes and publishes the graph with their scores."""
    phase = PhaseRun.begin("linkrank", crawl_dir, config, options, clock)
    report = phase.report
    kernel, names = kernel_of(config, options), lists_of(config, options)
    require_graph(crawl_dir)
    with phase.writing(crawl_dir.dataset(WEBGRAPH)) as transaction:
        base = transaction.base
        assert base is not None
        graph = StoredGraph.of(transaction.folder, base, counts_limited=kernel.counts_limited)
        job = RankJob(graph, kernel, transaction.scratch)
        with phase.timed("iterations"):
            if isinstance(kernel, PageRank):
                surfer = PageRankRun(
                    runner, transaction, graph, base.buckets, kernel, report, options.by_domain
                )
                ranked = surfer.ranked(names)
            else:
                ranked = iterate(runner, job, rank_tasks(graph))
        with phase.timed("write"):
            target = BucketTarget(
                WEBGRAPH_SCORES, transaction.folder, transaction.place, stem="scores"
            )
            write = partial(write_scores, job, target)
            scores = runner.run(write, ranked.tasks, "linkrank: write")
        report.counters["nodes"] = graph.node_count
        report.counters["edges"] = graph.edge_count
        report.counters["iterations"] = ranked.iterations
        report.details["sums"] = dict(ranked.sums)
        published = phase.publish(
            transaction,
            base.files,
            buckets=base.buckets,
            notes={
                **carried_note(base),
                RANKED_BY: {"kernel": kernel.name, "iterations": ranked.iterations},
            },
            attached={**base.attached, WEBGRAPH_SCORES.name: chain.from_iterable(scores)},
        )
        note_run(crawl_dir, "linkrank", webgraph=published.number)
        remarks = (
            *_remarks(kernel, options, report, ranked.sums),
            *empty_graph_remarks(crawl_dir, graph.edge_count),
        )
        return Published(published, report, remarks, transaction.lock.took_over)


def _remarks(
    kernel: LinkRank | PageRank, options: LinkRankOptions, report: Report, sums: Sums
) -> list[str]:
    """Remarks on denied pages that are not there, and on ranks that did not converge."""
    remarks = []
    if options.deny is not None and not report.counters["denied_pages"]:
        remarks.append(f"no page of {options.deny} is in the link graph: nothing is denied")
    if isinstance(kernel, PageRank) and sums and not kernel.is_done(sums):
        remarks.append(
            f"the last of {kernel.most_iterations} iterations still changed the ranks by"
            f" {sums['change']:.2g}, more than the tolerance of {kernel.tolerance:g}"
        )
    return remarks


def scale_of(graph: Snapshot) -> float:
    """The factor that makes the mean score 1, as scoring plugins expect: PageRank's add up to 1."""
    note = graph.notes.get(RANKED_BY)
    kernel = note.get("kernel") if isinstance(note, dict) else None
    return float(graph.rows) if kernel == PageRank().name else 1.0
