"""nodedumper: the pages of the link graph, or their hosts or domains, the largest first.

Steps: group (where asked for) → count (a task a file of nodes) → send and sort (a task a range of
values). It reads what is published, without a lock, and writes nothing to the crawl.
"""

from __future__ import annotations

from functools import partial
from itertools import chain

from crawl.driver.output_folder import SUCCESS, make_room
from crawl.errors import UsageError
from crawl.model.derived_tables import WEBGRAPH
from crawl.phases.linkrank.run import require_graph, require_scores
from crawl.phases.nodedumper.options import NodeDumperOptions, Nodes
from crawl.phases.webgraph.tasks import dump, listing
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.values import NodeGroup, NodeValue
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.tables.exchange import Exchange
from crawl.tables.runner import Runner

MAX_PRINTED = 100_000
"""Longer lists are written to files."""


def check(crawl_dir: CrawlDir, options: NodeDumperOptions) -> Snapshot:
    """The graph that is listed; raises what is wrong with the options."""
    if options.output is None and (options.top is None or options.top > MAX_PRINTED):
        raise UsageError(
            f"name a folder for a list of more than {MAX_PRINTED:,}: --output FOLDER, or --top N"
        )
    is_scored = options.value is NodeValue.SCORES
    return require_scores(crawl_dir) if is_scored else require_graph(crawl_dir)


def run(runner: Runner, crawl_dir: CrawlDir, options: NodeDumperOptions) -> Nodes:
    """Lists the graph, in a folder that has room where one is named; anew where the graph was
    replaced meanwhile."""
    dataset = crawl_dir.dataset(WEBGRAPH)

    def list_nodes(snapshot: Snapshot) -> Nodes:
        values = dump.NodeValues(StoredGraph.of(dataset.folder, snapshot), options.value)
        if options.group is not None and values.graph.nodes:
            sent, plan = _groups(runner, values, options.group, options)
        else:
            sent, plan = _pages(runner, values, options)
        return _listed(sent, plan.lengths, options)

    def begin_anew() -> None:
        if options.output is not None:
            make_room(Folder(options.output), overwrite=True)

    return dataset.reading(partial(check, crawl_dir, options), list_nodes, begin_anew)


def _pages(
    runner: Runner, values: dump.NodeValues, options: NodeDumperOptions
) -> tuple[Exchange[None], listing.ListPlan]:
    parts = list(range(len(values.graph.nodes)))
    counted = runner.run(partial(listing.count_bins, values), parts, "nodedumper: count")
    plan = listing.plan_list(counted, options.top)
    send = partial(listing.send_listed, values, plan)
    return runner.exchange(send, parts, _ranges(plan), "nodedumper: send"), plan


def _groups(
    runner: Runner, values: dump.NodeValues, group: NodeGroup, options: NodeDumperOptions
) -> tuple[Exchange[None], listing.ListPlan]:
    count = len(values.graph.nodes)
    job = dump.GroupJob(values, group, options.is_sum, count)
    send_groups = partial(dump.send_groups, job)
    sent = runner.exchange(send_groups, list(range(count)), count, "nodedumper: send groups")
    addressed = [(number, number) for number in range(count)]
    counted = sent.run(partial(dump.count_groups, job), addressed, "nodedumper: count groups")
    plan = listing.plan_list(counted, options.top)
    send = partial(dump.list_groups, job, plan)
    return sent.send(send, addressed, _ranges(plan), "nodedumper: send"), plan


def _ranges(plan: listing.ListPlan) -> int:
    return max(1, len(plan.lengths))


def _listed(sent: Exchange[None], row_counts: tuple[int, ...], options: NodeDumperOptions) -> Nodes:
    tasks = [(number, (number, rows)) for number, rows in enumerate(row_counts)]
    if options.output is None:
        pairs = sent.run(dump.take_list, tasks, "nodedumper: sort")
        return list(chain.from_iterable(pairs))
    output = Folder(options.output)
    job = dump.WriteListJob(output, options.file_format, options.separator)
    written = sent.run(partial(dump.write_list, job), tasks, "nodedumper: sort")
    output.write(SUCCESS, b"")
    return sum(written)
