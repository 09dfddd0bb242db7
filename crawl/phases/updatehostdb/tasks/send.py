"""updatehostdb's first step: whatever tells of hosts is read, a file a task, and its sums are sent
to the hosts' buckets."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.model.arrow import with_all_columns
from crawl.model.derived_tables import HOSTDB
from crawl.phases.updatehostdb.tasks.read_crawldb import send_records
from crawl.phases.updatehostdb.tasks.read_segments import (
    ContentFile,
    FetchFile,
    send_contents,
    send_requests,
)
from crawl.phases.updatehostdb.tasks.read_servers import (
    RobotsFile,
    ServersFile,
    SitemapsFile,
    send_crawl_delays,
    send_robots_states,
    send_sitemap_states,
)
from crawl.phases.updatehostdb.tasks.sums import BASE, send_by_host
from crawl.robots.answer import RobotsPolicy
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.tables.exchange import Outbox
from crawl.tables.slices import Slice

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostDbFile:
    """A file of the HostDb of before, which has another number of buckets."""

    folder: Folder
    path: str
    rows: int


SendTask = Slice | FetchFile | ContentFile | RobotsFile | ServersFile | SitemapsFile | HostDbFile


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
    buckets = job.buckets
    match task:
        case Slice():
            counters["urls"] += send_records(job.crawldb, buckets, task, outbox)
        case FetchFile():
            counters["requests"] += send_requests(task, buckets, outbox)
        case ContentFile():
            counters["bytes"] += send_contents(task, buckets, outbox)
        case RobotsFile() | ServersFile() | SitemapsFile():
            try:
                _send_cache(job, task, outbox)
            except StorageError as error:  # a cache, and a fetch may have written it anew
                _log.warning("%s; what it held is not known", error)
                counters["cache_files_unread"] += 1
        case HostDbFile():
            with open_table(task.folder, task.path) as source:
                for rows in each_group(source):
                    send_by_host(BASE, with_all_columns(rows, HOSTDB.schema), buckets, outbox)
    return +counters


def _send_cache(
    job: SendJob, file: RobotsFile | ServersFile | SitemapsFile, outbox: Outbox
) -> None:
    match file:
        case RobotsFile():
            send_robots_states(file, job.robots, job.buckets, outbox)
        case ServersFile():
            send_crawl_delays(file, job.buckets, outbox)
        case SitemapsFile():
            send_sitemap_states(file, job.buckets, outbox)
