"""The ends of links become nodes with numbers.

Each file of outlinks has its distinct URLs numbered by itself (`Endpoints`). They are sent to
their slices, where the same URLs of all files meet, are sorted and written, and get their place;
the places go back to the files. So a URL travels once for each file that names it, and links
never do as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array, fill_null, optional_schema
from crawl.model.derived_tables import WEBGRAPH
from crawl.phases.webgraph.tasks.outlinks import linking_pages
from crawl.storage.folder import Folder
from crawl.storage.layout import distinct, sorted_distinct
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, BucketWriter, stored_groups
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows
from crawl.tables.slices import Router, Slice
from crawl.urls.hosts import hosts_of

Numbers = npt.NDArray[np.int64]

_NUMBERS = dict.fromkeys(("file", "id", "inlinks", "outlinks"), pa.int32())
ENDPOINTS = RowKind(
    "endpoints", optional_schema({"url": pa.string(), "host": pa.string(), **_NUMBERS})
)
"""A URL that a file of outlinks names, by its number there; and how often."""

PLACES = RowKind(
    "places", optional_schema({"id": pa.int32(), "slice": pa.int32(), "place": pa.int64()})
)
"""Where a URL of a file is: its place among the nodes of a slice."""


@dataclass(frozen=True, slots=True)
class OutlinksFile:
    """A file of outlinks to be made nodes and edges of."""

    number: int
    file: BucketFile

    @property
    def rows(self) -> int:
        return self.file.rows


@dataclass(frozen=True, eq=False)
class Endpoints:
    """The links of a file as numbers of its distinct URLs."""

    urls: pa.Array[Any]
    pages: Numbers
    """The number of each page that links."""
    outlinks: Numbers
    """How many pages each of them links to."""
    targets: Numbers
    """What they link to, page by page."""

    @classmethod
    def of(cls, folder: Folder, file: BucketFile) -> Endpoints:
        rows = pa.concat_tables(
            linking_pages(group) for group in stored_groups(folder, [file], ["url", "outlinks"])
        )
        lists: Any = as_array(rows["outlinks"])
        urls, numbers = distinct(pa.concat_arrays([as_array(rows["url"]), pc.list_flatten(lists)]))
        lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(urls, numbers[: rows.num_rows], lengths, numbers[rows.num_rows :])


def send_endpoints(folder: Folder, router: Router, task: OutlinksFile, outbox: Outbox) -> None:
    """Sends the distinct URLs of a file to their slices."""
    links = Endpoints.of(folder, task.file)
    count = len(links.urls)
    outlinks = np.zeros(count, dtype=np.int32)
    outlinks[links.pages] = links.outlinks
    rows = pa.table(
        [
            links.urls,
            fill_null(hosts_of(links.urls), ""),
            np.full(count, task.number, dtype=np.int32),
            np.arange(count, dtype=np.int32),
            np.bincount(links.targets, minlength=count).astype(np.int32),
            outlinks,
        ],
        schema=ENDPOINTS.schema,
    )
    outbox.send(ENDPOINTS, rows, router.slices_of(rows["host"], rows["url"]))


def write_nodes(
    target: BucketTarget, base: Slice, received: Received, outbox: Outbox
) -> list[BucketFile]:
    """Writes the nodes of a slice, and tells the files of outlinks their places; returns its files
    in their order."""
    # at most: a URL that many files name is one node
    expected = received.row_count(ENDPOINTS)
    place = 0
    with BucketWriter(target, base.bucket, expected) as writer:
        for new in NewRows.received(received, ENDPOINTS, "url").ranges():
            rows = new.rows
            if rows.num_rows == 0:
                continue
            urls, places = sorted_distinct(rows["url"])
            some = np.empty(len(urls), dtype=np.int64)
            some[places] = np.arange(len(places))  # any row of a URL tells its host
            hosts = rows["host"].take(some)
            counts = [_summed(rows[name], places) for name in ("inlinks", "outlinks")]
            writer.write(pa.table([urls, hosts, *counts], schema=WEBGRAPH.schema))
            send_places(rows, base.number, place + places, outbox)
            place += len(urls)
    return writer.files


def send_places(rows: pa.Table, number: int, places: Numbers, outbox: Outbox) -> None:
    """Tells those who sent rows the places of these in a slice of this number."""
    slices = np.full(len(places), number, dtype=np.int32)
    answers = pa.table([rows["id"], slices, places], schema=PLACES.schema)
    outbox.send(PLACES, answers, rows["file"].to_numpy())


def _summed(column: pa.ChunkedArray[Any], places: Numbers) -> npt.NDArray[np.int32]:
    sums = np.bincount(places, weights=column.to_numpy())
    return np.minimum(sums, np.iinfo(np.int32).max).astype(np.int32)


def numbers_of(count: int, offsets: Numbers, received: Received) -> Numbers:
    """The number of the node of each URL of a file; `offsets` are the numbers of the first node
    of every slice."""
    numbers = np.full(count, -1, dtype=np.int64)
    for rows in received.tables(PLACES):
        slices = rows["slice"].to_numpy()
        numbers[rows["id"].to_numpy()] = offsets[slices] + rows["place"].to_numpy()
    assert count == 0 or int(numbers.min()) >= 0
    return numbers
