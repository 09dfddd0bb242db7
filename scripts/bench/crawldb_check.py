"""What a run made, read back the same way whoever wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from crawl.model.table import TIMESTAMP
from crawl.model.tables import CRAWLDB


def of_crawldb(files: Sequence[str]) -> dict[str, Any]:
    """Rows and sum of scores of bucket files; whether each is sorted by URL."""
    rows, total, is_sorted = 0, 0.0, True
    for path in files:
        table = pq.read_table(path, columns=["url", "score"])
        urls = table["url"].combine_chunks()
        is_sorted &= bool(pc.all(pc.less(urls.slice(0, len(urls) - 1), urls.slice(1))).as_py())
        rows += table.num_rows
        total += float(table["score"].to_numpy().sum(dtype=np.float64))
    return {"rows": rows, "score_sum": total, "sorted": is_sorted}


def of_updated(files: Sequence[str]) -> dict[str, Any]:
    """What an update has to agree on: every column, by sums that are the same in any order."""
    found: Counter[str] = Counter()
    for path in files:
        table = pq.read_table(path, columns=[name for name in CRAWLDB.names if name != "url"])
        for status in table["status"].value_counts().to_pylist():
            found[f"status {status['values']}"] += status["counts"]
        for name in ("fetch_time", "modified_time"):
            times = table[name].cast(TIMESTAMP, safe=False)  # DuckDB's are microseconds
            found[name] += pc.sum(pc.divide(times.cast(pa.int64()), 1000)).as_py() or 0
        for name in ("fetch_interval", "retries"):
            found[name] += pc.sum(table[name].cast(pa.int64())).as_py()
        signatures = table["signature"].drop_null()
        found["signatures"] += len(signatures)
        found["first bytes of signatures"] += sum(each[0] for each in signatures.to_pylist())
        for key in pc.value_counts(table["metadata"].combine_chunks().keys).to_pylist():
            found[f"key {key['values']}"] += key["counts"]
    return {**of_crawldb(files), "contents": dict(sorted(found.items()))}


def of_lists(files: Sequence[str]) -> dict[str, Any]:
    """What must be the same of two selections, and the largest host's share."""
    columns = ["url", "host", "score", "metadata"]
    table = ds.dataset(list(files)).to_table(columns=columns)
    scores = table["score"].to_numpy()
    marks = pc.map_lookup(table["metadata"].combine_chunks(), pa.scalar("_ngt_"), "last")
    return {
        "rows": table.num_rows,
        "parts": len({path.rpartition("/")[0] for path in files}),
        "distinct": pc.count_distinct(table["url"]).as_py(),
        "unmarked": marks.null_count,
        "score_sum": float(scores.sum(dtype=np.float64)),
        "lowest": float(scores.min()),
        "most_of_a_host": max(pc.value_counts(table["host"]).field("counts").to_pylist()),
    }
