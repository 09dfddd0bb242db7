"""crawl hostgraph."""

from __future__ import annotations

import click

from crawl.cli.common.if_due import with_if_due
from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    json_option,
    steal_lock_option,
    with_config,
    with_spark,
)
from crawl.cli.common.output import is_answered, print_table, remark
from crawl.cli.common.picture_option import top_option
from crawl.config import Config
from crawl.phases.hostgraph.tasks.centrality import Centrality
from crawl.phases.webgraph.tasks.dump import NodeGroup
from crawl.spark.runners import SparkOptions


@click.command("hostgraph")
@crawl_dir_argument
@click.option(
    "--group",
    type=click.Choice([each.value for each in NodeGroup]),
    default="host",
    show_default=True,
    help="Hosts, or registered domains.",
)
@click.option(
    "--centrality",
    type=click.Choice([each.value for each in Centrality]),
    help="How harmonic centrality is computed: exact, or by HyperBall, an estimate for graphs of"
    " any size (default: exact below 10,000 hosts).",
)
@top_option(20, "hosts")
@steal_lock_option
@with_if_due
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    group: str,
    centrality: str | None,
    top: int,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Make the graph of hosts of CRAWL_DIR, or of its registered domains, out of the link graph,
    and rank them by harmonic centrality and PageRank. Links within a host do not count.

    With scoring.filter.order=host-centrality and scoring.host.ranks.file=CRAWL_DIR/hostgraph the
    pages of the first hosts are fetched first. `crawl nodedumper --format cc` writes the graph in
    Common Crawl's form.

    \b
    Examples:
      crawl hostgraph mycrawl
      crawl hostgraph mycrawl --group domain --top 100
      crawl hostgraph mycrawl --centrality hyperball --json
    """
    with open_crawl(crawl_dir, config, spark, command="hostgraph") as web:
        done = web.hostgraph(group=group, centrality=centrality, top=top, steal_lock=steal_lock)
    if is_answered(done, as_json, top=done.top):
        return
    if done.top:
        print_table(
            f"first {group}s",
            ["", group, "harmonic", "PageRank", "by PageRank", "inlinks", "pages"],
            [
                [
                    each["harmonic_pos"],
                    each["host"],
                    f"{each['harmonic']:.6g}",
                    f"{each['pagerank']:.6g}",
                    each["pagerank_pos"],
                    each["inlinks"],
                    each["pages"],
                ]
                for each in done.top
            ],
        )
    counters = done.counters
    seconds = sum(done.seconds.values())
    remark(
        f"hostgraph: {crawl_dir}/{group}graph is now snapshot {done.snapshot} with"
        f" {counters[f'{group}s']:,} {group}s and {counters['edges']:,} links between them, of"
        f" {counters['pages']:,} pages and {counters['page_links']:,} links, in {seconds:.1f} s"
    )
