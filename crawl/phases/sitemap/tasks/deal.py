"""Sources are dealt to the tasks that ask their servers: each wave of reading begins with it.

Whatever is known of a server goes to one destination, that of its key: the sources on it, the
pauses that it is owed, and what was asked for before. There the list of the task that asks is
written, beside the file of pauses. Nothing of it passes the driver.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
import pyarrow as pa

from crawl.config import Config
from crawl.fetcher.values.settings import FETCHER_QUEUE_MODE
from crawl.model.arrow import required_schema, strings
from crawl.model.builders import table_of_rows
from crawl.net.dns import HostResolver
from crawl.phases.sitemap.tasks.hosts import (
    FindSitesJob,
    FindSitesTask,
    HostCut,
    SitesTally,
    find_sites,
)
from crawl.phases.sitemap.tasks.scratch_files import (
    SOURCES,
    SourceRow,
    Topic,
    read_notes,
    sources_table,
    to_sources,
)
from crawl.phases.sitemap.tasks.values import SitemapList, SitemapSource, SiteUsage, site_source
from crawl.storage import server_pauses
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.row_files import read_rows, write_rows
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.urls.parse import host_of
from crawl.urls.partition import Partitioner, PartitionMode

_SOURCES = RowKind("sources", SOURCES)
_SITES = RowKind(
    "sites",
    required_schema(
        {
            "host": pa.string(),
            "origin": pa.string(),
            "server": pa.string(),
            "bucket": pa.int32(),
            "urls": pa.int64(),
            "place": pa.int32(),
        }
    ),
)
"""Hosts of the CrawlDb, of which the cut says whether they are asked."""
_ASKED_URLS = RowKind("asked", required_schema({"url": pa.string()}))
_PAUSES = RowKind("pauses", server_pauses.TASK_PAUSES)


@dataclass(frozen=True)
class DealJob:
    """The dealing of sources to the tasks that ask their servers: the configuration, how many tasks
    there are, and how hosts are found."""

    config: Config
    scratch: Folder
    destinations: int
    find: FindSitesJob | None = None
    """How hosts of the CrawlDb are found, in the first wave."""


@dataclass(frozen=True, slots=True)
class GivenSources:
    """Sources that the driver names: a user's, or the few hosts that are to prove URLs."""

    sources: tuple[SitemapSource, ...]


@dataclass(frozen=True, slots=True)
class EarlierTask:
    """Files of a task of an earlier wave."""

    notes: str | None
    servers: Piece | None
    sources: str | None = None
    """Sources for others to ask; None where they were dealt before."""


DealTask = GivenSources | FindSitesTask | EarlierTask


def first_address(resolver: HostResolver, host: str) -> str | None:
    """The address that a host has, the first of them."""
    return next(iter(resolver.locate(host).addresses), None)


def key_of_server(config: Config, resolver: HostResolver) -> Callable[[str], str]:
    """A function from a host to the key of its server."""
    mode = PartitionMode(config[FETCHER_QUEUE_MODE])
    partitioner = Partitioner(mode, partial(first_address, resolver))
    return lambda host: partitioner.key_of_host(host).key


def deal(job: DealJob, task: DealTask, outbox: Outbox) -> SitesTally | None:
    """Sends what the task has to the destinations of its servers."""
    key_of = key_of_server(job.config, HostResolver(job.config))
    match task:
        case GivenSources(sources):
            _send_sources(job, ((each, SiteUsage()) for each in sources), key_of, outbox)
        case FindSitesTask():
            return _send_sites(job, task, key_of, outbox)
        case EarlierTask(notes, servers, onward):
            if onward is not None:
                rows = to_sources(read_rows(job.scratch, onward))
                _send_sources(job, ((source, used) for source, used, _ in rows), key_of, outbox)
            if notes is not None:
                asked = read_notes(job.scratch, notes, Topic.ASKED)["name"]
                rows_asked = pa.table([asked], schema=_ASKED_URLS.schema)
                keys = [key_of(host_of(url) or "") for url in strings(asked)]
                _send(job, _ASKED_URLS, rows_asked, keys, outbox)
            if servers is not None:
                for pauses in server_pauses.read_pause_rows(job.scratch, servers):
                    _send(job, _PAUSES, pauses, strings(pauses["server"]), outbox)
    return None


def _send_sources(
    job: DealJob,
    sources: Iterable[tuple[SitemapSource, SiteUsage]],
    key_of: Callable[[str], str],
    outbox: Outbox,
) -> None:
    rows = [(source, used, key_of(host_of(source.url) or "")) for source, used in sources]
    _send(job, _SOURCES, sources_table(rows), [server for _, _, server in rows], outbox)


def _send_sites(
    job: DealJob, task: FindSitesTask, key_of: Callable[[str], str], outbox: Outbox
) -> SitesTally:
    assert job.find is not None
    sites, tally = find_sites(job.find, task)
    places: defaultdict[int, Iterator[int]] = defaultdict(count)
    servers = [key_of(site.host) for site in sites]
    rows = [
        (site.host, site.origin, server, tally.bucket, site.urls, next(places[site.urls]))
        for site, server in zip(sites, servers, strict=True)
    ]
    _send(job, _SITES, table_of_rows(rows, _SITES.schema), servers, outbox)
    return tally


def _send(job: DealJob, kind: RowKind, rows: pa.Table, servers: list[str], outbox: Outbox) -> None:
    numbers = [bucket_of(server, job.destinations) for server in servers]
    outbox.send(kind, rows, np.array(numbers, dtype=np.int32))


def write_list(scratch: Folder, cut: HostCut, number: int, received: Received) -> SitemapList:
    """Writes what one task is to ask for, each URL once and none that was asked for before, and
    the pauses of its servers."""
    asked = set(strings(received.rows(_ASKED_URLS)["url"]))
    sources: dict[str, SourceRow] = {}
    repeated = 0
    for row in [*to_sources(received.rows(_SOURCES)), *_chosen_sites(cut, received)]:
        url = row[0].url
        if url in asked or url in sources:
            repeated += 1
        else:
            sources[url] = row
    rows = sorted(sources.values(), key=lambda each: each[2])
    name = write_rows(scratch, "list", sources_table(rows)) if rows else ""
    pauses = server_pauses.last_pauses(server_pauses.to_pauses(received.rows(_PAUSES)))
    servers = server_pauses.write_pauses(scratch, number, pauses) if pauses else None
    return SitemapList(number, name, len(rows), servers, repeated)


def _chosen_sites(cut: HostCut, received: Received) -> Iterable[SourceRow]:
    for row in received.rows(_SITES).to_pylist():
        if cut.takes(row["bucket"], row["urls"], row["place"]):
            yield site_source(row["origin"], row["host"]), SiteUsage(), row["server"]
