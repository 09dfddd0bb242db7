"""crawl nodedumper."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import echo_columns, print_json, remark
from crawl.config import Config
from crawl.errors import UsageError
from crawl.phases.webgraph.tasks.dump import ListFormat
from crawl.spark.runners import SparkOptions

COMMON_CRAWL = "cc"


@click.command("nodedumper")
@crawl_dir_argument
@click.option("--inlinks", is_flag=True, help="By the number of pages that link there.")
@click.option("--outlinks", is_flag=True, help="By the number of pages that they link to.")
@click.option("--scores", is_flag=True, help="By what linkrank made of them.")
@click.option(
    "--top", "--topn", "top", type=click.IntRange(min=1), metavar="N", help="Only the first N."
)
@click.option(
    "--group", type=click.Choice(["host", "domain"]), help="Hosts or domains instead of pages."
)
@click.option("--sum", "sums", is_flag=True, help="With --group: the sum of its pages (default).")
@click.option("--max", "greatest", is_flag=True, help="With --group: the greatest of its pages.")
@click.option("--output", metavar="FOLDER", help="Write files to a new folder.")
@click.option(
    "--format",
    "list_format",
    type=click.Choice([*(each.value for each in ListFormat), COMMON_CRAWL]),
    help="With --output: of the files.  [default: text]  cc, with --group: not a list, but the"
    " graph that `crawl hostgraph` made, as Common Crawl publishes theirs.",
)
@click.option(
    "--as-eff", is_flag=True, help="Text with = between name and value, for Solr's file fields."
)
@click.option("--overwrite", is_flag=True, help="With --output: replace an older list in FOLDER.")
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    inlinks: bool,
    outlinks: bool,
    scores: bool,
    top: int | None,
    group: str | None,
    sums: bool,
    greatest: bool,
    output: str | None,
    list_format: str | None,
    as_eff: bool,
    overwrite: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """List the pages of the link graph of CRAWL_DIR, or their hosts or domains, the largest
    first. One of --inlinks, --outlinks and --scores; or --format cc.

    --format cc writes vertices.txt.gz, edges.txt.gz and ranks.txt.gz, and the same as Parquet.

    \b
    Examples:
      crawl nodedumper mycrawl --scores --top 20
      crawl nodedumper mycrawl --inlinks --group domain --sum --top 100
      crawl nodedumper mycrawl --scores --output ranks --format parquet
      crawl nodedumper mycrawl --group host --output graph --format cc
    """
    chosen = [
        name
        for name, given in (("inlinks", inlinks), ("outlinks", outlinks), ("scores", scores))
        if given
    ]
    if list_format == COMMON_CRAWL:
        if group is None or output is None:
            raise UsageError("--format cc goes with --group host|domain and --output FOLDER")
        if chosen or top or sums or greatest or as_eff:
            raise UsageError("--format cc writes the whole graph: give it no other option")
        with open_crawl(crawl_dir, config, spark, command="nodedumper") as web:
            vertices, edges = web.dump_hostgraph(output, group=group, overwrite=overwrite)
        if as_json:
            print_json({f"{group}s": vertices, "links": edges, "folder": output})
        else:
            remark(f"nodedumper: wrote {vertices:,} {group}s and {edges:,} links to {output}")
        return
    if len(chosen) != 1:
        raise UsageError("give one of --inlinks, --outlinks and --scores")
    if sums and greatest:
        raise UsageError("give one of --sum and --max")
    if (sums or greatest) and group is None:
        raise UsageError("--sum and --max go with --group host or --group domain")
    if (list_format or overwrite) and output is None:
        raise UsageError("--format and --overwrite go with --output FOLDER")
    if as_eff and list_format not in (None, ListFormat.TEXT):
        raise UsageError(f"--as-eff goes with text, not with --format {list_format}")
    if as_eff and as_json and output is None:
        raise UsageError("--as-eff goes with text, not with --json")
    with open_crawl(crawl_dir, config, spark, command="nodedumper") as web:
        rows, listed = web._list_nodes(
            chosen[0],
            top=top,
            group=group,
            combine="max" if greatest else "sum",
            output=output,
            format=list_format or "text",
            separator="=" if as_eff else "\t",
            overwrite=overwrite,
        )
    if output is not None and as_json:
        print_json({"lines": rows, "folder": output})
    elif output is not None:
        remark(f"nodedumper: wrote {rows:,} {'line' if rows == 1 else 'lines'} to {output}")
    elif as_json:
        print_json([{"name": name, "value": value} for name, value in listed])
    else:
        for name, value in listed:
            if as_eff:
                echo_columns(f"{name}={value:.10g}")
            else:
                echo_columns(name, f"{value:.10g}")
