"""crawl status."""

from __future__ import annotations

import click

from crawl.cli.fetch_progress import progress_of
from crawl.cli.options import crawl_dir_argument, json_option
from crawl.cli.output import print_json, print_table
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.config.properties import LOCK_STALE_AFTER
from crawl.storage.chunks import CHUNKS
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import holder_of
from crawl.storage.segments import FETCH, GENERATE


@click.command("status")
@crawl_dir_argument
@json_option
def command(crawl_dir: str, as_json: bool) -> None:
    """Tell how far the segments of CRAWL_DIR are; also of a fetch that is running elsewhere.

    \b
    Examples:
      crawl status mycrawl
    """
    directory = CrawlDir(crawl_dir)
    directory.require_crawldb()
    clock = SystemClock()
    stale_after_ms = Config()[LOCK_STALE_AFTER] * 60_000
    rows = []
    for segment in directory.segments.generated():
        urls = segment.require(GENERATE).rows
        fetched = segment.manifest(FETCH)
        holder = holder_of(segment.folder)
        if holder is not None and holder.is_dead(clock.now_ms(), stale_after_ms):
            holder = None
        if holder is not None:
            state = f"{holder.command} on {holder.host}"
        elif fetched is not None and fetched.complete:
            state = "fetched"
        else:
            state = "interrupted" if segment.folder.exists(CHUNKS) else "generated"
        told = str(progress_of(segment)) if holder is not None else ""
        rows.append(
            {
                "segment": segment.name,
                "urls": urls,
                "records": fetched.rows if fetched else 0,
                "state": state,
                "progress": told,
            }
        )
    if as_json:
        print_json(rows)
    else:
        columns = ["segment", "urls", "records", "state", "progress"]
        print_table("segments", columns, [list(row.values()) for row in rows])
