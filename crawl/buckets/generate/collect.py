"""generate's step in which the selected records are read and sent to where their chains meet.

A chain is what is fetched one after the other: the URLs of a host, a domain or an address.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.buckets.exchange import Outbox, Received, RowKind
from crawl.buckets.generate.assigned import assigned_rows, with_generate_time
from crawl.buckets.generate.host_bounds import with_delays
from crawl.buckets.slices import Slice
from crawl.counters import Counters
from crawl.model.arrow import strings
from crawl.model.tables import CRAWLDB
from crawl.storage.folder import Folder
from crawl.storage.layout import encoded, number_of
from crawl.storage.parquet import open_table, read_groups
from crawl.urls.domains import registered_domain
from crawl.urls.partition import Partitioner, PartitionMode

SELECTED = RowKind(
    "selected",
    pa.schema(
        [
            *CRAWLDB.schema,
            pa.field("segment", pa.int16(), False),
            pa.field("chain", pa.uint64(), False),
            pa.field("site", pa.uint64(), False),
        ]
    ),
)
"""Selected records with their segment, the chain that they join, and what the chain is to stay
together with, where that can be: other hosts of its domain."""

_RESOLVER_THREADS = 32
_NAMED_CHAINS = 5


@dataclass(frozen=True)
class CollectJob:
    """What every task of the step needs to know."""

    crawldb: Folder
    now_ms: int
    mode: PartitionMode
    resolver: Callable[[str], str | None]
    shards: int
    """How many tasks the chains meet in."""


@dataclass(frozen=True, slots=True)
class CollectTaskResult:
    """What people are told of the chains of a slice."""

    names: dict[int, str]
    """The names of those with the most URLs."""
    counters: Counters


def collect_slice(
    job: CollectJob, base: Slice, received: Received, outbox: Outbox
) -> CollectTaskResult:
    """Sends the selected records of a slice to where their chains meet."""
    counters = Counters()
    rows, segments = assigned_rows(received)
    if len(rows) == 0:
        return CollectTaskResult({}, counters)
    selected = _records(job, base, rows)
    marked = with_generate_time(
        selected["metadata"].combine_chunks(), job.now_ms, np.arange(selected.num_rows), segments
    )
    marked = with_delays(marked, selected["host"], received)
    selected = selected.set_column(
        selected.column_names.index("metadata"), CRAWLDB.schema.field("metadata"), marked
    )
    names, chain, site = _chains(job, selected["host"], counters)
    selected = pa.Table.from_arrays(
        [*selected.columns, pa.array(segments), pa.array(chain), pa.array(site)],
        schema=SELECTED.schema,
    )
    outbox.send(SELECTED, selected, (site % np.uint64(job.shards)).astype(np.int32))
    numbers, urls = np.unique(chain, return_counts=True)
    longest = numbers[np.argsort(-urls, kind="stable")[:_NAMED_CHAINS]].tolist()
    return CollectTaskResult({number: names[number] for number in longest}, counters)


def _records(job: CollectJob, base: Slice, rows: npt.NDArray[np.int64]) -> pa.Table:
    """These rows of a slice; row groups without any are not read."""
    tables = []
    start = 0
    for file in base.files:
        with open_table(job.crawldb, file.path) as source:
            for group in range(source.num_row_groups):
                size = source.metadata.row_group(group).num_rows
                first, last = np.searchsorted(rows, [start, start + size])
                if last > first:
                    tables.append(read_groups(source, [group]).take(rows[first:last] - start))
                start += size
    return pa.concat_tables(tables).combine_chunks()


def _chains(
    job: CollectJob, hosts: pa.ChunkedArray[Any], counters: Counters
) -> tuple[dict[int, str], npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The names of the chains, and the chain and the site of each row, worked out once for each
    host."""
    codes = encoded(hosts)
    distinct = strings(codes.dictionary)
    partitioner = Partitioner(job.mode, job.resolver, cache_size=1)
    if job.mode is PartitionMode.BY_IP:
        with ThreadPoolExecutor(_RESOLVER_THREADS) as pool:
            # a partitioner each: its cache is for one thread, and each host comes once
            keys = list(
                pool.map(
                    lambda host: Partitioner(job.mode, job.resolver, cache_size=1).key_of_host(
                        host
                    ),
                    distinct,
                )
            )
        counters["hosts_not_resolved"] += sum(not key.resolved for key in keys)
    else:
        keys = [partitioner.key_of_host(host) for host in distinct]
    numbers = np.array([number_of(key.key) for key in keys], dtype=np.uint64)
    sites = numbers
    if job.mode is PartitionMode.BY_HOST:
        domains = [registered_domain(key.key) for key in keys]
        sites = np.array([number_of(domain) for domain in domains], dtype=np.uint64)
    names = {int(number): key.key for number, key in zip(numbers, keys, strict=True)}
    indices = codes.indices.to_numpy()
    return names, numbers[indices], sites[indices]
