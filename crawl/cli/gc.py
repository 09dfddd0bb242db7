"""crawl gc."""

from __future__ import annotations

from collections.abc import Sequence

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, steal_lock_option, with_config
from crawl.cli.common.output import print_remarks, remark
from crawl.config import Config


@click.command("gc")
@crawl_dir_argument
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="Snapshots to keep (default: crawldb.snapshots.keep).",
)
@steal_lock_option
@with_config
def command(crawl_dir: str, keep: int | None, steal_lock: bool, config: Config) -> None:
    """Forget old snapshots of the CrawlDb of CRAWL_DIR and delete files that no kept one
    names, and what killed commands left unfinished. Writers do this themselves; run it to keep
    fewer.

    A reader whose snapshot is forgotten meanwhile starts again with the current one; only
    jobs of your own that read the files by name (`crawl snapshots --files`, the Spark format)
    must be run again.

    \b
    Examples:
      crawl gc mycrawl
      crawl gc mycrawl --keep 1
    """
    with open_crawl(crawl_dir, config, command="gc") as web:
        done = web.gc(keep, steal_lock=steal_lock)
    print_remarks(done)
    remark(
        f"gc: forgot {_named(done.forgotten)}, kept {_named(done.kept)};"
        f" deleted {done.counters['files_deleted']} files"
    )


def _named(numbers: Sequence[int]) -> str:
    if not numbers:
        return "nothing"
    some = "snapshot" if len(numbers) == 1 else "snapshots"
    return f"{some} {', '.join(map(str, numbers))}"
