"""Opens a crawl for a command: the API's handle, shown on a terminal."""

from __future__ import annotations

from crawl.api.crawl import Crawl
from crawl.config import Config
from crawl.facade.base import HandleHooks
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir


def open_crawl(
    crawl_dir: str, config: Config, spark: SparkOptions | None = None, *, command: str
) -> Crawl:
    """The crawl in a folder; to be used in a `with`, which stops what it starts.

    `command` names the Spark application.
    """
    spark = spark or SparkOptions(None, quiet=True)
    return Crawl(CrawlDir(crawl_dir), config, spark, HandleHooks(command))
