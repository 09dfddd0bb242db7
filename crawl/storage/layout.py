"""Which bucket a host's URLs live in.

BLAKE2, because it is in every language's library and the same on every machine and in
every release: a URL must never change its bucket by an upgrade. (CRC-32 is quicker, but
puts www1, www2, www3 … of a farm into the same few buckets.)
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]


@lru_cache(maxsize=1 << 16)
def number_of(name: str) -> int:
    """A host's or domain's name as a 64-bit number."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def bucket_of(host: str, buckets: int) -> int:
    """The bucket of one host."""
    return number_of(host) % buckets


def buckets_of(hosts: pa.Array[Any] | pa.ChunkedArray[Any], buckets: int) -> npt.NDArray[np.int32]:
    """The bucket of each host of a column; only distinct hosts are hashed."""
    codes = encoded(hosts)
    names: list[Any] = codes.dictionary.to_pylist()
    by_code = np.array([bucket_of(host, buckets) for host in names], dtype=np.int32)
    indices: npt.NDArray[np.int32] = codes.indices.to_numpy(zero_copy_only=False)
    return by_code[indices]


def encoded(hosts: pa.Array[Any] | pa.ChunkedArray[Any]) -> pa.DictionaryArray[Any, Any]:
    """A column as one dictionary array."""
    column: Any = hosts
    if isinstance(column, pa.ChunkedArray):
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # no chunk at all
            column = pa.array([], column.type)
    codes: pa.DictionaryArray[Any, Any] = (
        column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    )
    return codes


def distinct(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> tuple[pa.Array[Any], Integers]:
    """The different values of a column without null, and the place of each row's among them."""
    codes = encoded(column)
    return codes.dictionary, codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def sorted_distinct(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> tuple[pa.Array[Any], Integers]:
    """The same, the values in their order."""
    values, places = distinct(column)
    order: Any = pc.sort_indices(values)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    return values.take(order), ranks[places]
