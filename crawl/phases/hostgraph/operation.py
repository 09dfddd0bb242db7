"""hostgraph as an operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crawl.operations.operation import Asked, Due, Operation
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.view import Note, Part, Table, View
from crawl.operations.work import Work
from crawl.phases.hostgraph.options import HostGraphOptions


@dataclass(frozen=True, slots=True)
class HostGraphResult(PhaseResult):
    """What a hostgraph did; `snapshot` is that of the graph of hosts or domains."""

    top: tuple[Mapping[str, Any], ...] = ()
    """The first hosts or domains by harmonic centrality, as rows of the table."""


def run(work: Work, options: HostGraphOptions) -> HostGraphResult:
    from crawl.driver.derived import behind_lines
    from crawl.driver.phase_run import run_when_free
    from crawl.phases.hostgraph import run as driver
    from crawl.phases.linkrank.run import require_graph

    pages = require_graph(work.directory)
    lacking = behind_lines(work.directory, ("webgraph",))
    dataset = work.directory.dataset(driver.table_of(options.group))
    built = run_when_free(work, options, dataset.folder, driver.run, rows=pages.rows)
    return HostGraphResult.of(
        built.report,
        remarks=(*lacking, *built.remarks, built.took_over),
        snapshot=built.state.number,
        top=built.top,
    )


def render(result: HostGraphResult, asked: Asked) -> View:
    """What people are shown."""
    group, counters = asked.options.group, result.counters
    parts: list[Part] = []
    if result.top:
        columns = ["", group, "harmonic", "PageRank", "by PageRank", "inlinks", "pages"]
        parts.append(Table(f"first {group}s", columns, [_row(each) for each in result.top]))
    parts.append(
        Note(
            f"{asked.address}/{group}graph is now snapshot {result.snapshot} with"
            f" {counters[f'{group}s']:,} {group}s and {counters['edges']:,} links between them, of"
            f" {counters['pages']:,} pages and {counters['page_links']:,} links, in"
            f" {sum(result.seconds.values()):.1f} s"
        )
    )
    return parts


def _row(host: Mapping[str, Any]) -> list[object]:
    return [
        host["harmonic_pos"],
        host["host"],
        f"{host['harmonic']:.6g}",
        f"{host['pagerank']:.6g}",
        host["pagerank_pos"],
        host["inlinks"],
        host["pages"],
    ]


OPERATION = Operation(
    name="hostgraph",
    run=run,
    render=render,
    values=report_values("snapshot", "top"),
    uses_spark=True,
    due=Due.IF_ANY,
    help="""
    Make the graph of hosts of CRAWL_DIR, or of its registered domains, out of the link graph,
    and rank them by harmonic centrality and PageRank. Links within a host do not count.

    With scoring.filter.order=host-centrality, and the folder hostgraph of CRAWL_DIR as
    scoring.host.ranks.file, the pages of the first hosts are fetched first.
    `crawl nodedumper --format cc` writes the graph in Common Crawl's form.
    """,
    examples=(
        "crawl hostgraph mycrawl",
        "crawl hostgraph mycrawl --group domain --top 100",
        "crawl hostgraph mycrawl --centrality hyperball --json",
    ),
    calls=('[host["host"] for host in web.hostgraph().top]',),
)
