"""crawl status."""

from __future__ import annotations

import click

from crawl.cli import fetch_progress, parse_progress
from crawl.cli.options import crawl_dir_argument, json_option
from crawl.cli.output import print_json, print_table
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.config.properties import LOCK_STALE_AFTER
from crawl.phases import updatedb
from crawl.rounds import Stage
from crawl.rounds.loop import stage_of
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import holder_of
from crawl.storage.segments import FETCH, GENERATE

_STATES = {
    Stage.GENERATED: "generated",
    Stage.FETCHING: "interrupted",
    Stage.FETCHED: "fetched",
    Stage.PARSED: "parsed",
    Stage.UPDATED: "updated",
}


@click.command("status")
@crawl_dir_argument
@json_option
def command(crawl_dir: str, as_json: bool) -> None:
    """Tell how far the segments of CRAWL_DIR are; also of a fetch that is running elsewhere.

    The state of a segment is `generated`, `interrupted` in its fetch, `fetched`, `parsed` or
    `updated`: the CrawlDb has taken it in; or it is the command that works on it now.

    \b
    Examples:
      crawl status mycrawl
      watch crawl status mycrawl
    """
    directory = CrawlDir(crawl_dir)
    directory.require_crawldb()
    clock = SystemClock()
    stale_after_ms = Config()[LOCK_STALE_AFTER] * 60_000
    applied = updatedb.applied(directory)
    rows = []
    for segment in directory.segments.generated():
        urls = segment.require(GENERATE).rows
        fetched = segment.manifest(FETCH)
        holder = holder_of(segment.folder)
        if holder is not None and holder.is_dead(clock.now_ms(), stale_after_ms):
            holder = None
        if holder is not None:
            state = f"{holder.command} on {holder.host}"
        else:
            state = _STATES[stage_of(segment, applied)]
        told = ""
        if holder is not None:
            asked = parse_progress if holder.command == "parse" else fetch_progress
            told = str(asked.progress_of(segment))
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
