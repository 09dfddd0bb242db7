"""What segments have of which URLs: small rows on their way to the shards that choose.

No text is read here, and none moves before it is known which parse is the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_array, fill_null, optional_schema
from crawl.model.parse import ParseStatus
from crawl.model.status import Status
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import CONTENT, FETCH, PARSE_DATA, PARSE_TEXT, Segment
from crawl.tables.bucket_files import largest_first
from crawl.tables.exchange import Exchange, Outbox, RowKind
from crawl.tables.runner import Runner
from crawl.urls.hosts import hosts_of

FETCH_KEY, PARSE_KEY = 0, 1
"""What a row tells of: a fetch, or a parse."""

_SCHEMA = optional_schema(
    {
        "url": pa.string(),
        "host": pa.string(),
        "kind": pa.int8(),
        "time": pa.int64(),
        "segment": pa.int32(),
        "part": pa.int32(),
        "row": pa.int64(),
        "status": pa.int8(),
        "noindex": pa.bool_(),
        "score": pa.float32(),
        "signature": pa.binary(),
    }
)
KEYS = RowKind("index keys", _SCHEMA)
"""`status` is a fetch's code, or of a parse 1 where it succeeded; `part` and `row` say where a
parse lies; `signature` is a parse's, where it is asked for."""

_REDIRECTS = (Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)
_SETTLED = pa.array(map(int, (Status.FETCH_SUCCESS, *_REDIRECTS, Status.FETCH_GONE)), pa.int8())
"""Fetches that say what the page is now. One that found it not modified leaves it as the one
before it found it, and so does one that is to be tried again."""

_GOOD = pa.array([status.value for status in ParseStatus if status.is_success])


@dataclass(frozen=True, slots=True)
class SegmentPart:
    """What one part of a segment's parse consists of; rows are counted through its files."""

    number: int
    """Among the parts of all segments that are indexed."""
    segment: int
    """Among those segments, oldest first."""
    name: str
    """The segment's."""
    folder: Folder
    """The segment's."""
    data: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True)
class FetchFile:
    """A file of crawl_fetch."""

    segment: int
    folder: Folder
    path: str
    rows: int


KeysTask = SegmentPart | FetchFile


@dataclass(frozen=True, slots=True)
class KeysJob:
    """The sending of what segments have of URLs: to how many shards, and whether signatures go
    along."""

    shards: int
    signatures: bool = False
    """Whether parses tell their signatures."""


def parts_of(segments: Iterable[Segment]) -> list[SegmentPart]:
    """The parts of the segments' parses."""
    parts: list[SegmentPart] = []
    for place, segment in enumerate(segments):
        files = {table: _by_part(segment, table) for table in (PARSE_DATA, PARSE_TEXT, CONTENT)}
        numbers = sorted(files[PARSE_DATA])
        for at, part in enumerate(numbers):
            following = numbers[at + 1] if at + 1 < len(numbers) else None
            data = files[PARSE_DATA][part]
            # a parse's part is the first of the fetch's that it is of
            content = [
                path
                for number, pieces in sorted(files[CONTENT].items())
                if part <= number and (following is None or number <= following)
                for path, _ in pieces
            ]
            parts.append(
                SegmentPart(
                    len(parts),
                    place,
                    segment.name,
                    segment.folder,
                    tuple(path for path, _ in data),
                    tuple(path for path, _ in files[PARSE_TEXT].get(part, ())),
                    tuple(content),
                    sum(rows for _, rows in data),
                )
            )
    return parts


def exchange_keys(
    runner: Runner, job: KeysJob, segments: Sequence[Segment], folder: Folder, step: str
) -> tuple[list[SegmentPart], Exchange[Counters]]:
    """Has what the segments have of URLs sent to the shards. The parts of their parses, at least
    one, in the segments' `folder`: deletions pass through some part."""
    parts = parts_of(segments) or [SegmentPart(0, 0, "", folder)]
    senders: list[KeysTask] = [*parts, *fetch_files_of(segments)]
    sent = runner.exchange(partial(send_keys, job), largest_first(senders), job.shards, step)
    return parts, sent


def fetch_files_of(segments: Iterable[Segment]) -> list[FetchFile]:
    """The files of the segments' fetches."""
    return [
        FetchFile(number, segment.folder, file.path, file.rows)
        for number, segment in enumerate(segments)
        if (manifest := segment.manifest(FETCH)) is not None
        for file in manifest.files
        if file.rows
    ]


def _by_part(segment: Segment, table: str) -> dict[int, list[tuple[str, int]]]:
    manifest = segment.manifest(table)
    files: dict[int, list[tuple[str, int]]] = {}
    for file in manifest.files if manifest else ():
        if file.rows:
            files.setdefault(file.part, []).append((file.path, file.rows))
    return files


def send_keys(job: KeysJob, task: KeysTask, outbox: Outbox) -> Counters:
    """Sends what a file or a part has to the shards of its URLs."""
    counters = Counters()
    if isinstance(task, FetchFile):
        tables = _fetches(task, counters)
    else:
        tables = _parses(task, counters, job.signatures)
    for table in tables:
        outbox.send(KEYS, table, buckets_of(table["host"], job.shards))
    return counters


def _fetches(task: FetchFile, counters: Counters) -> Iterator[pa.Table]:
    columns = ["url", "host", "status", "fetch_time", "score"]
    with open_table(task.folder.child(FETCH), task.path) as source:
        for group in each_group(source, columns):
            rows = group.filter(pc.is_in(group["status"], _SETTLED))
            counters["fetches"] += rows.num_rows
            if rows.num_rows:
                yield _keys(
                    rows.num_rows,
                    url=rows["url"],
                    host=rows["host"],
                    kind=FETCH_KEY,
                    time=rows["fetch_time"].cast(pa.int64()),
                    segment=task.segment,
                    status=rows["status"],
                    score=rows["score"],
                )


def _parses(part: SegmentPart, counters: Counters, signatures: bool) -> Iterator[pa.Table]:
    first = 0
    columns = ["url", "status", "directives", "fetch_time"]
    columns += ["signature"] if signatures else []
    for path in part.data:
        with open_table(part.folder.child(PARSE_DATA), path) as source:
            for rows in each_group(source, columns):
                count = rows.num_rows
                counters["parses"] += count
                yield _keys(
                    count,
                    url=rows["url"],
                    host=fill_null(hosts_of(as_array(rows["url"])), ""),
                    kind=PARSE_KEY,
                    time=rows["fetch_time"].cast(pa.int64()),
                    segment=part.segment,
                    part=part.number,
                    row=pa.array(np.arange(first, first + count)),
                    status=pc.is_in(rows["status"], _GOOD).cast(pa.int8()),
                    noindex=pc.match_substring_regex(rows["directives"], r"\bnoindex\b"),
                    **({"signature": rows["signature"]} if signatures else {}),
                )
                first += count


def _keys(count: int, **values: Any) -> pa.Table:
    """A table of keys; what is not given is 0, or null."""
    columns = []
    for field in KEYS.schema:
        value = values.get(field.name, None if field.name == "signature" else 0)
        if value is None or isinstance(value, int):
            value = pa.nulls(count) if value is None else pa.repeat(pa.scalar(value), count)
        columns.append(value.cast(field.type))
    return pa.table(columns, schema=KEYS.schema)
