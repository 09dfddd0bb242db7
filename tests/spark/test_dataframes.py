"""The newest row of each key, found by keys alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from crawl.errors import StorageError
from crawl.spark.costs import group_costs
from crawl.spark.dataframes import _checks, newest_of, rows_at

SCHEMA = pa.schema([("url", pa.string()), ("text", pa.string()), ("title", pa.string())])
Read = Callable[[Sequence[str], Sequence[Any]], Iterator[pa.Table]]


def parts_of(count: int, rows: int) -> list[Read]:
    """Parts, newest first, whose URLs overlap, in pieces of 37 rows; texts of 4 kB each."""

    def part(number: int) -> Read:
        def read(columns: Sequence[str], conditions: Sequence[Any]) -> Iterator[pa.Table]:
            assert not conditions
            chance = random.Random(number)
            urls = [f"http://h{place * (number + 1) % 500}.org/" for place in range(rows)]
            texts = [chance.randbytes(2_000).hex() for _ in range(rows)]
            titles = [f"{number}-{place}" for place in range(rows)]
            whole = pa.table([urls, texts, titles], schema=SCHEMA)
            for start in range(0, rows, 37):
                yield whole.slice(start, 37).select(list(columns))

        return read

    return [part(number) for number in range(count)]


def expected(parts: list[Read]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for part in parts:
        for piece in part(["url", "text", "title"], ()):
            for row in piece.to_pylist():
                found.setdefault(row["url"], (row["text"], row["title"]))
    return found


@pytest.mark.spark  # the shuffle is Spark's own, and so are the counts of its bytes
def test_no_text_is_exchanged_to_find_the_newest(spark: SparkSession) -> None:
    parts = parts_of(4, 300)
    context = spark.sparkContext
    context.setJobGroup("newest", "newest")
    try:
        found = newest_of(spark, parts, SCHEMA, (), "url").collect()
    finally:
        for key in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(key, None)  # type: ignore[arg-type]  # others share the session
    wanted = expected(parts)
    assert len(found) == len(wanted)
    assert {row.url: (row.text, row.title) for row in found} == wanted
    exchanged = group_costs(context, "newest").bytes_exchanged
    assert exchanged is not None and 0 < exchanged < 150_000, "the texts are 2.4 MB, compressed"

    # conditions are asked of the newest alone, and the key need not be selected
    titles = pa.schema([("title", pa.string())])
    some = newest_of(spark, parts, titles, [("title", "startswith", "3-")], "url").collect()
    assert sorted(row.title for row in some) == sorted(
        title for _, title in wanted.values() if title.startswith("3-")
    )
    assert newest_of(spark, [], SCHEMA, (), "url").collect() == []


def test_a_part_that_was_written_anew_meanwhile_is_told_of() -> None:
    (part,) = parts_of(1, 100)
    whole = pa.concat_tables(part(["url", "title"], ()))
    rows = np.array([0, 36, 37, 99])
    checks = _checks(whole["url"])[rows]
    found = pa.concat_tables(rows_at(part, ["title"], "url", rows, checks))
    assert found["title"].to_pylist() == ["0-0", "0-36", "0-37", "0-99"]
    assert found.column_names == ["title"]
    with pytest.raises(StorageError, match="anew"):
        list(rows_at(part, ["title"], "url", rows, checks[::-1].copy()))
    (shorter,) = parts_of(1, 99)
    with pytest.raises(StorageError, match="anew"):
        list(rows_at(shorter, ["title"], "url", rows, checks))
