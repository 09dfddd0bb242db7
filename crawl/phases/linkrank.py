"""linkrank: the nodes of the link graph get scores by the links into them.

Steps: begin → iterations (a task some files of nodes, with the edges into them) → write → publish.
The vector of scores lies in files of the transaction's scratch folder; the driver adds up what
tasks measured, and decides about a further iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from crawl.buckets.runner import Runner
from crawl.buckets.webgraph.graph import StoredGraph
from crawl.buckets.webgraph.ranking import (
    RankJob,
    RankTask,
    RankTaskResult,
    begin_rank,
    iterate_rank,
    rank_tasks,
    scores_target,
    write_scores,
)
from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_SNAPSHOTS_KEEP
from crawl.errors import NoSnapshot
from crawl.graph.kernels.kernel import RankKernel, Sums
from crawl.graph.kernels.link_rank import LinkRank
from crawl.graph.settings import (
    LINK_ANALYZE_DAMPING_FACTOR,
    LINK_ANALYZE_INITIAL_SCORE,
    LINK_ANALYZE_NUM_ITERATIONS,
)
from crawl.hints import command
from crawl.model.report import Report
from crawl.model.tables import WEBGRAPH, WEBGRAPH_SCORES
from crawl.phases.observed import observed
from crawl.phases.timing import timed
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot

RANKED_BY = "ranked_by"
"""The note of a snapshot with scores: how they came about."""


@dataclass(frozen=True, slots=True)
class LinkRankOptions:
    """What the command line says; None where the configuration decides."""

    iterations: int | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class LinkRankResult:
    """The graph with its scores, and what was done."""

    graph: Snapshot
    report: Report
    iterations: int
    sums: Sums
    took_over: str | None


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


def kernel_of(config: Config, options: LinkRankOptions) -> RankKernel:
    """What is to be computed."""
    iterations = options.iterations
    return LinkRank(
        config[LINK_ANALYZE_NUM_ITERATIONS] if iterations is None else iterations,
        config[LINK_ANALYZE_DAMPING_FACTOR],
        config[LINK_ANALYZE_INITIAL_SCORE],
    )


@observed("linkrank")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: LinkRankOptions, clock: Clock
) -> LinkRankResult:
    """Ranks the nodes and publishes the graph with their scores."""
    report = Report("linkrank", clock.now_ms(), config.digest(), asdict(options))
    kernel = kernel_of(config, options)
    require_graph(crawl_dir)
    dataset = crawl_dir.dataset(WEBGRAPH)
    with crawl_dir.writing(dataset, "linkrank", config, clock, force=options.force) as transaction:
        base = transaction.base
        assert base is not None
        graph = StoredGraph.of(transaction.folder, base, counts_limited=kernel.counts_limited)
        job = RankJob(graph, kernel, transaction.scratch)
        with timed(report, "iterations", clock):
            ranked = iterate(runner, job)
        with timed(report, "write", clock):
            target = scores_target(transaction.folder, transaction.place)
            scores = [
                file
                for files in runner.run(
                    partial(write_scores, job, target), ranked.tasks, "linkrank: write"
                )
                for file in files
            ]
        report.counters["nodes"] = graph.node_count
        report.counters["edges"] = graph.edge_count
        report.counters["iterations"] = ranked.iterations
        report.details["sums"] = dict(ranked.sums)
        report.finished_ms = clock.now_ms()
        published = transaction.publish(
            base.files,
            report,
            buckets=base.buckets,
            keep=config[CRAWLDB_SNAPSHOTS_KEEP],
            notes={RANKED_BY: {"kernel": kernel.name, "iterations": ranked.iterations}},
            attached={**base.attached, WEBGRAPH_SCORES.name: scores},
        )
        return LinkRankResult(
            published, report, ranked.iterations, ranked.sums, transaction.lock.took_over
        )


@dataclass(frozen=True, slots=True)
class Ranked:
    """Tasks that know where the scores of their nodes are."""

    tasks: list[RankTask]
    iterations: int
    sums: Sums


def iterate(runner: Runner, job: RankJob) -> Ranked:
    """Iterates until the kernel is done."""
    tasks = rank_tasks(job.graph)
    kernel, step = job.kernel, f"{job.kernel.name}: begin"
    iteration = 0
    if not tasks:
        return Ranked([], 0, {})
    function: Callable[[RankJob, RankTask], RankTaskResult] = begin_rank
    pieces: list[str] = []
    while True:
        results = runner.run(partial(function, job), tasks, step)
        sums = _added([result.sums for result in results])
        for path in pieces:
            job.scratch.delete(path)  # or all iterations' vectors would lie there
        pieces = [path for each in results for path in (each.scores.path, each.shares.path)]
        tasks = [
            replace(task, scores=each.scores) for task, each in zip(tasks, results, strict=True)
        ]
        job = replace(job, shares=tuple(each.shares for each in results), sums=sums)
        if iteration == kernel.most_iterations or (iteration and kernel.is_done(sums)):
            return Ranked(tasks, iteration, sums)
        function = iterate_rank
        iteration += 1
        step = f"{kernel.name}: iteration {iteration}"


def _added(parts: Sequence[Sums]) -> dict[str, float]:
    """Those of the whole graph; in the order of the tasks, so that they come out the same."""
    total: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0.0) + value
    return total
