"""Numbers that stand for signatures, groups and the values that are compared: columns of whole
numbers, so that no text leaves the task that reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_mask
from crawl.phases.dedup.rules import COMPARED, Grouping, Survivor
from crawl.storage.layout import encoded, number_of
from crawl.urls.columns import column_bytes
from crawl.urls.domains import registered_domain

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int32]
"""Numbers of slices, destinations and rows."""

_DIGEST = 16
RANK_TYPES = {8: pa.int8(), 32: pa.int32(), 64: pa.int64()}
_ZERO = np.uint64(0)
_LANES = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


def schema_of(**columns: pa.DataType) -> pa.Schema:
    """The schema of rows that travel, by the names of their columns."""
    return pa.schema([pa.field(name, kind) for name, kind in columns.items()])


def mixed(values: Keys, seed: np.uint64 = _ZERO) -> Keys:
    """Numbers whose every bit depends on all bits of the given ones (SplitMix64)."""
    bits: Keys = values + seed + _LANES[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class GroupKeys:
    """128 bits a record: records with the same are of one group."""

    high: Keys
    low: Keys

    def within(self, groups: Keys) -> GroupKeys:
        """Keys that are the same only where the numbers of hosts or domains are, too."""
        return GroupKeys(self.high ^ mixed(groups, _LANES[0]), self.low ^ mixed(groups, _LANES[1]))

    def take(self, rows: npt.NDArray[Any]) -> GroupKeys:
        return GroupKeys(self.high[rows], self.low[rows])

    def destinations(self, count: int) -> Places:
        """Which of so many destinations works on each group."""
        return (mixed(self.high ^ self.low) % np.uint64(count)).astype(np.int32)


def signature_keys(signatures: pa.Array[Any]) -> GroupKeys:
    """Of signatures without null. One of sixteen bytes, as most are, is its own key."""
    count = len(signatures)
    if count == 0:
        return GroupKeys(np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    lengths = pc.binary_length(cast("Any", signatures)).to_numpy()
    if (lengths == _DIGEST).all():
        lanes = _bytes_of(signatures).view(np.uint64).reshape(count, 2)
    elif (lengths == 8).all():
        lanes = np.zeros((count, 2), np.uint64)
        lanes[:, 0] = _bytes_of(signatures).view(np.uint64)
        lanes[:, 1] = _LANES[1]
    else:
        whole: list[Any] = signatures.to_pylist()
        digests = b"".join(map(_digest, whole))
        lanes = np.frombuffer(digests, np.uint64).reshape(count, 2)
    return GroupKeys(lanes[:, 0].copy(), lanes[:, 1].copy())


def _digest(signature: bytes) -> bytes:
    if len(signature) == _DIGEST:
        return signature
    if len(signature) == 8:
        return signature + _LANES[1].tobytes()
    return hashlib.blake2b(signature, digest_size=_DIGEST).digest()


def _bytes_of(column: pa.Array[Any]) -> Bytes:
    return column_bytes(cast("Any", column.cast(pa.binary()))).data.copy()


def host_numbers(hosts: pa.Array[Any] | pa.ChunkedArray[Any]) -> Keys:
    """Of each host the number that stands for it."""
    return _numbers(hosts, by_domain=False)


def group_numbers(hosts: pa.Array[Any] | pa.ChunkedArray[Any], grouping: Grouping) -> Keys:
    """Of each host the number of what it is grouped by; 0 for all without a group."""
    if grouping is Grouping.NONE:
        return np.zeros(len(hosts), np.uint64)
    return _numbers(hosts, by_domain=grouping is Grouping.DOMAIN)


def _numbers(hosts: pa.Array[Any] | pa.ChunkedArray[Any], *, by_domain: bool) -> Keys:
    codes = encoded(hosts)
    names: list[Any] = codes.dictionary.to_pylist()
    named = [registered_domain(name) for name in names] if by_domain else names
    numbers = np.array([number_of(name) for name in named], dtype=np.uint64)
    indices: Places = codes.indices.to_numpy(zero_copy_only=False)
    return numbers[indices]


def rank_type(name: str) -> pa.DataType:
    """How the rank by a line of the table travels."""
    return RANK_TYPES[COMPARED[name].bits]


def ranks_of(name: str, rows: pa.Table, evidence: Mapping[str, Mask]) -> npt.NDArray[Any]:
    """The rank of each record by a line of the table: the least survives. `evidence`: by its line,
    whether it speaks of the record."""
    values: npt.NDArray[Any]
    if name == "score":
        values = _ordered_bits(rows["score"].to_numpy())
    elif name == "fetchTime":
        values = rows["fetch_time"].cast(pa.int64()).to_numpy()
    elif name == "urlLength":
        values = decoded_lengths(rows["url"].combine_chunks())
    elif name == "httpsOverHttp":
        https = pc.starts_with(cast("Any", rows["url"]), pattern="https:")
        values = as_mask(https).astype(np.int8)
    else:
        values = evidence[name].astype(np.int8)
    return ~values if COMPARED[name].survivor is Survivor.GREATER else values


def _ordered_bits(scores: npt.NDArray[np.float32]) -> Places:
    """Whole numbers in the order of the scores; what is no number comes first."""
    plain = np.where(np.isnan(scores), np.float32("-inf"), scores) + np.float32(0)
    bits = plain.astype(np.float32).view(np.int32)
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)


def decoded_lengths(urls: pa.Array[Any]) -> Places:
    """The characters of each URL, percent-encoded ones counted as what they stand for."""
    column = column_bytes(urls)
    lengths = np.diff(column.offsets).astype(np.int64)
    data = column.data
    if (data & 0xC0 == 0x80).any():  # not the first byte of a character
        lengths = lengths - column.per_row(np.flatnonzero(data & 0xC0 == 0x80))
    if not column.contains("%"):
        return lengths.astype(np.int32)
    signs = column.where("%")
    signs = signs[signs + 2 < len(data)]
    high, lower = _HEX[data[signs + 1]], _HEX[data[signs + 2]]
    signs, high = signs[(high < 16) & (lower < 16)], high[(high < 16) & (lower < 16)]
    ends = column.offsets[np.searchsorted(column.offsets, signs, side="right")]
    inside = signs + 2 < ends
    signs, high = signs[inside], high[inside]
    rest = signs[(high >= 8) & (high < 12)]
    return (lengths - 2 * column.per_row(signs) - column.per_row(rest)).astype(np.int32)


_HEX = np.full(256, 16, np.uint8)
for _digits in ("0123456789abcdef", "0123456789ABCDEF"):
    _HEX[[ord(digit) for digit in _digits]] = np.arange(16)
