"""Opens a crawl for a command: the API's handle, shown on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from crawl.api.crawl import Crawl
from crawl.config import Config
from crawl.facade.base import HandleHooks
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir

if TYPE_CHECKING:
    from crawl.rounds.lanes import RoundObserver
    from crawl.rounds.on_spark import Displays


def open_crawl(
    crawl_dir: str,
    config: Config,
    spark: SparkOptions | None = None,
    *,
    command: str,
    observer: Callable[[], RoundObserver] | None = None,
) -> Crawl:
    """The crawl in a folder; to be used in a `with`, which stops what it starts.

    `command` names the Spark application; `observer` makes what is informed about rounds.
    """
    spark = spark or SparkOptions(None, quiet=True)

    def make_displays() -> Displays:
        from crawl.cli.common.progress import terminal_displays

        return terminal_displays(quiet=spark.quiet)

    hooks = HandleHooks(command, make_displays)
    if observer is not None:
        hooks = HandleHooks(command, make_displays, observer)
    return Crawl(CrawlDir(crawl_dir), config, spark, hooks)
