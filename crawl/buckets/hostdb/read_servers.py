"""What the crawl's caches `robots` and `servers` say of hosts."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.exchange import Outbox
from crawl.buckets.hostdb.sums import CRAWL_DELAYS, ROBOTS_STATE, send_by_host, table_of
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table

_SITEMAP_LINE = r"(?im)^[ \t]*sitemap[ \t]*:"


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """A file of the dataset `robots`."""

    folder: Folder
    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class ServersFile:
    """A file of the dataset `servers`."""

    folder: Folder
    path: str
    rows: int


def send_robots_states(file: RobotsFile, buckets: int, outbox: Outbox) -> None:
    """Sends when each host was asked for its robots.txt, and what it said."""
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["host", "asked_at", "code", "content"]):
            lines = pc.count_substring_regex(rows["content"], pattern=_SITEMAP_LINE)
            columns = {
                "host": rows["host"].combine_chunks(),
                "asked_at": rows["asked_at"].combine_chunks(),
                "code": rows["code"].combine_chunks(),
                "sitemaps": lines.combine_chunks().cast(pa.int32()),
            }
            send_by_host(ROBOTS_STATE, table_of(ROBOTS_STATE, columns), buckets, outbox)


def send_crawl_delays(file: ServersFile, buckets: int, outbox: Outbox) -> None:
    """Sends the pauses that robots.txt ask for. A server is a host, unless `fetcher.queue.mode`
    says otherwise: then no host has its name."""
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["server", "crawl_delay_s"]):
            rows = rows.filter(pc.greater(rows["crawl_delay_s"], pa.scalar(0.0)))
            columns = {
                "host": rows["server"].combine_chunks(),
                "crawl_delay_s": rows["crawl_delay_s"].combine_chunks(),
            }
            send_by_host(CRAWL_DELAYS, table_of(CRAWL_DELAYS, columns), buckets, outbox)
