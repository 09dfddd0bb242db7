"""hostgraph: the link graph's hosts, or registered domains, with their links and ranks.

Steps: sample (a task a file of pages) → names (the same files, then a task a range of names) →
links (the same files, then a task a range) → PageRank (iterations) → harmonic centrality
(distances) → positions → write → publish.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from crawl.clock import Clock
from crawl.config import Config
from crawl.driver.observed import observed
from crawl.driver.phase_run import PhaseRun, Published
from crawl.errors import NoSnapshot
from crawl.graph.kernels.harmonic import BallCounter
from crawl.graph.kernels.surfer import PageRank
from crawl.graph.settings import HOSTGRAPH_HYPERBALL_PRECISION, LINK_ANALYZE_DAMPING_FACTOR
from crawl.hints import command
from crawl.model.derived_tables import DOMAINGRAPH, HOSTGRAPH, HOSTGRAPH_EDGES, WEBGRAPH
from crawl.model.report import Report
from crawl.model.table import Table
from crawl.phases.hostgraph.options import HostGraphOptions
from crawl.phases.hostgraph.ranking import counter_of, harmonic, positions
from crawl.phases.hostgraph.tasks import links
from crawl.phases.hostgraph.tasks.hosts import HostsJob, HostsTask, first_hosts, write_hosts
from crawl.phases.linkrank.ranking import iterate
from crawl.phases.linkrank.run import require_graph
from crawl.phases.webgraph.remarks import hostgraph_remarks
from crawl.phases.webgraph.tasks.edges import EDGE_GROUP_ROWS
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.names import (
    NamesJob,
    NumberJob,
    bounds_of,
    number_pages,
    sample_names,
    send_names,
    write_names,
)
from crawl.phases.webgraph.tasks.ranking import RankJob, rank_tasks
from crawl.phases.webgraph.values import NodeGroup
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import MADE_FROM_WEBGRAPH, BucketFile, Snapshot
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.runner import Runner

_TOLERANCE = 1e-8
"""PageRank is iterated until it changes by less in all: the first of many hosts differ little."""
_MAX_ITERATIONS = 500
"""With the usual damping the slowest graph takes some 120."""


@dataclass(frozen=True, slots=True)
class HostGraphResult(Published):
    """The published graph, what was done, and its first hosts."""

    top: tuple[dict[str, Any], ...] = ()


def table_of(group: NodeGroup) -> Table:
    """Where the graph of hosts, or that of domains, is kept."""
    return DOMAINGRAPH if group is NodeGroup.DOMAIN else HOSTGRAPH


def require_hostgraph(crawl_dir: CrawlDir, group: NodeGroup) -> Snapshot:
    """The current graph of hosts or domains, or one line saying how to get one."""
    snapshot = crawl_dir.dataset(table_of(group)).current()
    if snapshot is None:
        require_graph(crawl_dir)
        options = () if group is NodeGroup.HOST else ("--group", group.value)
        raise NoSnapshot(
            f"{crawl_dir.address} has no graph of {group.value}s yet: make it with"
            f" `{command('hostgraph', crawl_dir.address, *options)}`"
        )
    return snapshot


def stored_hostgraph(crawl_dir: CrawlDir, group: NodeGroup, snapshot: Snapshot) -> StoredGraph:
    """The graph of hosts or domains, to be read."""
    edges = {file.bucket: file for file in snapshot.attached.get(HOSTGRAPH_EDGES.name, ())}
    return StoredGraph(crawl_dir.dataset(table_of(group)).folder, snapshot.files, edges)


@observed("hostgraph")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: HostGraphOptions, clock: Clock
) -> HostGraphResult:
    """Makes the graph of hosts anew and publishes it."""
    phase = PhaseRun.begin("hostgraph", crawl_dir, config, options, clock)
    report = phase.report
    require_graph(crawl_dir)
    pages, dataset = crawl_dir.dataset(WEBGRAPH), crawl_dir.dataset(table_of(options.group))
    with phase.writing(dataset) as transaction:
        build = _Build(runner, transaction, report)

        def built_from(snapshot: Snapshot) -> tuple[Snapshot, StoredGraph]:
            report.counters.clear()
            stored = StoredGraph.of(pages.folder, snapshot)
            return snapshot, build.graph(stored, options.group)

        with phase.timed("graph"):
            # nobody locks the link graph: anew where it is replaced and deleted meanwhile
            webgraph, graph = pages.reading(partial(require_graph, crawl_dir), built_from)
        kernel = PageRank(_MAX_ITERATIONS, config[LINK_ANALYZE_DAMPING_FACTOR], _TOLERANCE)
        precision = config[HOSTGRAPH_HYPERBALL_PRECISION]
        counter = counter_of(graph.node_count, options.centrality, precision)
        with phase.timed("ranks"):
            ranked = build.ranked(graph, kernel, counter)
        with phase.timed("write"):
            files = build.written(graph, ranked, table_of(options.group))
            first = partial(first_hosts, transaction.folder, options.top)
            tables = runner.run(first, files, "hostgraph: first hosts") if options.top else []
        rows = [row for some in tables for row in some.to_pylist()]
        top = tuple(sorted(rows, key=lambda row: int(row["harmonic_pos"])))
        report.counters["edges"] = graph.edge_count
        report.counters[f"{options.group.value}s"] = graph.node_count
        report.details["webgraph_snapshot"] = webgraph.number
        published = phase.publish(
            transaction,
            files,
            buckets=max(1, len(files)),
            notes={MADE_FROM_WEBGRAPH: webgraph.number},
            attached={HOSTGRAPH_EDGES.name: graph.edges.values()},
        )
        remarks = hostgraph_remarks(crawl_dir, options.group.value, webgraph, graph.edge_count)
        took_over = transaction.lock.took_over
        return HostGraphResult(published, report, tuple(remarks), took_over, top=top)


@dataclass(frozen=True)
class _Build:
    """The steps, and what they share."""

    runner: Runner
    transaction: Transaction
    report: Report

    def graph(self, pages: StoredGraph, group: NodeGroup) -> StoredGraph:
        """Hosts with the numbers of their links, in files of the job's, and their links in those
        that are published."""
        parts = list(range(len(pages.nodes)))
        scratch = self.transaction.scratch
        job = NamesJob(pages, group)
        sampled = self.runner.run(partial(sample_names, job), parts, "hostgraph: sample names")
        job = replace(job, bounds=bounds_of(sampled))
        ranges = len(job.bounds) + 1
        send = partial(send_names, job)
        sent = self.runner.exchange(send, parts, ranges, "hostgraph: send names")
        for counters in sent.results():
            self.report.counters += counters
        numbers = [(number, number) for number in range(ranges)]
        write = partial(write_names, scratch)
        named = sent.send(write, numbers, max(1, len(parts)), "hostgraph: names")
        names = named.results()
        bounds = np.cumsum([0, *(each.rows for each in names)], dtype=np.int64)
        number = partial(number_pages, NumberJob(pages, scratch, bounds))
        groups = named.run(number, [(part, part) for part in parts], "hostgraph: number pages")
        place, firsts = self.transaction.scratch_place, bounds.tolist()
        tasks = [
            links.LinkedTask(part, firsts[part], firsts[part + 1], f"{place}/{each.path}")
            for part, each in enumerate(names)
            if each.rows
        ]
        return self._linked(links.SendLinksJob(pages, scratch, tuple(groups), bounds), tasks)

    def _linked(self, job: links.SendLinksJob, tasks: list[links.LinkedTask]) -> StoredGraph:
        folder, place = self.transaction.folder, self.transaction.place
        if not tasks:
            return StoredGraph(folder, ())
        parts = list(range(len(job.graph.nodes)))
        send = partial(links.send_links, job)
        sent = self.runner.exchange(send, parts, len(tasks), "hostgraph: send links")
        for counters in sent.results():
            self.report.counters += counters
        target = BucketTarget(HOSTGRAPH_EDGES, folder, place, EDGE_GROUP_ROWS, stem="edges")
        addressed = [(task.part, task) for task in tasks]
        write = partial(links.write_links, target, job.bounds)
        counted = sent.send(write, addressed, len(tasks), "hostgraph: links")
        edges = {file.bucket: file for files in counted.results() for file in files}
        count = partial(links.write_linked, folder, self.transaction.scratch_place)
        hosts = counted.run(count, addressed, "hostgraph: count links")
        return StoredGraph(folder, tuple(hosts), edges)

    def ranked(self, graph: StoredGraph, kernel: PageRank, counter: BallCounter) -> list[HostsTask]:
        """Where the ranks of all hosts are."""
        scratch, runner = self.transaction.scratch, self.runner
        ranked = iterate(runner, RankJob(graph, kernel, scratch), rank_tasks(graph))
        parts = [task.parts for task in ranked.tasks]
        centralities, distance = harmonic(runner, graph, counter, scratch, parts)
        self.report.counters["iterations"] = ranked.iterations
        self.report.counters["distance"] = distance
        self.report.details["centrality"] = counter.name
        pageranks = tuple(task.scores for task in ranked.tasks if task.scores is not None)
        columns = (
            centralities,
            positions(runner, scratch, centralities, "harmonic centrality"),
            pageranks,
            positions(runner, scratch, pageranks, "PageRank"),
        )
        return [
            HostsTask(task.parts, tuple(pieces))
            for task, pieces in zip(ranked.tasks, zip(*columns, strict=True), strict=True)
        ]

    def written(
        self, graph: StoredGraph, tasks: list[HostsTask], table: Table
    ) -> tuple[BucketFile, ...]:
        """The files of the table of hosts."""
        transaction = self.transaction
        target = BucketTarget(table, transaction.folder, transaction.place, stem="hosts")
        job = HostsJob(graph, transaction.scratch, target)
        written = self.runner.run(partial(write_hosts, job), tasks, "hostgraph: write")
        return tuple(file for files in written for file in files)
