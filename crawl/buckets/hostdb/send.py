"""updatehostdb's first step: whatever tells of hosts is read, a file a task, and its sums are sent
to the hosts' buckets."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from crawl.buckets.exchange import Outbox
from crawl.buckets.hostdb.read_crawldb import send_records
from crawl.buckets.hostdb.read_segments import (
    ContentFile,
    FetchFile,
    send_contents,
    send_requests,
)
from crawl.buckets.hostdb.read_servers import (
    RobotsFile,
    ServersFile,
    send_crawl_delays,
    send_robots_states,
)
from crawl.buckets.hostdb.sums import BASE, send_by_host
from crawl.buckets.slices import Slice
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostDbFile:
    """A file of the HostDb of before, which has another number of buckets."""

    folder: Folder
    path: str
    rows: int


SendTask = Slice | FetchFile | ContentFile | RobotsFile | ServersFile | HostDbFile


@dataclass(frozen=True)
class SendJob:
    """What every task of the step needs to know."""

    crawldb: Folder
    buckets: int


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
        case RobotsFile() | ServersFile():
            try:
                if isinstance(task, RobotsFile):
                    send_robots_states(task, buckets, outbox)
                else:
                    send_crawl_delays(task, buckets, outbox)
            except StorageError as error:  # a cache, and a fetch may have written it anew
                _log.warning("%s; what it held is not known", error)
                counters["cache_files_unread"] += 1
        case HostDbFile():
            with open_table(task.folder, task.path) as source:
                for rows in each_group(source):
                    send_by_host(BASE, rows, buckets, outbox)
    return +counters
