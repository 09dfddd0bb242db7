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
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, BucketWriter, stored_groups
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows
from crawl.tables.slices import Router, Slice
from crawl.urls.hosts import hosts_of

Numbers = npt.NDArray[np.int64]

_COLUMNS: dict[str, pa.DataType] = {
    **dict.fromkeys(("url", "host"), pa.string()),
    **dict.fromkeys(("file", "id", "inlinks", "outlinks"), pa.int32()),
}
ENDPOINTS = RowKind("endpoints", optional_schema(_COLUMNS))
"""A URL that a file of outlinks names, by its number there; and how often."""

_PLACE: dict[str, pa.DataType] = {"id": pa.int32(), "slice": pa.int32(), "place": pa.int64()}
PLACES = RowKind("places", optional_schema(_PLACE))
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
        both: Any = pa.concat_arrays([as_array(rows["url"]), pc.list_flatten(lists)])
        codes = both.dictionary_encode()
        numbers = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(codes.dictionary, numbers[: rows.num_rows], lengths, numbers[rows.num_rows :])


@dataclass(frozen=True)
class SendEndpointsJob:
    """The sending of the ends of links to their slices: the files of outlinks, and where the rows
    go."""

    folder: Folder
    router: Router


def send_endpoints(job: SendEndpointsJob, task: OutlinksFile, outbox: Outbox) -> int:
    """Sends the distinct URLs of a file to their slices; returns how many links it has."""
    found = Endpoints.of(job.folder, task.file)
    count = len(found.urls)
    outlinks = np.zeros(count, dtype=np.int32)
    outlinks[found.pages] = found.outlinks
    rows = pa.table(
        [
            found.urls,
            fill_null(hosts_of(found.urls), ""),
            np.full(count, task.number, dtype=np.int32),
            np.arange(count, dtype=np.int32),
            np.bincount(found.targets, minlength=count).astype(np.int32),
            outlinks,
        ],
        schema=ENDPOINTS.schema,
    )
    outbox.send(ENDPOINTS, rows, job.router.slices_of(rows["host"], rows["url"]))
    return len(found.targets)


def write_nodes(
    target: BucketTarget, base: Slice, received: Received, outbox: Outbox
) -> list[BucketFile]:
    """Writes the nodes of a slice, and tells the files of outlinks their places; returns its files
    in their order."""
    # at most: a URL that many files name is one node
    expected = received.row_count(ENDPOINTS)
    place = 0
    with BucketWriter(target, base.bucket, expected) as writer:
        for found in NewRows.received(received, ENDPOINTS, "url").ranges():
            place += _write_range(found.rows, place, base.number, writer, outbox)
    return writer.files


def _write_range(
    rows: pa.Table, place: int, number: int, writer: BucketWriter, outbox: Outbox
) -> int:
    """Writes the nodes of a range of URLs; returns how many they are."""
    if rows.num_rows == 0:
        return 0
    urls, places = sorted_distinct(rows["url"])
    some = np.empty(len(urls), dtype=np.int64)
    some[places] = np.arange(len(places))  # any row of a URL tells its host
    hosts = rows["host"].take(some)
    counts = [_summed(rows[name], places) for name in ("inlinks", "outlinks")]
    writer.write(pa.table([urls, hosts, *counts], schema=WEBGRAPH.schema))
    send_places(rows, number, place + places, outbox)
    return len(urls)


def sorted_distinct(column: pa.ChunkedArray[Any]) -> tuple[pa.Array[Any], Numbers]:
    """The different values in their order, and the place of each row's among them."""
    codes: Any = as_array(column).dictionary_encode()
    order = pc.sort_indices(codes.dictionary).to_numpy().astype(np.int64)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    values = codes.dictionary.take(pa.array(order))
    return values, places[codes.indices.to_numpy(zero_copy_only=False)]


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
