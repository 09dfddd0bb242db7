"""nodedumper: the pages of the link graph, or their hosts or domains, the largest first.

Steps: group (where asked for) → count (a task a file of nodes) → send and sort (a task a range of
values).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from crawl.buckets.exchange import Exchange
from crawl.buckets.runner import Runner
from crawl.buckets.webgraph.dump import (
    GroupJob,
    GroupValues,
    ListFormat,
    NodeGroup,
    NodeValue,
    NodeValues,
    WriteListJob,
    send_groups,
    take_list,
    write_groups,
    write_list,
)
from crawl.buckets.webgraph.graph import StoredGraph
from crawl.buckets.webgraph.listing import (
    SendListJob,
    Values,
    count_bins,
    plan_list,
    send_listed,
)
from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import UsageError
from crawl.model.derived_tables import WEBGRAPH
from crawl.phases.linkrank import require_graph, require_scores
from crawl.phases.readdb import SUCCESS
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot

MOST_PRINTED = 100_000
"""Longer lists are written to files."""


@dataclass(frozen=True, slots=True)
class NodeDumperOptions:
    """What the command line says."""

    by: NodeValue
    top: int | None = None
    group: NodeGroup | None = None
    is_sum: bool = True
    """Of the values of a host or domain; else the greatest."""
    output: str | None = None
    format: ListFormat = ListFormat.TEXT
    separator: str = "\t"


@dataclass(frozen=True, slots=True)
class NodeDumperResult:
    """How many there are in the list; and the list, where it was written nowhere."""

    rows: int
    listed: tuple[tuple[str, float], ...] = ()


def check(crawl_dir: CrawlDir, options: NodeDumperOptions) -> Snapshot:
    """The graph that is listed; raises what is wrong with the options."""
    if options.output is None and (options.top is None or options.top > MOST_PRINTED):
        raise UsageError(
            f"name a folder for a list of more than {MOST_PRINTED:,}: --output FOLDER, or --top N"
        )
    is_scored = options.by is NodeValue.SCORES
    return require_scores(crawl_dir) if is_scored else require_graph(crawl_dir)


def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: NodeDumperOptions, clock: Clock
) -> NodeDumperResult:
    """Lists the graph under its lock: a graph that is replaced would take its files with it."""
    check(crawl_dir, options)
    dataset = crawl_dir.dataset(WEBGRAPH)
    with crawl_dir.writing(dataset, "nodedumper", config, clock) as reading:
        assert reading.base is not None
        graph = StoredGraph.of(dataset.folder, reading.base)
        source: Values = NodeValues(graph, options.by)
        parts = list(range(len(graph.nodes)))
        if options.group is not None and parts:
            source, parts = _grouped(runner, graph, options, reading.scratch)
        counted = runner.run(partial(count_bins, source), parts, "nodedumper: count")
        plan = plan_list(counted, options.top)
        sent = runner.exchange(
            partial(send_listed, SendListJob(source, plan)),
            parts,
            max(1, len(plan.kept)),
            "nodedumper: send",
        )
        return _listed(sent, plan.kept, options)


def _grouped(
    runner: Runner, graph: StoredGraph, options: NodeDumperOptions, scratch: Folder
) -> tuple[Values, list[int]]:
    assert options.group is not None
    count = len(graph.nodes)
    job = GroupJob(NodeValues(graph, options.by), options.group, options.is_sum, count)
    sent = runner.exchange(
        partial(send_groups, job), list(range(count)), count, "nodedumper: send groups"
    )
    paths = sent.run(
        partial(write_groups, job, scratch),
        [(number, number) for number in range(count)],
        "nodedumper: group",
    )
    return GroupValues(scratch, tuple(paths)), list(range(count))


def _listed(
    sent: Exchange[None], kept: tuple[int, ...], options: NodeDumperOptions
) -> NodeDumperResult:
    tasks = [(number, (number, rows)) for number, rows in enumerate(kept)]
    if options.output is None:
        pairs = sent.run(take_list, tasks, "nodedumper: sort")
        every = tuple(pair for some in pairs for pair in some)
        return NodeDumperResult(len(every), every)
    output = Folder(options.output)
    job = WriteListJob(output, options.format, options.separator)
    written = sent.run(partial(write_list, job), tasks, "nodedumper: sort")
    output.write(SUCCESS, b"")
    return NodeDumperResult(sum(written))
