"""A slice of the LinkDb written for others to read: Parquet, CSV, JSON lines or text.

Parquet and CSV have a row a link, JSON and text one a URL; the text is that of Nutch's
readlinkdb. CSV and text are for people: what pages say is escaped (crawl/printable.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.derived_tables import LINKDB
from crawl.model.dump_format import DumpFormat
from crawl.printable import csv_cell, json_text, printable
from crawl.storage.folder import Folder
from crawl.tables.bucket_files import stored_groups
from crawl.tables.dump_files import csv_line, write_dump
from crawl.tables.slices import Slice

_JSON_KEYS = {"fromUrl": "from_url", "anchor": "anchor", "score": "score", "segment": "segment"}
_CSV_COLUMNS = ["Url", "From url", "Anchor", "Score", "Segment"]


@dataclass(frozen=True, slots=True)
class LinkDumpJob:
    """A dump of the LinkDb: where it goes, in which form, and of which URLs."""

    linkdb: Folder
    output: Folder
    format: DumpFormat
    regex: str | None = None
    """Must match the whole URL that is linked to."""


def dump_links(job: LinkDumpJob, base: Slice) -> int:
    """Writes the wanted links of a slice; returns how many."""
    tables, render = _matching(job, base), partial(_rendered, job.format)
    return write_dump(job.output, job.format, base, tables, _CSV_COLUMNS, render, LINKDB.schema)


def _rendered(form: DumpFormat, tables: Iterable[pa.Table]) -> Iterator[bytes]:
    if form is DumpFormat.CSV:
        for table in tables:
            yield b"".join(map(_as_csv, table.to_pylist()))
        return
    links = (row for table in tables for row in table.to_pylist())
    for url, group in groupby(links, key=lambda row: row["url"]):
        inlinks = list(group)
        if form is DumpFormat.JSON:
            yield json_text(as_inlinks(url, inlinks)).encode() + b"\n"
        else:
            yield as_paragraph(url, inlinks).encode() + b"\n\n"


def as_inlinks(url: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A URL and its inlinks, under Nutch's JSON keys where it has any."""
    return {
        "url": url,
        "inlinks": [{key: row[name] for key, name in _JSON_KEYS.items()} for row in rows],
    }


def as_paragraph(url: str, rows: list[dict[str, Any]]) -> str:
    """A URL and its inlinks for people to read; what came from outside is escaped."""
    lines = [f"{printable(url)}\tInlinks:"]
    lines += [
        f" fromUrl: {printable(row['from_url'])} anchor: {printable(row['anchor'])}" for row in rows
    ]
    return "\n".join(lines)


def _matching(job: LinkDumpJob, base: Slice) -> Iterator[pa.Table]:
    for rows in stored_groups(job.linkdb, base.files):
        if job.regex is not None:
            rows = rows.filter(pc.match_substring_regex(rows["url"], f"^(?:{job.regex})$"))
        yield rows


def _as_csv(row: dict[str, Any]) -> bytes:
    texts = [csv_cell(row[name]) for name in ("url", "from_url", "anchor")]
    return csv_line([*texts, row["score"], csv_cell(row["segment"])])
