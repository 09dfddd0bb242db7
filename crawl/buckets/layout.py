"""Which bucket a host's URLs live in.

CRC-32, because it is in every language's library (Spark's `crc32` too), the same on
every machine and in every release: a URL must never change its bucket by an upgrade.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def bucket_of(host: str, buckets: int) -> int:
    """The bucket of one host."""
    return zlib.crc32(host.encode("utf-8", "surrogatepass")) % buckets


def buckets_of(hosts: pa.Array | pa.ChunkedArray, buckets: int) -> npt.NDArray[np.int32]:
    """The bucket of each host of a column; only distinct hosts are hashed."""
    codes = encoded(hosts)
    by_code = np.array(
        [bucket_of(host, buckets) for host in codes.dictionary.to_pylist()], dtype=np.int32
    )
    indices: npt.NDArray[np.int32] = codes.indices.to_numpy(zero_copy_only=False)
    return by_code[indices]


def encoded(hosts: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """A column as one dictionary array."""
    if isinstance(hosts, pa.ChunkedArray):
        if pa.types.is_dictionary(hosts.type):
            hosts = hosts.unify_dictionaries()
        hosts = hosts.combine_chunks()
        if isinstance(hosts, pa.ChunkedArray):  # no chunk at all
            hosts = pa.array([], hosts.type)
    if not pa.types.is_dictionary(hosts.type):
        hosts = hosts.dictionary_encode()
    return hosts
