"""Where a link was found: `SEGMENT` of this crawl, or `CRAWL/SEGMENT` of another one.

Two crawls may have segments of one name. So what mergelinkdb brings bears the name of its
crawl's folder, and a bare name is a segment that this crawl has inverted itself: only such links
may be replaced when the segment is inverted again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pyarrow as pa

from crawl.model.arrow import as_array

_MARK = "/"


def as_merged(segments: pa.ChunkedArray[Any], crawl: str) -> pa.Array[Any]:
    """What a LinkDb says of its links' segments, as another crawl's LinkDb says it: what this
    one had from others keeps their names."""
    # a folder's name may be bytes that are no text
    name = crawl.encode("utf-8", "replace").decode()
    return _each(segments, lambda of: of if _MARK in of else f"{name}{_MARK}{of}")


def crawl_and_segment(segments: pa.ChunkedArray[Any]) -> tuple[pa.Array[Any], pa.Array[Any]]:
    """Of each link the crawl that it was merged from, empty for this one, and the segment's name
    there."""
    return (
        _each(segments, lambda of: of.rpartition(_MARK)[0]),
        _each(segments, lambda of: of.rpartition(_MARK)[2]),
    )


def _each(segments: pa.ChunkedArray[Any], change: Callable[[str], str]) -> pa.Array[Any]:
    """The column with every value changed; a LinkDb has few different ones."""
    codes = as_array(segments).dictionary_encode()
    values = [change(cast(str, value)) for value in codes.dictionary.to_pylist()]
    return pa.array(values, pa.string()).take(codes.indices)
