"""webgraph: what the pages of segments link to becomes the link graph's next state.

Steps: send (a task a file of parsed pages) → outlinks (a task a slice that has news) → nodes (a
task a file of outlinks, then one a slice of nodes) → edges (the same files, then a task a file of
nodes) → publish. A segment is taken in once: the snapshot says which ones it contains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, pairwise

import numpy as np

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS, CRAWLDB_FILE_ROWS
from crawl.driver import segment_choice
from crawl.driver.link_sites import find_link_sites, is_outgrown, sites_note
from crawl.driver.merge_table import merge_table
from crawl.driver.observed import observed
from crawl.driver.phase_run import PhaseRun, Published
from crawl.graph.settings import LINK_DELETE_GONE
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.derived_tables import WEBGRAPH, WEBGRAPH_EDGES, WEBGRAPH_OUTLINKS
from crawl.model.report import Report
from crawl.phases.webgraph.options import WebGraphOptions
from crawl.phases.webgraph.remarks import webgraph_remarks
from crawl.phases.webgraph.rules import RULE_SETTINGS, LinkRules
from crawl.phases.webgraph.tasks.edges import (
    EDGE_GROUP_ROWS,
    EdgesTask,
    SendEdgesJob,
    send_edges,
    write_edges,
)
from crawl.phases.webgraph.tasks.graph import outlinks_view
from crawl.phases.webgraph.tasks.nodes import OutlinksFile, send_endpoints, write_nodes
from crawl.phases.webgraph.tasks.outlinks import (
    OutlinksSource,
    SegmentFile,
    SendOutlinksJob,
    newest_outlinks,
    send_outlinks,
)
from crawl.rules.sites import AUTO
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import BucketFile, in_order
from crawl.storage.segments import FETCH, PARSE_DATA, Segment
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import BucketTarget, largest_first
from crawl.tables.renormalize import Renormalization
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.tables.table_merge import MergeJob
from crawl.telemetry.context import update_context

_PAGES_PER_FILE = 250_000
"""Most pages in a file of outlinks: a task has the links of one in memory."""


def check(config: Config, options: WebGraphOptions) -> None:
    """Raises what is wrong with the settings, before anything is started."""
    _renormalization(config, options)


def choose(crawl_dir: CrawlDir, options: WebGraphOptions) -> segment_choice.ChosenSegments:
    """The named segments, or every one that is parsed and not in the graph yet; raises UsageError
    where a named one cannot be meant, and NothingToDo where there is none."""
    rule = segment_choice.SegmentRule(
        lacks=partial(segment_choice.not_parsed, crawl_dir),
        unready=lambda segment: segment_choice.interrupted(crawl_dir, segment, PARSE_DATA),
        destination="the link graph",
        verb="take in",
        third_person="takes",
        participle="taken in",
    )
    names, again = options.segments, options.again
    return segment_choice.choose_new(crawl_dir, WEBGRAPH, names, rule, again=again)


@observed("webgraph")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: WebGraphOptions, clock: Clock
) -> Published:
    """Takes the segments in and publishes a new snapshot of the link graph."""
    phase = PhaseRun.begin("webgraph", crawl_dir, config, options, clock)
    report = phase.report
    renormalization = _renormalization(config, options)
    with phase.writing(crawl_dir.dataset(WEBGRAPH)) as transaction:
        choice = choose(crawl_dir, options)  # nobody else can take them in from here on
        update_context(segment=" ".join(choice.names))
        base = transaction.base
        sites = find_link_sites(runner, base, choice.segments, "webgraph")
        rules = LinkRules.of(config, sites)
        is_auto = {name: config[setting] == AUTO for name, setting in RULE_SETTINGS.items()}
        decision = {name: value for name, value in asdict(rules).items() if is_auto[name]}
        report.details.update(sites_note(sites, decision))
        snapshot = base or crawl_dir.crawldb.current()
        buckets = snapshot.buckets if snapshot else config[CRAWLDB_BUCKETS]
        build = _Build(runner, transaction, config, rules, report, buckets)
        with phase.timed("outlinks"):
            files = _segment_files(choice.segments, config[LINK_DELETE_GONE])
            outlinks = build.outlinks(files, renormalization, anew=is_outgrown(base, decision))
        with phase.timed("graph"):
            nodes, edges = build.graph(outlinks)
        report.counters["nodes"] = sum(file.rows for file in nodes)
        graph = phase.publish(
            transaction,
            nodes,
            buckets=buckets,
            applying=choice.names,
            attached={WEBGRAPH_OUTLINKS.name: outlinks, WEBGRAPH_EDGES.name: edges},
            notes=sites_note(sites, decision),
        )
        own_remarks = webgraph_remarks(crawl_dir, decision, sites, choice.names, report)
        remarks = (*choice.remarks, *own_remarks)
        return Published(graph, report, remarks, transaction.lock.took_over, choice.names)


def _renormalization(config: Config, options: WebGraphOptions) -> Renormalization | None:
    return Renormalization.from_config(config, Scope.DEFAULT, options.normalize, options.filter)


_SOURCES = {FETCH: OutlinksSource.FETCHES, PARSE_DATA: OutlinksSource.PAGES}


def _segment_files(segments: Sequence[Segment], with_gone: bool) -> list[SegmentFile]:
    """Oldest segment first: of two fetches at one moment the later segment's wins."""
    return [
        SegmentFile(segment.part_folder(part), file.path, file.rows, _SOURCES[part])
        for segment in segments
        for part in ((FETCH, PARSE_DATA) if with_gone else (PARSE_DATA,))
        if (manifest := segment.manifest(part)) is not None
        for file in manifest.files
        if file.rows
    ]


@dataclass(frozen=True)
class _Build:
    """The steps, and what they share."""

    runner: Runner
    transaction: Transaction
    config: Config
    rules: LinkRules
    report: Report
    buckets: int

    def outlinks(
        self, files: list[SegmentFile], renormalization: Renormalization | None, *, anew: bool
    ) -> tuple[BucketFile, ...]:
        """The files of the table of outlinks, with what the segments bring; `anew`: what it has is
        asked the rules again."""
        folder, place = self.transaction.folder, self.transaction.place
        base = outlinks_view(self.transaction.base) if self.transaction.base else None
        file_rows = min(_PAGES_PER_FILE, self.config[CRAWLDB_FILE_ROWS])
        if base is not None and anew:
            stored = [
                SegmentFile(folder, file.path, file.rows, OutlinksSource.STORED)
                for file in base.files
            ]
            files, base = [*stored, *files], None
        slices = Slices.to_write(base, self.buckets, file_rows)
        target = BucketTarget(
            WEBGRAPH_OUTLINKS, folder, place, stem="outlinks", file_rows=file_rows
        )
        send = partial(send_outlinks, SendOutlinksJob(self.rules, slices.router, renormalization))
        sent = self.runner.exchange(send, files, len(slices), "webgraph: send")
        for counters in sent.results():
            self.report.counters += counters
        merged = merge_table(sent, MergeJob(target, newest_outlinks), slices, "webgraph: outlinks")
        return in_order(merged)

    def graph(
        self, outlinks: tuple[BucketFile, ...]
    ) -> tuple[tuple[BucketFile, ...], list[BucketFile]]:
        """The files of nodes, and those of edges."""
        folder, place = self.transaction.folder, self.transaction.place
        file_rows = self.config[CRAWLDB_FILE_ROWS]
        slices = Slices.to_write(self.transaction.base, self.buckets, file_rows)
        files = [OutlinksFile(number, file) for number, file in enumerate(outlinks)]
        addressed = [(task.number, task) for task in largest_first(files)]
        send = partial(send_endpoints, folder, slices.router)
        sent = self.runner.exchange(send, files, len(slices), "webgraph: send nodes")
        target = BucketTarget(WEBGRAPH, folder, place, stem="nodes", file_rows=file_rows)
        every = [(each.number, each) for each in slices.all]
        write = partial(write_nodes, target)
        numbered = sent.send(write, every, max(1, len(files)), "webgraph: nodes")
        written = numbered.results()
        nodes = in_order(chain.from_iterable(written))
        rows = (sum(file.rows for file in files_of_slice) for files_of_slice in written)
        offsets = np.cumsum([0, *rows], dtype=np.int64)
        bounds = np.cumsum([0, *(file.rows for file in nodes)], dtype=np.int64)
        link = partial(send_edges, SendEdgesJob(folder, self.rules, offsets, bounds))
        links = numbered.send(link, addressed, max(1, len(nodes)), "webgraph: send edges")
        ends = pairwise(bounds.tolist())
        tasks = largest_first(EdgesTask(part, *nodes_of) for part, nodes_of in enumerate(ends))
        target = BucketTarget(WEBGRAPH_EDGES, folder, place, EDGE_GROUP_ROWS, stem="edges")
        store = partial(write_edges, target, self.rules.is_limited)
        edges = links.run(store, [(task.part, task) for task in tasks], "webgraph: edges")
        for result in edges:
            self.report.counters += result.counters
        return nodes, [file for result in edges for file in result.files]
