"""PageRank for linkrank: where the surfer begins, whom nobody is to trust, and the iterations.

Steps: mark (with lists: a task some files of nodes) → with denied nodes: turn (an exchange that
turns the edges round, once), distrust (iterations over these), trust → PageRank (iterations) → by
domain: sums, means and beginnings (a task some files of nodes) → PageRank once more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from crawl.errors import UsageError
from crawl.graph.kernels.surfer import Distrust, PageRank
from crawl.model.derived_tables import WEBGRAPH_EDGES
from crawl.model.report import Report
from crawl.phases.linkrank.name_lists import NameList
from crawl.phases.linkrank.ranking import Ranked, iterate
from crawl.phases.webgraph.tasks import domain_means, marks
from crawl.phases.webgraph.tasks.edges import EDGE_GROUP_ROWS, EdgesTask, write_edges
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.ranking import RankJob, RankTask, rank_tasks
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.runner import Runner


@dataclass(frozen=True)
class NameLists:
    """The lists of names in the user's files."""

    seeds: NameList | None = None
    denied: NameList | None = None


@dataclass(frozen=True)
class PageRankRun:
    """The steps, and what they share."""

    runner: Runner
    transaction: Transaction
    graph: StoredGraph
    buckets: int
    kernel: PageRank
    report: Report
    by_domain: bool = False
    """Whether the surfer begins anew by domains (webgraph/tasks/domain_means.py)."""

    def ranked(self, names: NameLists) -> Ranked:
        """The ranks of all nodes."""
        tasks, kernel = rank_tasks(self.graph), self.kernel
        if names.seeds is not None or names.denied is not None:
            tasks, total = self._marked(tasks, names)
            kernel = replace(kernel, teleport_total=total)
        if names.denied is not None and tasks:
            tasks, total = self._trusted(tasks)
            if not total > 0:
                whom = f"every page of {names.seeds.address}" if names.seeds else "every page"
                raise UsageError(
                    f"{names.denied.address} denies {whom}: there is none to begin with"
                )
            kernel = replace(kernel, teleport_total=total)
        job = RankJob(self.graph, kernel, self.transaction.scratch)
        ranked = iterate(self.runner, job, tasks)
        if not self.by_domain or not tasks:
            return ranked
        self.report.counters["plain_iterations"] = ranked.iterations
        tasks, total = self._begun_by_domain(ranked.tasks)
        job = replace(job, kernel=replace(kernel, teleport_total=total))
        return iterate(self.runner, job, tasks)

    def _begun_by_domain(self, tasks: list[RankTask]) -> tuple[list[RankTask], float]:
        """Tasks that know where the surfer begins by the ranks that they have, and the sum of
        the beginnings."""
        job = domain_means.DomainMeansJob(self.graph, self.transaction.scratch, len(tasks))
        tasks_by_number, count = list(enumerate(tasks)), len(tasks)
        send = partial(domain_means.send_sums, job)
        sent = self.runner.exchange(send, tasks_by_number, count, "linkrank: sums of domains")
        addressed = [(number, number) for number in range(count)]
        means = sent.send(domain_means.send_means, addressed, count, "linkrank: means of domains")
        write = partial(domain_means.write_beginnings, job)
        results = means.run(write, tasks_by_number, "linkrank: begin by domain")
        return [each.task for each in results], sum(each.total for each in results)

    def _marked(self, tasks: list[RankTask], names: NameLists) -> tuple[list[RankTask], float]:
        """Tasks that know which of their nodes are named, and how many seeds there are."""
        scratch, counters = self.transaction.scratch, self.report.counters
        paths: dict[str, str] = {}
        for stem, listed in (("seeds", names.seeds), ("denied", names.denied)):
            if listed is not None:
                counters[f"{stem}_listed"] = listed.lines
                paths[stem] = marks.write_names(scratch, stem, listed.table(self.buckets))
        job = marks.MarkJob(self.graph, scratch, paths.get("seeds"), paths.get("denied"))
        marked = self.runner.run(partial(marks.mark_nodes, job), tasks, "linkrank: mark")
        seeds = sum(each.seeds for each in marked)
        if names.seeds is not None:
            if not seeds:
                raise UsageError(f"no page of {names.seeds.address} is in the link graph")
            counters["seed_pages"] = seeds
        if names.denied is not None:
            counters["denied_pages"] = sum(each.denied for each in marked)
        return [each.task for each in marked], float(seeds)

    def _trusted(self, tasks: list[RankTask]) -> tuple[list[RankTask], float]:
        """Tasks that know how far their nodes are trusted, and the sum of the beginnings."""
        kernel = Distrust(self.kernel.most_iterations, self.kernel.damping, self.kernel.tolerance)
        scratch = self.transaction.scratch
        distrust = iterate(self.runner, RankJob(self._turned(), kernel, scratch), tasks)
        self.report.counters["distrust_iterations"] = distrust.iterations
        trust = partial(marks.trust_nodes, scratch)
        return self.runner.run(trust, distrust.tasks, "linkrank: trust"), distrust.sums["teleport"]

    def _turned(self) -> StoredGraph:
        """The graph with every edge turned round, in files of the job's."""
        graph, transaction = self.graph, self.transaction
        parts = list(range(len(graph.nodes)))
        send = partial(marks.send_turned, graph)
        sent = self.runner.exchange(send, parts, len(parts), "linkrank: turn edges")
        target = BucketTarget(
            WEBGRAPH_EDGES, graph.folder, transaction.scratch_place, EDGE_GROUP_ROWS, "turned"
        )
        tasks = [(part, EdgesTask(part, *graph.range_of(part))) for part in parts]
        write = partial(write_edges, target, False)
        written = sent.run(write, tasks, "linkrank: write turned edges")
        edges = {file.bucket: file for result in written for file in result.files}
        return replace(graph, edges=edges)
