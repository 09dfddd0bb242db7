"""Near duplicates: texts, or signatures, that are alike meet under a key and are compared there.
No two are ever compared that share no key, and of many under one key each only with a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.dedup.components import GatheredEdges, write_stars
from crawl.buckets.dedup.groups import find_groups
from crawl.buckets.dedup.keys import (
    GroupKeys,
    Keys,
    Numbers,
    group_numbers,
    host_numbers,
    mixed,
    schema_of,
)
from crawl.buckets.dedup.pairs import pairs_to_compare
from crawl.buckets.dedup.records import DedupJob, SliceRecords, comparable_groups, node_ids
from crawl.buckets.dedup.shingles import Samples, sample_texts
from crawl.buckets.dedup.sketches import (
    WIDTH,
    band_keys,
    minima,
    similarities,
    sketch_bytes,
    without_templates,
)
from crawl.buckets.exchange import Outbox, Received, RowKind
from crawl.buckets.ranges import NewRows
from crawl.buckets.slices import Router, Slice
from crawl.counters import Counters
from crawl.model.arrow import fill_null
from crawl.model.status import Status
from crawl.rules.dedup import Measure, Nearness
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.urls.columns import column_bytes
from crawl.urls.hosts import hosts_of

SAMPLES = RowKind(
    "samples",
    schema_of(url=pa.string(), segment=pa.int32(), sample=pa.binary()),
)
_FINGERPRINT = 8
"""Bytes of a simhash."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file of parsed texts; of those of a URL that of the latest segment counts."""

    folder: Folder
    path: str
    rows: int
    segment: int


def send_samples(router: Router, file: TextFile, outbox: Outbox) -> Counters:
    """Sends the sample of every text of a file to the slice of its URL."""
    counters = Counters()
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["url", "text", "main_text"]):
            urls = rows["url"].combine_chunks()
            coalesce: Any = pc.coalesce
            texts = coalesce(rows["main_text"], rows["text"])
            samples = sample_texts(texts.combine_chunks())
            has_words = np.diff(samples.offsets) > 0
            counters["texts_without_words"] += int((~has_words).sum())
            offsets = pa.array((4 * samples.offsets).astype(np.int32)).buffers()[1]
            values = pa.py_buffer(samples.values.tobytes())
            packed = pa.BinaryArray.from_buffers(pa.binary(), len(urls), [None, offsets, values])
            numbers = np.full(len(urls), file.segment, np.int32)
            table = pa.table([urls, numbers, packed], schema=SAMPLES.schema)
            table = table.filter(pa.array(has_words))
            urls = table["url"].combine_chunks()
            hosts = fill_null(hosts_of(urls), "")
            outbox.send(SAMPLES, table, router.slices_of(hosts, urls))
    return +counters


def bands_of(nearness: Nearness) -> RowKind:
    """Keys and what is compared, as they travel."""
    width = WIDTH if nearness.measure is Measure.JACCARD else _FINGERPRINT
    columns = schema_of(key=pa.uint64(), id=pa.int64(), sketch=pa.binary(width))
    return RowKind("bands", columns)


@dataclass(frozen=True)
class NearJob:
    """What every task of the steps knows."""

    dedup: DedupJob
    nearness: Nearness
    destinations: int
    scratch: Folder
    expected: int
    """Records that are compared, about: the more there are, the more bits have keys."""


def send_bands(
    job: NearJob, base: Slice, records: SliceRecords, received: Received, outbox: Outbox
) -> Counters:
    """Sends the sketches of a slice's pages under their keys. Of pages with one signature one
    stands for all."""
    counters = Counters()
    nodes = records.nodes()
    if job.nearness.measure is Measure.HAMMING:
        _send_fingerprints(job, base, records.ids, nodes, counters, outbox)
        return +counters
    taken = np.zeros(0, np.int64)
    for each in NewRows.received(received, SAMPLES, "url").ranges():
        rows = latest(each.rows)
        found, ids, groups = located(job.dedup, base, rows["url"].combine_chunks())
        rows = rows.take(found)
        node = nodes[np.searchsorted(records.ids, ids)]
        _, first = np.unique(node, return_index=True)
        first = np.sort(first[~np.isin(node[first], taken)])
        taken = np.union1d(taken, node[first])
        rows = rows.take(first)
        if rows.num_rows == 0:
            continue
        counters["texts_compared"] += rows.num_rows
        hosts = host_numbers(hosts_of(rows["url"].combine_chunks()))
        values = minima(without_templates(_unpacked(rows["sample"].combine_chunks()), hosts))
        _send_keys(job, band_keys(values), node[first], sketch_bytes(values), groups[first], outbox)
    return +counters


def latest(rows: pa.Table) -> pa.Table:
    """One row a URL, by URL: that of the latest segment."""
    rows = rows.sort_by([("url", "ascending"), ("segment", "descending")]).combine_chunks()
    if rows.num_rows < 2:
        return rows
    urls = rows["url"].combine_chunks()
    other = pc.not_equal(urls.slice(1), urls.slice(0, len(urls) - 1))
    return rows.filter(pa.concat_arrays([pa.array([True]), cast("Any", other)]))


def located(
    job: DedupJob, base: Slice, urls: pa.Array[Any], also: Sequence[Status] = ()
) -> tuple[Numbers, Numbers, Keys]:
    """Which of the URLs the slice has as pages, or with one of the statuses, by URL: their places,
    ids and groups."""
    places, ids, groups = [], [], []
    columns = ["url", "host", "status", "signature"]
    for numbers, rows in comparable_groups(job, base, columns, Counters(), also):
        at: Any = pc.index_in(cast("Any", rows["url"]), value_set=urls)
        known = at.is_valid().to_numpy()
        places.append(at.drop_null().to_numpy().astype(np.int64))
        ids.append(node_ids(base.number, numbers[known]))
        groups.append(group_numbers(rows["host"], job.grouping)[known])
    none = np.zeros(0, np.int64)
    return (
        np.concatenate([none, *places]),
        np.concatenate([none, *ids]),
        np.concatenate([none.astype(np.uint64), *groups]),
    )


def _unpacked(column: pa.Array[Any]) -> Samples:
    whole = column_bytes(column)
    values = np.frombuffer(whole.data.tobytes(), np.uint32)
    return Samples(values, (whole.offsets // 4).astype(np.int64))


def _send_fingerprints(
    job: NearJob, base: Slice, ids: Numbers, nodes: Numbers, counters: Counters, outbox: Outbox
) -> None:
    columns = ["host", "status", "signature"]
    for numbers, rows in comparable_groups(job.dedup, base, columns, Counters()):
        signatures: Any = rows["signature"].combine_chunks()
        sizes = pc.fill_null(pc.binary_length(signatures), 0).to_numpy()
        mine = node_ids(base.number, numbers)
        node = nodes[np.searchsorted(ids, mine)]
        chosen = (sizes == _FINGERPRINT) & (node == mine)
        counters["records_without_simhash"] += int((sizes != _FINGERPRINT).sum())
        if not chosen.any():
            continue
        counters["simhashes_compared"] += int(chosen.sum())
        raw = column_bytes(signatures.filter(pa.array(chosen))).data.reshape(-1, _FINGERPRINT)
        groups = group_numbers(rows["host"], job.dedup.grouping)[chosen]
        keys = fingerprint_keys(raw.view(np.uint64).reshape(-1), job.nearness.bits, job.expected)
        _send_keys(job, keys, node[chosen], raw, groups, outbox)


def fingerprint_keys(values: Keys, most: int, expected: int) -> Keys:
    """Keys of which two fingerprints share one if no more bits than `most` differ (Manku et al.,
    Detecting Near-Duplicates for Web Crawling, 2007): of so many blocks all but `most` are the
    same. The more records, the more blocks, so that few others share a key."""
    blocks = most + 1
    while (
        64 * (blocks - most) // blocks < np.log2(max(2, expected)) - 2
        and comb(blocks + 1, most) <= _MOST_TABLES
    ):
        blocks += 1
    edges = np.linspace(0, 64, blocks + 1).astype(int).tolist()
    masks = [((1 << high) - 1) ^ ((1 << low) - 1) for low, high in pairwise(edges)]
    tables = list(combinations(masks, blocks - most))
    keys = np.empty((len(values), len(tables)), np.uint64)
    for number, table in enumerate(tables):
        mask = np.uint64(sum(table))
        keys[:, number] = mixed(values & mask, np.uint64(number + 1))
    return keys


_MOST_TABLES = 56


def _send_keys(
    job: NearJob,
    keys: Keys,
    ids: Numbers,
    sketches: npt.NDArray[np.uint8],
    groups: Keys,
    outbox: Outbox,
) -> None:
    kind = bands_of(job.nearness)
    width = sketches.shape[1]
    column = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(ids), [None, pa.py_buffer(np.ascontiguousarray(sketches).tobytes())]
    )
    scope = mixed(groups)
    for number in range(keys.shape[1]):
        key = keys[:, number] ^ scope
        rows = pa.table([key, ids, column], schema=kind.schema)
        places = (mixed(key) % np.uint64(job.destinations)).astype(np.int32)
        outbox.send(kind, rows, places)


@dataclass(frozen=True, slots=True)
class LinkTaskResult:
    """The file with the edges that a task found, if there are any."""

    file: str | None
    counters: Counters


def link_near(job: NearJob, destination: int, received: Received) -> LinkTaskResult:
    """Compares what has met under the keys of a destination."""
    counters = Counters()
    rows = received.rows(bands_of(job.nearness))
    keys = rows["key"].to_numpy()
    ids = rows["id"].to_numpy()
    column: Any = rows["sketch"].combine_chunks()
    width = WIDTH if job.nearness.measure is Measure.JACCARD else _FINGERPRINT
    raw = column.buffers()[1]
    sketches = (
        np.frombuffer(raw, np.uint8)[column.offset * width :][: len(ids) * width]
        if len(ids)
        else np.zeros(0, np.uint8)
    ).reshape(-1, width)
    groups = find_groups(GroupKeys(keys, np.zeros(len(keys), np.uint64)))
    edges = GatheredEdges()
    for one, other in pairs_to_compare(groups, sketches):
        counters["pairs_compared"] += len(one)
        near = is_near(job.nearness, sketches[one], sketches[other])
        edges.add(ids[one[near]], ids[other[near]])
    return LinkTaskResult(write_stars(job.scratch, *edges.contracted()), +counters)


def is_near(
    nearness: Nearness, ones: npt.NDArray[np.uint8], others: npt.NDArray[np.uint8]
) -> npt.NDArray[np.bool_]:
    """Whether each two sketches are near."""
    if nearness.measure is Measure.JACCARD:
        return np.asarray(similarities(ones, others) >= nearness.threshold)
    different: Numbers = np.bitwise_count(ones ^ others).sum(axis=1)
    return different <= nearness.bits
