"""Decisions that depend on a URL's host, taken for a column at the price of its distinct
hosts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.urls.hosts import hosts_of

K = TypeVar("K", bound=Hashable)

_FEW_ROWS = 16
"""So few rows are sooner asked one by one."""


def decide_by_kind(
    urls: pa.Array[Any],
    kind_of: Callable[[str | None], K],
    verdict: Callable[[K, pa.Array[Any]], pa.Array[Any]],
) -> pa.Array[Any]:
    """Hosts fall into kinds, and the URLs of one kind are judged together; null for kinds
    of few rows, and wherever the verdict is null."""
    hosts = hosts_of(urls).dictionary_encode()
    kinds: dict[K, int] = {kind_of(None): 0}
    numbers = [kinds.setdefault(kind_of(host), len(kinds)) for host in hosts.dictionary.to_pylist()]
    kind_numbers = pa.array(numbers, pa.int32()).take(hosts.indices)
    kind_of_row = kind_numbers.fill_null(0).to_numpy(zero_copy_only=False)
    result = pa.nulls(len(urls), pa.bool_())
    for number, (kind, count) in enumerate(
        zip(kinds, np.bincount(kind_of_row, minlength=len(kinds)), strict=True)
    ):
        if count == len(urls):
            return verdict(kind, urls)
        if count >= _FEW_ROWS:
            rows = pa.array(kind_of_row == number)
            result = pc.replace_with_mask(result, rows, verdict(kind, urls.filter(rows)))
    return result
