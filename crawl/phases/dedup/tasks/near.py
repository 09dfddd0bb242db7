"""Near duplicates: texts, or signatures, that are alike meet under a key and are compared there.
No two are ever compared that share no key, and of many under one key each only with a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.status import Status
from crawl.phases.dedup.rules import Measure, Nearness
from crawl.phases.dedup.tasks.components import GatheredEdges, LinkTaskResult, write_stars
from crawl.phases.dedup.tasks.groups import find_groups
from crawl.phases.dedup.tasks.keys import (
    Bytes,
    GroupKeys,
    Keys,
    Mask,
    Numbers,
    group_numbers,
    host_numbers,
    mixed,
    schema_of,
)
from crawl.phases.dedup.tasks.pairs import DoubtfulPairs, pairs_to_compare
from crawl.phases.dedup.tasks.parsed_pages import SAMPLES, Subjects, latest
from crawl.phases.dedup.tasks.records import DedupJob, comparable_groups, node_ids, read_records
from crawl.phases.dedup.tasks.shingles import Samples
from crawl.phases.dedup.tasks.sketches import (
    WIDTH,
    band_keys,
    minima,
    similarities,
    sketch_bytes,
    without_templates,
)
from crawl.phases.dedup.tasks.stars import NearJob, sketched_texts
from crawl.storage.row_files import write_rows
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows
from crawl.tables.slices import Slice
from crawl.urls.columns import column_bytes
from crawl.urls.hosts import hosts_of

_FINGERPRINT = 8
"""Bytes of a simhash."""
_SKETCH_ERROR = 0.12
"""By which 64 numbers of a sketch are wrong at most, about: three standard deviations."""


def bands_of(nearness: Nearness) -> RowKind:
    """Keys and what is compared, as they travel."""
    width = WIDTH if nearness.measure is Measure.JACCARD else _FINGERPRINT
    columns = schema_of(key=pa.uint64(), id=pa.int64(), sketch=pa.binary(width))
    return RowKind("bands", columns)


@dataclass(frozen=True, slots=True)
class SketchTaskResult:
    """The files with what the texts of a slice are compared by in the end."""

    files: tuple[str, ...]
    counters: Counters


def send_bands(job: NearJob, base: Slice, received: Received, outbox: Outbox) -> SketchTaskResult:
    """Sends the sketches of a slice's pages under their keys. Of pages with one signature one
    stands for all. Pages with different titles have no key in common."""
    counters = Counters()
    files: list[str] = []
    records = read_records(job.dedup, base, Counters())
    nodes = records.nodes()
    if job.nearness.measure is Measure.HAMMING:
        _send_fingerprints(job, base, records.ids, nodes, received, counters, outbox)
        return SketchTaskResult((), +counters)
    taken = np.zeros(0, np.int64)
    for each in NewRows.received(received, SAMPLES, "url").ranges():
        subjects = Subjects.of(each.rows)
        rows = latest(each.rows.filter(each.rows["sample"].is_valid()))
        places, ids, groups = located(job.dedup, base, rows["url"].combine_chunks())
        rows = rows.take(places)
        node = nodes[np.searchsorted(records.ids, ids)]
        _, first = np.unique(node, return_index=True)
        first = np.sort(first[~np.isin(node[first], taken)])
        taken = np.union1d(taken, node[first])
        rows = rows.take(first)
        if rows.num_rows == 0:
            continue
        counters["texts_compared"] += rows.num_rows
        urls = rows["url"].combine_chunks()
        samples = _unpacked(rows["sample"].combine_chunks(), rows["size"].to_numpy())
        own = without_templates(samples, host_numbers(hosts_of(urls)))
        texts = sketched_texts(node[first], samples, own, rows["heading"].to_numpy())
        files.append(write_rows(job.scratch, "sketched", texts))
        values = minima(own)
        scope = groups[first] ^ mixed(subjects.at(urls))
        _send_keys(job, band_keys(values), node[first], sketch_bytes(values), scope, outbox)
    return SketchTaskResult(tuple(files), +counters)


def located(
    job: DedupJob, base: Slice, urls: pa.Array[Any], also: Sequence[Status] = ()
) -> tuple[Numbers, Numbers, Keys]:
    """Which of the URLs the slice has as pages, or with one of the statuses, by URL: their places,
    ids and groups."""
    none = np.zeros(0, np.int64)
    parts = [(none, none, none.astype(np.uint64))]
    columns = ["url", "host", "status", "signature"]
    for numbers, rows in comparable_groups(job, base, columns, Counters(), also):
        at: Any = pc.index_in(cast("Any", rows["url"]), value_set=urls)
        is_here = at.is_valid().to_numpy()
        groups = group_numbers(rows["host"], job.grouping)[is_here]
        places = at.drop_null().to_numpy().astype(np.int64)
        parts.append((places, node_ids(base.number, numbers[is_here]), groups))
    places, ids, groups = zip(*parts, strict=True)
    return np.concatenate(places), np.concatenate(ids), np.concatenate(groups)


def _unpacked(column: pa.Array[Any], sizes: Numbers) -> Samples:
    whole = column_bytes(column)
    values = np.frombuffer(whole.data.tobytes(), np.uint32)
    return Samples(values, (whole.offsets // 4).astype(np.int64), sizes)


def _send_fingerprints(
    job: NearJob,
    base: Slice,
    ids: Numbers,
    nodes: Numbers,
    received: Received,
    counters: Counters,
    outbox: Outbox,
) -> None:
    subjects = Subjects.of(received.rows(SAMPLES))
    columns = ["url", "host", "status", "signature"]
    for numbers, rows in comparable_groups(job.dedup, base, columns, Counters()):
        signatures: Any = rows["signature"].combine_chunks()
        sizes = pc.fill_null(pc.binary_length(signatures), 0).to_numpy()
        mine = node_ids(base.number, numbers)
        node = nodes[np.searchsorted(ids, mine)]
        is_compared = (sizes == _FINGERPRINT) & (node == mine)
        counters["records_without_simhash"] += int((sizes != _FINGERPRINT).sum())
        if not is_compared.any():
            continue
        counters["simhashes_compared"] += int(is_compared.sum())
        raw = column_bytes(signatures.filter(pa.array(is_compared))).data.reshape(-1, _FINGERPRINT)
        groups = group_numbers(rows["host"], job.dedup.grouping) ^ mixed(subjects.at(rows["url"]))
        groups = groups[is_compared]
        keys = fingerprint_keys(raw.view(np.uint64).reshape(-1), job.nearness.bits, job.expected)
        _send_keys(job, keys, node[is_compared], raw, groups, outbox)


def fingerprint_keys(values: Keys, most: int, expected: int) -> Keys:
    """Keys of which two fingerprints share one if no more bits than `most` differ (Manku et al.,
    Detecting Near-Duplicates for Web Crawling, 2007): of so many blocks all but `most` are the
    same. The more records, the more blocks, so that few others share a key."""
    blocks = most + 1
    while (
        64 * (blocks - most) // blocks < np.log2(max(2, expected)) - 2
        and comb(blocks + 1, most) <= _MAX_TABLES
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


_MAX_TABLES = 56


def _send_keys(
    job: NearJob, keys: Keys, ids: Numbers, sketches: Bytes, groups: Keys, outbox: Outbox
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


def link_near(job: NearJob, destination: int, received: Received) -> LinkTaskResult:
    """Compares what has met under the keys of a destination."""
    counters = Counters()
    rows = received.rows(bands_of(job.nearness))
    keys = rows["key"].to_numpy()
    ids = rows["id"].to_numpy()
    column: Any = rows["sketch"].combine_chunks()
    width = WIDTH if job.nearness.measure is Measure.JACCARD else _FINGERPRINT
    raw = column.buffers()[1]
    sketches = np.frombuffer(raw or b"", np.uint8)[column.offset * width :][: len(ids) * width]
    sketches = sketches.reshape(-1, width)
    groups = find_groups(GroupKeys(keys, np.zeros(len(keys), np.uint64)))
    edges = GatheredEdges()
    doubtful = DoubtfulPairs(job.doubtful if job.nearness.measure is Measure.HAMMING else 0)
    for one, other in pairs_to_compare(groups, sketches):
        counters["pairs_compared"] += len(one)
        near = is_near(job.nearness, sketches[one], sketches[other])
        one, other = one[near], other[near]
        edges.add(ids[one], ids[other])
        if doubtful.most:
            doubtful.add(1 - _bits(sketches[one], sketches[other]) / 64, ids[one], ids[other])
    nodes, centres = edges.contracted()
    file = write_stars(job.scratch, nodes, centres)
    return LinkTaskResult(file, +counters, len(nodes), doubtful.pairs())


def is_near(nearness: Nearness, ones: Bytes, others: Bytes) -> Mask:
    """Whether each two sketches are near; of texts, whether they may be: sketches are known to be
    wrong by as much, and samples decide (`stars.py`)."""
    if nearness.measure is Measure.JACCARD:
        return np.asarray(similarities(ones, others) >= nearness.threshold - _SKETCH_ERROR)
    return _bits(ones, others) <= nearness.bits


def _bits(ones: Bytes, others: Bytes) -> Numbers:
    """In how many bits fingerprints differ."""
    return np.asarray(np.bitwise_count(ones ^ others).sum(axis=1))
