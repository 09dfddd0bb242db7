"""The columns of a CrawlDb for measuring that follow after url and host."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from crawldb_shape import DAY_MS, NOW_MS

from crawl.model.datum import GENERATE_TIME_KEY
from crawl.model.status import Status
from crawl.model.table import METADATA
from crawl.model.tables import CRAWLDB


def states(rows: int, rng: np.random.Generator) -> list[pa.Array]:
    """Every column after url and host."""
    shares = {
        Status.DB_UNFETCHED: 0.60,
        Status.DB_FETCHED: 0.26,
        Status.DB_GONE: 0.04,
        Status.DB_REDIR_TEMP: 0.03,
        Status.DB_REDIR_PERM: 0.03,
        Status.DB_NOTMODIFIED: 0.03,
        Status.DB_DUPLICATE: 0.01,
    }
    status = rng.choice(np.array([int(s) for s in shares], np.int8), rows, p=list(shares.values()))
    is_new = status == int(Status.DB_UNFETCHED)
    has_page = (status == int(Status.DB_FETCHED)) | (status == int(Status.DB_NOTMODIFIED))
    hours = rng.integers(0, 45 * 24, rows)
    ahead = ~is_new & (rng.random(rows) < 0.7)
    due = NOW_MS + np.where(ahead, hours, -hours) * 3_600_000 - rng.integers(1, 3_600_000, rows)
    interval = rng.choice(
        np.array([30, 7, 1, 60], np.int32) * 86_400, rows, p=[0.8, 0.1, 0.05, 0.05]
    )
    modified = due - interval.astype(np.int64) * 1000
    retries = rng.choice(np.array([0, 1, 2], np.int16), rows, p=[0.95, 0.04, 0.01])
    score = np.where(rng.random(rows) < 0.4, 1.0, rng.exponential(0.4, rows)).astype(np.float32)
    return [
        pa.array(status),
        pa.array(due).cast(CRAWLDB.schema.field("fetch_time").type),
        pa.array(modified, mask=~has_page).cast(CRAWLDB.schema.field("modified_time").type),
        pa.array(interval),
        pa.array(retries),
        pa.array(score),
        _signatures(has_page, rng),
        _metadata(rows, rng),
    ]


def _signatures(has_page: npt.NDArray[np.bool_], rng: np.random.Generator) -> pa.Array:
    offsets = np.append(0, np.cumsum(has_page * 16)).astype(np.int32)
    validity = pa.array(has_page).buffers()[1]
    return pa.Array.from_buffers(
        pa.binary(),
        len(has_page),
        [validity, pa.py_buffer(offsets), pa.py_buffer(rng.bytes(int(offsets[-1])))],
    )


def _metadata(rows: int, rng: np.random.Generator) -> pa.Array:
    """One key in 2% of the rows; in a tenth of those it is generate's mark, old or new."""
    has_one = rng.random(rows) < 0.02
    entries = int(has_one.sum())
    kind = rng.choice(4, entries, p=[0.6, 0.3, 0.05, 0.05])
    keys = pa.array(["lang", "source", GENERATE_TIME_KEY, GENERATE_TIME_KEY])
    values = pa.array(["en", "sitemap", str(NOW_MS - DAY_MS), str(NOW_MS - 30 * DAY_MS)])
    offsets = np.append(0, np.cumsum(has_one)).astype(np.int32)
    chosen = pa.array(kind)
    return pa.MapArray.from_arrays(pa.array(offsets), keys.take(chosen), values.take(chosen)).cast(
        METADATA
    )
