"""The rows of a slice that were assigned to segments, and the mark that they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.model.datum import GENERATE_TIME_KEY
from crawl.model.metadata import with_entry
from crawl.phases.generate.tasks.shards import ASSIGNED
from crawl.tables.exchange import Received


def assigned_rows(
    received: Received,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int16]]:
    """The selected rows of a slice in order, with their segments."""
    table = received.rows(ASSIGNED)
    rows = table["row"].to_numpy().astype(np.int64)
    order = np.argsort(rows)
    return rows[order], table["segment"].to_numpy()[order]


def with_generate_time(
    metadata: pa.Array[Any],
    now_ms: int,
    rows: npt.NDArray[np.int64],
    segments: npt.NDArray[np.int16],
) -> pa.Array[Any]:
    """The generate time in these rows, a millisecond on for each segment: by it updatedb
    tells whose reservation a record bears."""
    for segment in np.unique(segments).tolist():
        chosen = np.zeros(len(metadata), dtype=np.bool_)
        chosen[rows[segments == segment]] = True
        metadata = with_entry(metadata, GENERATE_TIME_KEY, str(now_ms + segment), chosen)
    return metadata
