"""The pages of a part of a segment's parse that are wanted: their data, texts and markup.

Rows are read group by group in the order of the parse. The markup lies in the files of the
fetch, mostly in the same order: where it is, is looked up first by URL alone, so that a group is
read when its pages are wanted, and few are held at a time whatever the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.html.encoding import UTF_8
from crawl.interfaces.page import Page
from crawl.model.arrow import as_array, as_mask, strings
from crawl.model.content import Content
from crawl.model.records import dicts
from crawl.phases.index.tasks.keys import SegmentPart
from crawl.phases.index.tasks.part_texts import Text, requested_rows
from crawl.storage.parquet import open_table, read_groups
from crawl.storage.segments import CONTENT

_HTML = frozenset(("text/html", "application/xhtml+xml"))
_COLUMNS = [
    *("url", "status", "title", "mime_type", "charset", "language", "canonical", "directives"),
    *("signature", "metadata"),
]
_MAX_GROUPS = 2
"""Row groups of content that are in memory at a time."""
_HEADERS = ("last-modified", "link")


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page that is to be exported."""

    url: str
    host: str
    fetched_ms: int
    modified_ms: int | None
    """By the CrawlDb."""
    score: float
    change: int
    segment: str
    title: str
    mime_type: str
    language: str
    canonical: str
    directives: str
    """What it asks of robots: `noarchive nofollow`."""
    signature: bytes | None
    metadata: Mapping[str, str]
    text: str
    main_text: str | None
    """As the parse found it, where it was asked to."""
    markup: bytes | None
    """In valid UTF-8; None where it is no HTML, or is not stored."""
    headers: Mapping[str, str]


def read_pages(part: SegmentPart, requests: pa.Table, *, markup: bool) -> Iterator[SourcePage]:
    """The wanted pages of a part, in the order of the parse; with their markup if that is asked
    for. `wanted` has the columns of `selection.EXPORTED`."""
    contents = _Contents(part, as_array(requests["url"]), markup=markup)
    for data, group_requests, texts in requested_rows(part, requests, _COLUMNS):
        yield from _pages(part, data, group_requests, texts, contents)


def _pages(
    part: SegmentPart, data: pa.Table, requests: pa.Table, texts: list[Text], contents: _Contents
) -> Iterator[SourcePage]:
    metadata = dicts(cast("pa.MapArray[Any, Any]", as_array(data["metadata"])))
    columns = (
        *(strings(data[name]) for name in ("url", "title", "mime_type", "charset", "language")),
        *(strings(data[name]) for name in ("canonical", "directives")),
        data["signature"].to_pylist(),
        *(requests[name].to_pylist() for name in ("host", "time", "score", "change")),
        requests["modified_time"].cast(pa.int64()).to_pylist(),
    )
    for row, values, text in zip(zip(*columns, strict=True), metadata, texts, strict=True):
        url, title, mime, charset, language, canonical, directives, signature, *rest = row
        host, time, score, change, modified = rest
        body, headers = contents.of(url)
        markup = None
        if body is not None and mime in _HTML:
            markup = Page(Content(url, body), mime, charset or UTF_8).utf_8
        yield SourcePage(
            *(url, host, time, modified, score or 0.0, change, part.name, title, mime, language),
            *(canonical, directives, signature, values, text[0], text[1], markup, headers),
        )


class _Contents:
    """The bodies and some headers of wanted pages."""

    def __init__(self, part: SegmentPart, urls: pa.Array[Any], *, markup: bool) -> None:
        self._part = part
        self._markup = markup
        self._places: dict[str, tuple[str, int, int]] = {}
        """Of each URL the file, row group and row."""
        self._group = lru_cache(_MAX_GROUPS)(self._read_group)
        for path in part.content:
            with open_table(part.folder.child(CONTENT), path) as source:
                for group in range(source.num_row_groups):
                    there = as_array(read_groups(source, [group], ["url"])["url"])
                    for row in np.flatnonzero(as_mask(pc.is_in(there, value_set=urls))).tolist():
                        self._places[str(there[row])] = (path, group, row)

    def of(self, url: str) -> tuple[bytes | None, Mapping[str, str]]:
        """Body and headers; no body where none is stored, or none is asked for."""
        place = self._places.get(url)
        if place is None:
            return None, {}
        path, group, row = place
        rows = self._group(path, group)
        body = rows["content"][row].as_py() if self._markup else None
        headers = dict(rows["headers"][row].as_py() or ())
        return body, {name: headers[name] for name in _HEADERS if name in headers}

    def _read_group(self, path: str, group: int) -> pa.Table:
        names = ["headers", "content"] if self._markup else ["headers"]
        with open_table(self._part.folder.child(CONTENT), path) as source:
            return read_groups(source, [group], names).combine_chunks()
