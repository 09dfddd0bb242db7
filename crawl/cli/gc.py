"""crawl gc."""

from __future__ import annotations

from collections.abc import Sequence

import click

from crawl.cli.options import crawl_dir_argument, force_option, with_config
from crawl.cli.output import remark
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.snapshots import collect_garbage
from crawl.storage.crawl_dir import CrawlDir


@click.command("gc")
@crawl_dir_argument
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="Snapshots to keep (default: crawldb.snapshots.keep).",
)
@force_option
@with_config
def command(crawl_dir: str, keep: int | None, force: bool, config: Config) -> None:
    """Forget old snapshots of the CrawlDb of CRAWL_DIR and delete files that no kept one
    names. Writers do this themselves; the command is for asking for less.

    A reader whose snapshot is forgotten meanwhile starts again with the current one; only
    jobs of your own that read the files by name (`crawl snapshots --files`, the Spark format)
    must be run again.

    \b
    Examples:
      crawl gc mycrawl
      crawl gc mycrawl --keep 1
    """
    directory = CrawlDir(crawl_dir)
    done = collect_garbage(directory, config, SystemClock(), keep, force=force)
    if done.took_over:
        remark(f"gc: {done.took_over}")
    remark(
        f"gc: forgot {_named(done.forgotten)}, kept {_named(done.kept)};"
        f" deleted {done.files_deleted} files"
    )


def _named(numbers: Sequence[int]) -> str:
    if not numbers:
        return "nothing"
    some = "snapshot" if len(numbers) == 1 else "snapshots"
    return f"{some} {', '.join(map(str, numbers))}"
