"""updatehostdb's first step: whatever tells of hosts is read, a file a task, and its sums are sent
to the hosts' buckets."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.model.arrow import with_all_columns
from crawl.model.derived_tables import HOSTDB
from crawl.model.tables import ROBOTS, SERVERS, SITEMAPS
from crawl.phases.updatehostdb.tasks import sums
from crawl.phases.updatehostdb.tasks.read_crawldb import send_records
from crawl.phases.updatehostdb.tasks.read_segments import send_contents, send_requests
from crawl.phases.updatehostdb.tasks.read_servers import as_columns, crawl_delays, robots_states
from crawl.robots.answer import RobotsPolicy
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import CONTENT, FETCH
from crawl.tables.exchange import Outbox, RowKind
from crawl.tables.slices import Slice

_log = logging.getLogger(__name__)


SendTask = Slice | sums.HostsFile


@dataclass(frozen=True)
class SendJob:
    """The sending of what is known of hosts to their buckets: the CrawlDb, the number of buckets,
    and the rules for robots.txt."""

    crawldb: Folder
    buckets: int
    robots: RobotsPolicy


def send_sums(job: SendJob, task: SendTask, outbox: Outbox) -> Counters:
    """Sends what a file says of hosts to their buckets."""
    counters = Counters()
    if isinstance(task, Slice):
        counters["urls"] += send_records(job.crawldb, job.buckets, task, outbox)
    elif task.table == FETCH:
        counters["requests"] += send_requests(task, job.buckets, outbox)
    elif task.table == CONTENT:
        counters["bytes"] += send_contents(task, job.buckets, outbox)
    else:
        try:
            _send_table(job, task, outbox)
        except StorageError as error:
            if task.table == HOSTDB.name:
                raise
            # a cache, and a fetch may have written it anew
            _log.warning("%s; what it held is not known", error)
            counters["cache_files_unread"] += 1
    return +counters


def _send_table(job: SendJob, file: sums.HostsFile, outbox: Outbox) -> None:
    """Sends the rows of a file of the HostDb, or of a cache."""
    tables: dict[str, tuple[RowKind, list[str] | None, Callable[[pa.Table], dict[str, Any]]]] = {
        HOSTDB.name: (sums.BASE, None, base_columns),
        ROBOTS.name: (sums.ROBOTS_STATE, None, partial(robots_states, policy=job.robots)),
        SERVERS.name: (sums.CRAWL_DELAYS, ["server", "crawl_delay_s"], crawl_delays),
        SITEMAPS.name: (sums.SITEMAP_STATE, SITEMAPS.names, as_columns),
    }
    kind, columns, columns_of = tables[file.table]
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, columns):
            sums.send_by_host(kind, columns_of(rows), job.buckets, outbox)


def base_columns(rows: pa.Table) -> dict[str, Any]:
    return as_columns(with_all_columns(rows, HOSTDB.schema))
