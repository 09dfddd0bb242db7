"""crawl snapshots."""

from __future__ import annotations

import click

from crawl.cli.common.options import crawl_dir_argument, json_option
from crawl.cli.common.output import echo, print_json, print_table, remark
from crawl.readers.snapshots.snapshots import list_snapshots
from crawl.storage.crawl_dir import CrawlDir


@click.command("snapshots")
@crawl_dir_argument
@click.option("--files", is_flag=True, help="Print the current snapshot's Parquet files instead.")
@json_option
def command(crawl_dir: str, files: bool, as_json: bool) -> None:
    """List the kept states of the CrawlDb of CRAWL_DIR, the current one last.

    \b
    Examples:
      crawl snapshots mycrawl
      duckdb -c "SELECT status, count(*) FROM read_parquet([$(crawl snapshots mycrawl \\
          --files | sed "s/.*/'&'/" | paste -sd,)]) GROUP BY 1"
    """
    directory = CrawlDir(crawl_dir)
    if files:
        current = directory.require_crawldb()
        paths = [directory.crawldb.folder.path(file.path) for file in current.files]
        if as_json:
            print_json(paths)
        else:
            echo("\n".join(paths))
        return
    rows = list_snapshots(directory, lambda line: remark(f"snapshots: {line}"))
    if as_json:
        print_json(rows)
    else:
        print_table("snapshots of the CrawlDb", list(rows[0]), [list(row.values()) for row in rows])
