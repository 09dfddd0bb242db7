"""Reads the parsed pages of a crawl: what parse_data and parse_text say of them, joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.table import Column, Table
from crawl.model.tables import PARSE_DATA as PARSE_DATA_TABLE
from crawl.model.tables import PARSE_TEXT as PARSE_TEXT_TABLE
from crawl.storage.parquet import open_table
from crawl.storage.scan import Condition, filter_rows
from crawl.storage.segments import PARSE_DATA, PARSE_TEXT, Segment

PAGES = Table(
    "pages",
    (
        *(
            column
            for column in PARSE_DATA_TABLE.columns
            if column.name not in ("status", "message")
        ),
        *(each for each in PARSE_TEXT_TABLE.columns if each.name != "url"),
        Column("segment", pa.string(), "the segment that the page was fetched in"),
    ),
)
"""Every page that was parsed, as its newest fetch has it."""


def pages_of_segment(
    segment: Segment, columns: Sequence[str], conditions: Sequence[Condition]
) -> Iterator[pa.Table]:
    """The parsed pages of one segment."""
    for rows in _pages(segment, {*columns, *(each[0] for each in conditions)}):
        yield filter_rows(rows, conditions).select(columns)


def first_of_each(pieces: Iterable[pa.Table], column: str) -> Iterator[pa.Table]:
    """The rows whose value in that column was not met in a row before."""
    met: set[int] = set()
    for rows in pieces:
        is_new = []
        for value in rows[column].to_pylist():
            number = hash(value)
            is_new.append(number not in met)
            met.add(number)
        yield rows.filter(pa.array(is_new, pa.bool_()))


def _pages(segment: Segment, names: set[str]) -> Iterator[pa.Table]:
    """The parsed pages of a segment with all wanted columns."""
    data_manifest, text_manifest = segment.manifest(PARSE_DATA), segment.manifest(PARSE_TEXT)
    if data_manifest is None or text_manifest is None:
        return
    data_columns = [name for name in PARSE_DATA_TABLE.names if name in names | {"url", "status"}]
    text_columns = [name for name in PARSE_TEXT_TABLE.names if name in names - {"url"}]
    texts = {file.part: file for file in text_manifest.files}
    for file in data_manifest.files:
        with open_table(segment.part_folder(PARSE_DATA), file.path, size=file.bytes) as source:
            data = source.read(data_columns, use_threads=False)
        if text_columns:
            with open_table(segment.part_folder(PARSE_TEXT), texts[file.part].path) as source:
                data = _beside(data, source.read(["url", *text_columns], use_threads=False))
        rows = data.filter(pc.starts_with(data["status"], "success"))
        name = pa.array([segment.name] * rows.num_rows, pa.string())
        yield rows.drop_columns(["status"]).append_column("segment", name)


def _beside(data: pa.Table, texts: pa.Table) -> pa.Table:
    """The columns of both tables; their rows are written in one order, and joined by URL if
    they should not be."""
    if not data["url"].equals(texts["url"]):
        places = pc.index_in(data["url"], texts["url"].combine_chunks())
        texts = texts.take(places)
    for name in texts.column_names:
        if name != "url":
            data = data.append_column(name, texts[name])
    return data
