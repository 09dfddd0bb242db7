"""generate's step in which the selected records are read and sent to where their chains meet.

A chain is what is fetched one after the other: the URLs of a host, a domain or an address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.arrow import required_schema, strings, with_column
from crawl.model.tables import CRAWLDB
from crawl.phases.generate.tasks.arrays import Integers, Keys
from crawl.phases.generate.tasks.host_bounds import with_delays
from crawl.phases.generate.tasks.shards import assigned_rows, with_generate_time
from crawl.storage.folder import Folder
from crawl.storage.layout import encoded, number_of
from crawl.storage.parquet import open_table, read_groups
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.slices import Slice
from crawl.urls.domains import registered_domain
from crawl.urls.partition import Partitioner, PartitionKey, PartitionMode

SELECTED = RowKind(
    "selected",
    pa.schema(
        [
            *CRAWLDB.schema,
            *required_schema({"segment": pa.int16(), "chain": pa.uint64(), "site": pa.uint64()}),
        ]
    ),
)
"""Selected records with their segment, the chain that they join, and what the chain is to stay
together with, where that can be: other hosts of its domain."""

_RESOLVER_THREADS = 32
_NAMED_CHAINS = 5
_ROWS_AT_ONCE = 1 << 18
"""Selected records that a task has in memory, but for those of one row group more."""


@dataclass(frozen=True)
class CollectJob:
    """The reading of selected records: the CrawlDb, how a URL is resolved to its chain, and how
    many tasks the chains meet in."""

    crawldb: Folder
    now_ms: int
    mode: PartitionMode
    resolver: Callable[[str], str | None]
    shards: int
    """How many tasks the chains meet in."""


@dataclass(frozen=True, slots=True)
class CollectTaskResult:
    """The largest chains of a slice by name, and its counters."""

    names: dict[int, str]
    """The names of those with the most URLs."""
    counters: Counters


def collect_slice(
    job: CollectJob, base: Slice, received: Received, outbox: Outbox
) -> CollectTaskResult:
    """Sends the selected records of a slice to where their chains meet, some row groups' at a
    time."""
    counters = Counters()
    rows, segments = assigned_rows(received)
    chains = _Chains(job, counters)
    start = 0
    for selected in _records(job, base, rows):
        segment = segments[start : start + selected.num_rows]
        start += selected.num_rows
        marked = with_generate_time(
            selected["metadata"].combine_chunks(), job.now_ms, np.arange(len(segment)), segment
        )
        marked = with_delays(marked, selected["host"], received)
        selected = with_column(selected, "metadata", marked)
        chain, site = chains.of(selected["host"])
        selected = pa.Table.from_arrays(
            [*selected.columns, pa.array(segment), pa.array(chain), pa.array(site)],
            schema=SELECTED.schema,
        )
        outbox.send(SELECTED, selected, (site % np.uint64(job.shards)).astype(np.int32))
    return CollectTaskResult(chains.longest(), counters)


def _records(job: CollectJob, base: Slice, rows: Integers) -> Iterator[pa.Table]:
    """These rows of a slice, some at a time; row groups without any are not read."""
    tables: list[pa.Table] = []
    waiting = start = 0
    for file in base.files:
        with open_table(job.crawldb, file.path, size=file.bytes) as source:
            for group in range(source.num_row_groups):
                size = source.metadata.row_group(group).num_rows
                first, last = np.searchsorted(rows, [start, start + size])
                if last > first:
                    tables.append(read_groups(source, [group]).take(rows[first:last] - start))
                    waiting += int(last - first)
                start += size
                if waiting >= _ROWS_AT_ONCE:
                    yield pa.concat_tables(tables).combine_chunks()
                    tables, waiting = [], 0
    if tables:
        yield pa.concat_tables(tables).combine_chunks()


class _Chains:
    """The chains of a slice: worked out once for each host."""

    def __init__(self, job: CollectJob, counters: Counters) -> None:
        self._job = job
        self._counters = counters
        self._numbers: dict[str, tuple[int, int]] = {}
        """The chain and the site of each host."""
        self._names: dict[int, str] = {}
        self._urls: Counter[int] = Counter()

    def of(self, hosts: pa.ChunkedArray[Any]) -> tuple[Keys, Keys]:
        """The chain and the site of each row."""
        codes = encoded(hosts)
        distinct = strings(codes.dictionary)
        self._learn([host for host in distinct if host not in self._numbers])
        numbers = np.array([self._numbers[host] for host in distinct], dtype=np.uint64)
        indices = codes.indices.to_numpy()
        for (chain, _), urls in zip(numbers.tolist(), np.bincount(indices).tolist(), strict=True):
            self._urls[chain] += urls
        return numbers[indices, 0], numbers[indices, 1]

    def longest(self) -> dict[int, str]:
        """The names of the chains with the most URLs."""
        numbers = sorted(self._urls, key=lambda number: (-self._urls[number], number))
        return {number: self._names[number] for number in numbers[:_NAMED_CHAINS]}

    def _learn(self, hosts: list[str]) -> None:
        keys = self._keys(hosts)
        for host, key in zip(hosts, keys, strict=True):
            number = site = number_of(key)
            if self._job.mode is PartitionMode.BY_HOST:
                site = number_of(registered_domain(key))
            self._numbers[host] = number, site
            self._names[number] = key

    def _keys(self, hosts: list[str]) -> list[str]:
        job = self._job

        def key_of(host: str) -> PartitionKey:
            # a partitioner each: its cache is for one thread, and each host comes once
            return Partitioner(job.mode, job.resolver, cache_size=1).key_of_host(host)

        if job.mode is not PartitionMode.BY_IP:
            return [key_of(host).key for host in hosts]
        with ThreadPoolExecutor(_RESOLVER_THREADS) as pool:
            keys = list(pool.map(key_of, hosts))
        self._counters["hosts_not_resolved"] += sum(not key.resolved for key in keys)
        return [key.key for key in keys]
