"""crawl nodereader."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, json_option, with_config
from crawl.cli.common.output import echo, print_json, remark
from crawl.config import Config
from crawl.printable import printable

NOT_FOUND = 1


@click.command("nodereader")
@crawl_dir_argument
@click.argument("url")
@click.option(
    "--links",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    help="Also name up to N of the pages that link there, and that it links to.",
)
@json_option
@with_config
def command(crawl_dir: str, url: str, links: int, as_json: bool, config: Config) -> int:
    """Show what the link graph of CRAWL_DIR knows of a page. Exit code 1 if it is not there.

    \b
    Examples:
      crawl nodereader mycrawl https://example.org/
      crawl nodereader mycrawl https://example.org/ --links 10 --json
    """
    with open_crawl(crawl_dir, config, command="nodereader") as web:
        node = web.nodereader(url, links=links)
    if as_json:
        print_json(node)
    if node is None:
        remark(f"nodereader: {printable(url)} is not in the link graph")
        return NOT_FOUND
    if as_json:
        return 0
    echo(printable(node["url"]))
    score = node["score"]
    echo(f"  score     {'none, see `crawl linkrank`' if score is None else format(score, '.10g')}")
    echo(f"  inlinks   {node['inlinks']:,}")
    for other in node["linked_from"]:
        echo(f"    {printable(other)}")
    echo(f"  outlinks  {node['outlinks']:,}")
    for other in node["links_to"]:
        echo(f"    {printable(other)}")
    return 0
