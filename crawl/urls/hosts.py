"""Hosts of a whole column of URLs at once: what a 20-million-row table is bucketed by.

A crawl has few hosts and many URLs: RE2 cuts each URL after its authority, and only the
distinct beginnings are parsed. The answer is `host_of`'s for every row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.urls.parse import host_of

# The delimiter after the authority is kept, so that the cut text parses as the whole does
# ("http://a /" is no URL, "http://a " is one). Control characters and blanks are left to
# the parser, which drops or forbids them depending on their place.
_BEGINNING = r"^(?P<beginning>(?:https?|ftp)://[^/?#\\\x00-\x20]+[/?#\\])"


def hosts_of(urls: pa.Array[Any]) -> pa.Array[Any]:
    """The host of each URL of a string column, as `host_of` tells it; null for none."""
    beginnings = pc.struct_field(pc.extract_regex(urls, _BEGINNING), "beginning")
    distinct = beginnings.dictionary_encode()
    names = pa.array([host_of(text) for text in distinct.dictionary.to_pylist()], pa.string())
    hosts = names.take(distinct.indices)
    open_rows = pc.and_(pc.is_null(beginnings), pc.is_valid(urls))
    if not pc.any(open_rows).as_py():
        return hosts
    unmatched: list[Any] = urls.filter(open_rows).to_pylist()
    parsed = pa.array([host_of(text) for text in unmatched], pa.string())
    filled: pa.Array[Any] = pc.replace_with_mask(hosts, open_rows, parsed)
    return filled


def decide_by_host(urls: pa.Array[Any], accepts: Callable[[str | None], bool]) -> pa.Array[Any]:
    """The decision on each URL's host (None where it has none), at the price of distinct hosts."""
    hosts = hosts_of(urls).dictionary_encode()
    decisions = pa.array([accepts(host) for host in hosts.dictionary.to_pylist()], pa.bool_())
    return decisions.take(hosts.indices).fill_null(accepts(None))
