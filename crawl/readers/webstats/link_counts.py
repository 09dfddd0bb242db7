"""Links of parsed pages, counted: how many a page has, how many lead to it.

Links travel as numbers. They meet by the page that has them, where only its latest parse counts
and a link that is there twice counts once, and then by the page they lead to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array, fill_null, required_schema
from crawl.parsing.anchors import are_followable
from crawl.readers.webstats.distribution import distribution_of
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.value_counts import value_counts
from crawl.urls.columns import column_bytes
from crawl.urls.hosts import hosts_of
from crawl.urls.text_hashes import Numbers, row_hashes

LINKS = RowKind(
    "links",
    required_schema(
        {"source": pa.uint64(), "age": pa.int32(), "target": pa.uint64(), "is_internal": pa.bool_()}
    ),
)
"""A link of a page, as it was parsed in the segment of that age (0: the newest)."""
PARSED_PAGES = RowKind("parsed_pages", required_schema({"source": pa.uint64(), "age": pa.int32()}))
INLINKS = RowKind("inlinks", pa.schema([pa.field("target", pa.uint64(), False)]))

_CHUNK = 4_096
"""Pages whose links are numbered at a time."""


@dataclass(frozen=True, slots=True)
class LinkTask:
    """A file of parse_data, and how old its segment is."""

    folder: Folder
    path: str
    rows: int
    age: int


@dataclass(slots=True)
class OutDegrees:
    """What is known of the pages that have links."""

    pages: int = 0
    links: int = 0
    internal: int = 0
    degrees: Counter[int] = field(default_factory=Counter)
    """How many pages have so many links."""


@dataclass(slots=True)
class InDegrees:
    """What is known of what links lead to."""

    urls: int = 0
    degrees: Counter[int] = field(default_factory=Counter)
    """How many URLs so many pages link to."""
    top: list[tuple[int, int]] = field(default_factory=list)
    """The most linked, by number: (links, URL)."""


def send_links(destinations: int, task: LinkTask, outbox: Outbox) -> None:
    """Sends the links of a file to where all parses of their page meet."""
    for url, outlinks in _pages(task):
        source = row_hashes(column_bytes(url))
        ages = np.full(len(source), task.age, np.int32)
        pages = pa.Table.from_arrays([pa.array(source), pa.array(ages)], schema=PARSED_PAGES.schema)
        outbox.send(PARSED_PAGES, pages, _places(source, destinations))
        targets, owners = _targets(outlinks)
        if not len(targets):
            continue
        here = hosts_of(url).take(pa.array(owners))
        there = hosts_of(targets)
        is_internal = fill_null(pc.equal(here, there), False)
        links = pa.Table.from_arrays(
            [
                pa.array(source[owners]),
                pa.array(ages[owners]),
                pa.array(row_hashes(column_bytes(targets))),
                is_internal,
            ],
            schema=LINKS.schema,
        )
        outbox.send(LINKS, links, _places(source[owners], destinations))


def send_inlinks(destinations: int, number: int, received: Received, outbox: Outbox) -> OutDegrees:
    """Counts the links of the pages that meet here, and sends each to where it leads."""
    ages = received.rows(PARSED_PAGES).group_by("source", use_threads=False)
    latest = ages.aggregate([("age", "min")])
    degrees_out = OutDegrees(pages=latest.num_rows)
    links = received.rows(LINKS).join(
        latest, ["source", "age"], ["source", "age_min"], join_type="inner", use_threads=False
    )
    # a link that a page has twice counts once
    distinct = links.group_by(["source", "target", "is_internal"], use_threads=False).aggregate([])
    degrees_out.links = distinct.num_rows
    degrees_out.internal = pc.sum(distinct["is_internal"]).as_py() or 0
    degrees = value_counts(distinct.select(["source"]))["count_all"].to_numpy()
    degrees_out.degrees = distribution_of(degrees)
    if len(degrees) < degrees_out.pages:
        degrees_out.degrees[0] = degrees_out.pages - len(degrees)
    if degrees_out.links:
        target = distinct["target"].to_numpy()
        outbox.send(INLINKS, distinct.select(["target"]), _places(target, destinations))
    return degrees_out


def count_inlinks(top: int, number: int, received: Received) -> InDegrees:
    """Counts the links that lead to the same URL."""
    targets = received.rows(INLINKS)["target"].to_numpy()
    urls, counts = np.unique(targets, return_counts=True)
    most = np.lexsort((urls, -counts))[:top]
    return InDegrees(
        len(urls),
        distribution_of(counts),
        list(zip(counts[most].tolist(), urls[most].tolist(), strict=True)),
    )


def find_urls(wanted_numbers: Numbers, task: LinkTask) -> Mapping[int, str]:
    """The URLs behind numbers, as far as links of the file lead to them."""
    urls_by_number: dict[int, str] = {}
    for _, outlinks in _pages(task):
        targets, _ = _targets(outlinks)
        if len(targets):
            numbers = row_hashes(column_bytes(targets))
            places = np.flatnonzero(np.isin(numbers, wanted_numbers))
            numbers, firsts = np.unique(numbers[places], return_index=True)
            urls = targets.take(pa.array(places[firsts])).to_pylist()
            urls_by_number.update(zip(numbers.tolist(), map(str, urls), strict=True))
    return urls_by_number


def _pages(task: LinkTask) -> Any:
    """The URL and the outlinks of pages that were parsed well, some at a time."""
    with open_table(task.folder, task.path) as source:
        for rows in each_group(source, ["url", "outlinks"]):
            for start in range(0, rows.num_rows, _CHUNK):
                some = rows.slice(start, _CHUNK)
                yield as_array(some["url"]), as_array(some["outlinks"])


def _targets(outlinks: Any) -> tuple[Any, Any]:
    """The URLs of lists of links, and the row of each; those alone that a reader can follow."""
    links: Any = pc.list_flatten(outlinks)
    owners = pc.list_parent_indices(outlinks).to_numpy()
    followable = are_followable(pc.struct_field(links, "tag"))
    return pc.struct_field(links, "url").filter(pa.array(followable)), owners[followable]


def _places(numbers: Numbers, destinations: int) -> np.ndarray[Any, Any]:
    return (numbers % np.uint64(destinations)).astype(np.int64)
