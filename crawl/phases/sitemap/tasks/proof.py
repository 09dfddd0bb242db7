"""URLs that sitemaps of other hosts, or of other folders, list: which of them may be taken.

What decides is spread over the tasks: who names a sitemap, which index lists it, and the scopes
of these (crawl/phases/sitemap/rules.py). So scopes go from index to sitemap, from destination to
destination, until none has a new one; then the rows go to where the scopes of their sitemap
are. Most crawls have no such row, and none of these steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest

import numpy as np
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.arrow import required_schema, strings
from crawl.model.builders import rows_of, table_of_rows
from crawl.phases.sitemap.rules import is_within
from crawl.phases.sitemap.tasks.scratch_files import Topic, read_notes
from crawl.phases.sitemap.tasks.values import LISTED, UNPROVED
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.row_files import read_rows, write_rows
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.samples import Samples
from crawl.urls.parse import host_of

_PAIRS = required_schema({"name": pa.string(), "value": pa.string()})
_NEW = RowKind("new", _PAIRS)
"""A sitemap and a scope, which it may have already."""
_OLD = RowKind("old", _PAIRS)
"""The same; whoever is linked from the sitemap has heard of it."""
_LINKS = RowKind("links", _PAIRS)
_ROWS = RowKind("unproved", UNPROVED)
_HOSTS = RowKind("hosts", _PAIRS.append(pa.field("count", pa.int64(), False)))
"""A host, its origin, and how many of its URLs are listed elsewhere; 0 where its robots.txt was
read."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ProofJob:
    """The proof of URLs that sitemaps of others list: where the notes lie, how many tasks share
    them, and how many examples are kept."""

    scratch: Folder
    destinations: int
    samples: int
    """How many examples of each reason are kept."""


# hosts that are asked for their robots.txt


@dataclass(frozen=True, slots=True)
class UnprovedHosts:
    """Of a share of the hosts those with the most URLs, each with its origin, and how many there
    are."""

    hosts: list[tuple[int, str, str]]
    count: int


def send_unproved_hosts(job: ProofJob, notes: str, outbox: Outbox) -> None:
    """Sends what a task has noted of hosts to where all of one host meets."""
    for topic in (Topic.UNPROVED, Topic.ROBOTS_READ):
        rows = read_notes(job.scratch, notes, topic).select(_HOSTS.schema.names)
        outbox.send(_HOSTS, rows, buckets_of(rows["name"], job.destinations))


def unproved_hosts(max_hosts: int, destination: int, received: Received) -> UnprovedHosts:
    """The hosts whose robots.txt nobody has read, those with the most URLs first."""
    counts: Counter[str] = Counter()
    origins: dict[str, str] = {}
    is_read: set[str] = set()
    for host, origin, count in rows_of(received.rows(_HOSTS), _HOSTS.schema.names):
        if count == 0:
            is_read.add(host)
        counts[host] += count
        origins[host] = origin or origins.get(host, "")
    hosts = [(count, host, origins[host]) for host, count in counts.items() if host not in is_read]
    return UnprovedHosts(nlargest(max_hosts, hosts), len(hosts))


# the scopes of all sitemaps


def send_scopes(job: ProofJob, notes: str, outbox: Outbox) -> None:
    """Sends the scopes and links that a task has noted to where all of one sitemap meets."""
    for topic, kind in ((Topic.SCOPE, _NEW), (Topic.LINK, _LINKS)):
        rows = read_notes(job.scratch, notes, topic).select(_PAIRS.names)
        outbox.send(kind, rows, buckets_of(rows["name"], job.destinations))


def spread_scopes(job: ProofJob, destination: int, received: Received, outbox: Outbox) -> int:
    """Sends the scopes that are new here to the sitemaps that are linked; returns how many.
    Those that are old stay where they are."""
    old = set(_pairs(received, _OLD))
    new = set(_pairs(received, _NEW)) - old
    links = set(_pairs(received, _LINKS))
    targets = _by_name(links)
    pairs = {(target, scope) for url, scope in new for target in targets.get(url, ())}
    outbox.send_all(_OLD, _table(old | new), destination)
    outbox.send_all(_LINKS, _table(links), destination)
    rows = _table(pairs)
    outbox.send(_NEW, rows, buckets_of(rows["name"], job.destinations))
    return len(pairs)


def write_scopes(job: ProofJob, destination: int, received: Received) -> str | None:
    """The name of the file with the scopes of some sitemaps; None where there are none."""
    scopes = _table({*_pairs(received, _OLD), *_pairs(received, _NEW)})
    return write_rows(job.scratch, "scopes", scopes) if scopes.num_rows else None


def _pairs(received: Received, kind: RowKind) -> Iterable[Pair]:
    return rows_of(received.rows(kind), _PAIRS.names)


def _table(pairs: Iterable[Pair]) -> pa.Table:
    return table_of_rows(sorted(pairs), _PAIRS)


def _by_name(pairs: Iterable[tuple[str, ...]]) -> Mapping[str, list[str]]:
    values = defaultdict(list)
    for name, value in pairs:
        values[name].append(value)
    return values


# the rows


@dataclass(frozen=True, slots=True)
class PermitTaskResult:
    """The files of rows that may be taken, and what became of the others."""

    files: tuple[str, ...]
    counters: Counters
    samples: dict[str, list[str]]


def send_unproved(job: ProofJob, name: str, outbox: Outbox) -> None:
    """Sends the rows of a file to where the scopes of their sitemaps are."""
    rows = read_rows(job.scratch, name)
    outbox.send(_ROWS, rows, buckets_of(rows["sitemap"], job.destinations))


def permit_rows(job: ProofJob, scopes_file: str | None, received: Received) -> PermitTaskResult:
    """Writes the rows that their sitemaps may list; the others are counted."""
    counters, samples = Counters(), Samples(job.samples)
    pairs = (
        () if scopes_file is None else rows_of(read_rows(job.scratch, scopes_file), _PAIRS.names)
    )
    scopes, files = _by_name(pairs), []
    for listed in received.batches(_ROWS):
        is_kept = np.zeros(listed.num_rows, dtype=np.bool_)
        columns = (strings(listed[name]) for name in ("url", "host", "sitemap"))
        for row, (url, host, sitemap) in enumerate(zip(*columns, strict=True)):
            if is_within(scopes.get(sitemap, ()), url, host):
                is_kept[row] = True
                continue
            reason = "outside_folder" if host_of(sitemap) == host else "other_host"
            counters[f"urls_dropped.{reason}"] += 1
            samples.add(f"urls_dropped.{reason}", f"{url} of {sitemap}")
        if is_kept.any():
            permitted = listed.filter(pa.array(is_kept)).select(LISTED.names)
            files.append(write_rows(job.scratch, "sitemap", permitted))
    return PermitTaskResult(tuple(files), counters, samples.by_reason)
