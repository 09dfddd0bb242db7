"""nodedumper: pages, hosts or domains, the largest first; or the graph of hosts or domains. One
command, two operations."""

from __future__ import annotations

from typing import Any

from crawl.config import Config
from crawl.errors import UsageError
from crawl.operations.operation import Asked, Operation
from crawl.operations.view import Cells, Note, View
from crawl.operations.work import Work
from crawl.phases.nodedumper.options import GraphDumpOptions, NodeDumperOptions, Nodes
from crawl.phases.webgraph.values import ListFormat


def check_list(config: Config, options: NodeDumperOptions) -> None:
    """Raises where options would be ignored."""
    if options.sum and options.max:
        raise UsageError("give one of --sum and --max")
    if (options.sum or options.max) and options.group is None:
        raise UsageError("--sum and --max go with --group host or --group domain")
    if options.output is None and (options.format is not None or options.overwrite):
        raise UsageError("--format and --overwrite go with --output FOLDER")
    if options.as_eff and options.format not in (None, ListFormat.TEXT):
        raise UsageError(f"--as-eff goes with text, not with --format {options.format}")
    if options.as_eff and options.output is None and not options.is_of_command_line:
        raise UsageError("as_eff goes with an output")


def run_list(work: Work, options: NodeDumperOptions) -> Nodes:
    from dataclasses import replace

    from crawl.driver.output_folder import make_room
    from crawl.phases.nodedumper import run as driver
    from crawl.storage.folder import Folder, absolute

    graph = driver.check(work.directory, options)
    if options.output is not None:
        folder = Folder(absolute(options.output))
        make_room(folder, overwrite=options.overwrite)
        options = replace(options, output=folder.address)
    with work.runner(rows=graph.rows) as runner:
        return driver.run(runner, work.directory, options)


def run_graph(work: Work, options: GraphDumpOptions) -> tuple[int, int]:
    from crawl.driver.output_folder import make_room
    from crawl.phases.hostgraph import dump as driver
    from crawl.phases.hostgraph.run import require_hostgraph
    from crawl.storage.folder import Folder, absolute

    graph = require_hostgraph(work.directory, options.group)
    output = Folder(absolute(options.output))
    make_room(output, overwrite=options.overwrite, own=driver.OWN_NAMES)
    with work.runner(rows=graph.rows) as runner:
        return driver.run(runner, work.directory, options.group, output)


def list_values(nodes: Nodes, asked: Asked) -> Any:
    """The result for programs, ready for JSON."""
    options: NodeDumperOptions = asked.options
    if isinstance(nodes, int):
        return {"lines": nodes, "folder": options.output}
    if options.as_eff:
        raise UsageError("--as-eff goes with text, not with --json")
    return [{"name": name, "value": value} for name, value in nodes]


def graph_values(sizes: tuple[int, int], asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    options: GraphDumpOptions = asked.options
    return {f"{options.group}s": sizes[0], "links": sizes[1], "folder": options.output}


def render_list(nodes: Nodes, asked: Asked) -> View:
    """Lines of name and value, or how many were written."""
    options: NodeDumperOptions = asked.options
    if isinstance(nodes, int):
        return [Note(f"wrote {nodes:,} {'line' if nodes == 1 else 'lines'} to {options.output}")]
    if options.as_eff:
        return [Cells((f"{name}={value:.10g}",)) for name, value in nodes]
    return [Cells((name, f"{value:.10g}")) for name, value in nodes]


def render_graph(sizes: tuple[int, int], asked: Asked) -> View:
    """How large the graph is."""
    options: GraphDumpOptions = asked.options
    hosts, links = sizes
    return [Note(f"wrote {hosts:,} {options.group}s and {links:,} links to {options.output}")]


OPERATIONS = (
    Operation(
        name="nodedumper",
        command_help="""
        List the pages of the link graph of CRAWL_DIR, or their hosts or domains, the largest
        first. One of --inlinks, --outlinks and --scores; or --format cc.

        --format cc, for which --group is the host or domain and --output the folder, writes not a
        list, but the graph that `crawl hostgraph` made, as Common Crawl publishes theirs:
        vertices.txt.gz, edges.txt.gz and ranks.txt.gz, and the same as Parquet.
        """,
        examples=(
            "crawl nodedumper mycrawl --scores --top 20",
            "crawl nodedumper mycrawl --inlinks --group domain --sum --top 100",
            "crawl nodedumper mycrawl --scores --output ranks --format parquet",
            "crawl nodedumper mycrawl --group host --output graph --format cc",
        ),
        check=check_list,
        run=run_list,
        render=render_list,
        values=list_values,
        uses_spark=True,
        help="""
        The pages of the link graph of CRAWL_DIR with the highest scores, or the most inlinks or
        outlinks, with these; or their hosts or domains, by the sum or the greatest of their pages.
        With --output the list may be of any length; it is written to files, which one behind the
        other are in order, and its lines are counted.
        """,
        calls=(
            'web.nodedumper(top=10, by="inlinks", group="domain")',
            'web.nodedumper("ranks", by="scores")',
        ),
    ),
    Operation(
        name="dump_hostgraph",
        command="nodedumper",
        run=run_graph,
        render=render_graph,
        values=graph_values,
        uses_spark=True,
        help="""
        Writes the graph of hosts or domains to a new folder in Common Crawl's form (vertices,
        edges and ranks, as text and as Parquet); says how many vertices and edges it has.
        """,
        calls=('web.dump_hostgraph("graph")',),
    ),
)
