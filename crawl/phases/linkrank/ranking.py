"""The iterations of a rank over the buckets of a graph, of pages or of hosts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from crawl.graph.kernels.kernel import Sums
from crawl.phases.webgraph.tasks import ranking
from crawl.tables.runner import Runner


@dataclass(frozen=True, slots=True)
class Ranked:
    """Tasks that know where the scores of their nodes are."""

    tasks: list[ranking.RankTask]
    iterations: int
    sums: Sums


def iterate(runner: Runner, job: ranking.RankJob, tasks: list[ranking.RankTask]) -> Ranked:
    """Iterates until the kernel is done. The vector of scores lies in files of the job's scratch
    folder; the driver adds up what tasks measured, and decides about a further iteration."""
    kernel, step = job.kernel, f"{job.kernel.name}: begin"
    iteration = 0
    if not tasks:
        return Ranked([], 0, {})
    function = ranking.begin_rank
    pieces: list[str] = []
    while True:
        results = runner.run(partial(function, job), tasks, step)
        # in the order of the tasks, so that they come out the same
        sums: defaultdict[str, float] = defaultdict(float)
        for name, value in chain.from_iterable(result.sums.items() for result in results):
            sums[name] += value
        for path in pieces:
            job.scratch.delete(path)  # or all iterations' vectors would lie there
        pieces = [path for each in results for path in (each.scores.path, each.shares.path)]
        tasks = [
            replace(task, scores=each.scores) for task, each in zip(tasks, results, strict=True)
        ]
        job = replace(job, shares=tuple(each.shares for each in results), sums=sums)
        if iteration == kernel.most_iterations or (iteration and kernel.is_done(sums)):
            return Ranked(tasks, iteration, sums)
        function = ranking.iterate_rank
        iteration += 1
        step = f"{kernel.name}: iteration {iteration}"
