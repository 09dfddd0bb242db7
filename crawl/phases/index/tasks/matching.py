"""Rows of some URLs, out of files that have many more, and rows beside those of the same range."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array, strings
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_table, read_groups
from crawl.tables.ranges import StoredGroups


def matching_rows(
    folder: Folder, paths: Iterable[str], urls: pa.Array[Any], columns: list[str]
) -> Iterator[tuple[pa.Table, npt.NDArray[np.int64]]]:
    """Rows of the URLs, which differ, and which URL each is of. Of row groups without any only the
    URLs are read."""
    for path in paths:
        with open_table(folder, path) as source:
            for group in range(source.num_row_groups):
                there = as_array(read_groups(source, [group], ["url"])["url"])
                places = pc.index_in(there, value_set=urls)
                hits = pc.is_valid(places)
                if pc.any(hits).as_py():
                    rows = read_groups(source, [group], columns).filter(hits)
                    yield rows, places.filter(hits).to_numpy().astype(np.int64)


def beside_stored(
    stored: StoredGroups, end: str | None, rows: pa.Table, schema: pa.Schema
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """The stored row groups below a URL, each with those of the rows, which are in the order of
    URLs, that belong beside it; what is behind the last group comes with an empty one."""
    urls = strings(rows["url"])
    begin = 0
    for group in stored.below(end):
        last = bisect_right(urls, str(group["url"][group.num_rows - 1].as_py()), begin)
        yield group, rows.slice(begin, last - begin)
        begin = last
    if begin < len(urls):
        yield schema.empty_table(), rows.slice(begin)
