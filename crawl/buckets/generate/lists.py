"""generate's last steps: selected records are collected, dealt to parts and listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.bucket_files import BucketTarget, stored_groups, write_bucket
from crawl.buckets.generate.shards import ASSIGNED
from crawl.counters import Counters
from crawl.model.arrow import strings
from crawl.model.datum import FETCH_DELAY_KEY, GENERATE_TIME_KEY
from crawl.model.metadata import has_any, lookup, with_entry
from crawl.model.tables import CRAWL_GENERATE, CRAWLDB
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.layout import encoded, number_of
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_table, open_writer, read_groups
from crawl.storage.segments import PartFile
from crawl.storage.split import (
    SplitFile,
    read_rows,
    read_split,
    scratch_name,
    write_rows,
    write_split,
)
from crawl.urls.domains import registered_domain
from crawl.urls.partition import Partitioner, PartitionMode

SELECTED = CRAWLDB.schema.append(pa.field("segment", pa.int16(), False)).append(
    pa.field("chain", pa.uint64(), False)
)
"""Selected records with their segment and the serial chain (host, domain or IP) they join."""

_RESOLVER_THREADS = 32
_NAMED_CHAINS = 5


@dataclass(frozen=True)
class CollectJob:
    """What every task of the step needs to know."""

    crawldb: Folder
    scratch: Folder
    now_ms: int
    mode: PartitionMode
    resolver: Callable[[str], str | None]
    delay_s: float


@dataclass(frozen=True, slots=True)
class SelectedBucket:
    """A bucket and the split files that name its selected rows."""

    base: BucketFile
    assigned: list[SplitFile]


@dataclass(frozen=True, slots=True)
class Chains:
    """The serial chains of a bucket by segment: how many URLs each has, and their mean delay."""

    segment: npt.NDArray[np.int16]
    chain: npt.NDArray[np.uint64]
    site: npt.NDArray[np.uint64]
    """What the chain is to stay together with, where that can be: other hosts of its domain."""
    urls: npt.NDArray[np.int64]
    delay_s: npt.NDArray[np.float64]
    names: dict[int, str]
    """The names of the longest ones, for people."""


@dataclass(frozen=True, slots=True)
class CollectTaskResult:
    """A bucket's selected records in a file of their own."""

    path: str
    rows: int
    chains: Chains
    counters: Counters


def collect_bucket(job: CollectJob, task: SelectedBucket) -> CollectTaskResult:
    counters = Counters()
    rows, segments = _assigned(job.scratch, task)
    tables = []
    with open_table(job.crawldb, task.base.path) as source:
        start = 0
        for group in range(source.num_row_groups):
            size = source.metadata.row_group(group).num_rows
            first, last = np.searchsorted(rows, [start, start + size])
            if last > first:
                tables.append(read_groups(source, [group]).take(rows[first:last] - start))
            start += size
    selected = pa.concat_tables(tables).combine_chunks()
    every = np.arange(selected.num_rows)
    marked = _marked(selected["metadata"].combine_chunks(), job.now_ms, every, segments)
    selected = selected.set_column(
        selected.column_names.index("metadata"), CRAWLDB.schema.field("metadata"), marked
    )
    names, chain = _chains(job, selected["host"], counters)
    selected = pa.Table.from_arrays(
        [*selected.columns, pa.array(segments), pa.array(chain)], schema=SELECTED
    )
    path = scratch_name("selected")
    write_rows(job.scratch, path, selected)
    return CollectTaskResult(
        path, selected.num_rows, _count(job, selected, segments, chain, names), counters
    )


def _marked(
    metadata: pa.Array[Any],
    now_ms: int,
    rows: npt.NDArray[np.int64],
    segments: npt.NDArray[np.int16],
) -> pa.Array[Any]:
    """The generate time in these rows, a millisecond on for each segment: by it updatedb
    tells whose reservation a record bears."""
    for segment in np.unique(segments).tolist():
        chosen = np.zeros(len(metadata), dtype=np.bool_)
        chosen[rows[segments == segment]] = True
        metadata = with_entry(metadata, GENERATE_TIME_KEY, str(now_ms + segment), chosen)
    return metadata


def _assigned(
    scratch: Folder, task: SelectedBucket
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int16]]:
    """The selected rows of a bucket in order, with their segments."""
    table = read_split(scratch, task.assigned, task.base.bucket, ASSIGNED)
    rows = table["row"].to_numpy().astype(np.int64)
    order = np.argsort(rows)
    return rows[order], table["segment"].to_numpy()[order]


def _chains(
    job: CollectJob, hosts: pa.ChunkedArray[Any], counters: Counters
) -> tuple[dict[int, str], npt.NDArray[np.uint64]]:
    """The chain of each row, worked out once for each host."""
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
    names = {int(number): key.key for number, key in zip(numbers, keys, strict=True)}
    return names, numbers[codes.indices.to_numpy()]


def _count(
    job: CollectJob,
    selected: pa.Table,
    segments: npt.NDArray[np.int16],
    chain: npt.NDArray[np.uint64],
    names: dict[int, str],
) -> Chains:
    order = np.lexsort((chain, segments))
    ordered_segment, ordered_chain = segments[order], chain[order]
    starts = np.flatnonzero(
        np.append(
            True,
            (ordered_segment[1:] != ordered_segment[:-1])
            | (ordered_chain[1:] != ordered_chain[:-1]),
        )
    )
    urls = np.diff(np.append(starts, len(order)))
    delays = np.add.reduceat(_delays(job, selected)[order], starts) / urls
    longest = np.argsort(-(urls * delays), kind="stable")[:_NAMED_CHAINS]
    named = {int(ordered_chain[starts[index]]) for index in longest}
    chains = ordered_chain[starts]
    site = chains
    if job.mode is PartitionMode.BY_HOST:
        domains = [registered_domain(names[number]) for number in chains.tolist()]
        site = np.array([number_of(domain) for domain in domains], dtype=np.uint64)
    return Chains(
        ordered_segment[starts],
        chains,
        site,
        urls.astype(np.int64),
        delays,
        {number: names[number] for number in named},
    )


def _delays(job: CollectJob, selected: pa.Table) -> npt.NDArray[np.float64]:
    """Seconds between requests, for each row; a record may bear its host's own."""
    metadata = selected["metadata"].combine_chunks()
    usual = np.full(selected.num_rows, job.delay_s)
    if not has_any(metadata):
        return usual
    own = lookup(metadata, FETCH_DELAY_KEY)
    valid = pc.match_substring_regex(own, r"^[0-9]{1,12}$")
    milliseconds = pc.if_else(valid, own, None).cast(pa.float64())
    given = milliseconds.to_numpy(zero_copy_only=False)
    return np.where(np.isnan(given), usual, given / 1000)


@dataclass(frozen=True, slots=True)
class DealTask:
    """A bucket's selected records and the part that each of its chains goes to."""

    path: str
    segment: npt.NDArray[np.int16]
    chain: npt.NDArray[np.uint64]
    part: npt.NDArray[np.int32]
    """Numbered through all segments: segment · parts + part."""


def deal_bucket(scratch: Folder, task: DealTask) -> SplitFile:
    selected = read_rows(scratch, task.path)
    segment = selected["segment"].to_numpy()
    chain = selected["chain"].to_numpy()
    destinations = np.empty(len(chain), dtype=np.int32)
    for number in np.unique(task.segment):
        known = task.segment == number
        chains, parts = task.chain[known], task.part[known]  # sorted by chain
        mine = segment == number
        destinations[mine] = parts[np.searchsorted(chains, chain[mine])]
    rows = selected.drop_columns(["segment", "chain"])
    return write_split(scratch, scratch_name("dealt"), rows, destinations)


@dataclass(frozen=True, slots=True)
class ListTask:
    """One part of one segment's fetch list."""

    folder: Folder
    """The segment's crawl_generate."""
    part: int
    destination: int
    files: list[SplitFile]


def write_list(scratch: Folder, group_rows: int, task: ListTask) -> PartFile:
    """Writes the part's file, shuffled so that hosts take turns."""
    rows = read_split(scratch, task.files, task.destination, CRAWL_GENERATE.schema)
    order = np.random.default_rng(task.destination).permutation(rows.num_rows)
    name = attempt_name(f"part-{task.part:05d}")
    with open_writer(task.folder, name, CRAWL_GENERATE.schema, group_rows) as writer:
        writer.write(rows.take(order))
    return PartFile(task.part, name, rows.num_rows, task.folder.size(name) or 0)


@dataclass(frozen=True, slots=True)
class MarkJob:
    """What every task of the marking step needs to know."""

    target: BucketTarget
    scratch: Folder
    now_ms: int


def mark_bucket(job: MarkJob, task: SelectedBucket) -> BucketFile:
    """Writes the bucket anew with the generate time in its selected records."""
    file = write_bucket(job.target, task.base.bucket, _marked_groups(job, task))
    assert file is not None  # as many rows as before
    return file


def _marked_groups(job: MarkJob, task: SelectedBucket) -> Iterator[pa.Table]:
    rows, segments = _assigned(job.scratch, task)
    column = CRAWLDB.names.index("metadata")
    start = 0
    for group in stored_groups(job.target.folder, task.base):
        first, last = np.searchsorted(rows, [start, start + group.num_rows])
        start += group.num_rows
        if last > first:
            marked = _marked(
                group["metadata"].combine_chunks(),
                job.now_ms,
                rows[first:last] - (start - group.num_rows),
                segments[first:last],
            )
            group = group.set_column(column, CRAWLDB.schema.field("metadata"), marked)
        yield group
