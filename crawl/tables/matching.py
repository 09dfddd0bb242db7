"""The rows of a slice that a condition (`--expr`) holds for, on their way to its task."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from crawl.storage.folder import Folder
from crawl.tables.bucket_files import stored_groups
from crawl.tables.exchange import Received, RowKind
from crawl.tables.slices import Slice

MATCHING = RowKind("matching", pa.schema([pa.field("row", pa.int32(), False)]))


def matching_groups(
    folder: Folder, base: Slice, received: Received | None, columns: list[str] | None = None
) -> Iterator[pa.Table]:
    """The row groups of a slice, of which only those rows are left whose numbers were received;
    all where nothing is given."""
    matching = None if received is None else received.rows(MATCHING)["row"].to_numpy()
    start = 0
    for rows in stored_groups(folder, base.files, columns):
        place = np.arange(start, start + rows.num_rows)
        start += rows.num_rows
        yield rows if matching is None else rows.filter(pa.array(np.isin(place, matching)))
