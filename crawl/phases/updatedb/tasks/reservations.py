"""Reservations of URLs that a fetch handed back: updatedb lifts them.

With `generate.update.crawldb` a listed URL bears the time of its list, so that no other list
takes it. A URL that was not fetched (no time was left, its server failed …) has no record in
crawl_fetch, and would stay reserved for `crawl.gen.delay` though nobody fetches it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import strings, with_column
from crawl.model.datum import GENERATE_TIME_KEY
from crawl.model.metadata import lookup, without_entry
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_table
from crawl.storage.segments import FETCH, GENERATE, Segment

_WITHOUT_RECORD = ("handed_back.", "no_host", "already_fetched_here")
"""The fetch's counters of URLs on its list that have no record."""


def finished_marks(segments: Iterable[Segment]) -> frozenset[str]:
    """The times of lists that are done with, and of which something was handed back."""
    marks = set()
    for segment in segments:
        fetched = segment.manifest(FETCH)
        counters = segment.report(FETCH).get("counters")
        # without a report, or with one that is damaged, it may have been so
        handed_back = counters is None or any(
            count and name.startswith(_WITHOUT_RECORD) for name, count in counters.items()
        )
        if fetched is not None and fetched.complete and handed_back:
            marks |= _mark_of(segment)
    return frozenset(marks)


def _mark_of(segment: Segment) -> set[str]:
    """The generate time of the segment's list, read from its first record: all have the same."""
    for file in segment.require(GENERATE).files:
        with open_table(segment.part_folder(GENERATE), file.path, size=file.bytes) as source:
            for rows in source.iter_batches(1, columns=["metadata"]):
                return set(strings(lookup(rows.column(0), GENERATE_TIME_KEY).drop_null()))
    return set()


def has_reserved(crawldb: Folder, path: str, marks: frozenset[str]) -> bool:
    """Whether a bucket's file has a record with one of the marks: most have none, and need
    not be written anew."""
    with open_table(crawldb, path) as source:
        return any(
            bool(_marked(rows.column(0), marks).any())
            for rows in source.iter_batches(columns=["metadata"])
        )


def lift_reservations(
    group: pa.Table, fetched: npt.NDArray[np.bool_], marks: frozenset[str], counters: Counters
) -> pa.Table:
    """Old records without their mark where the list is done with and they were not fetched;
    of the fetched the rules take it."""
    if not marks or group.num_rows == 0:
        return group
    metadata = group["metadata"].combine_chunks()
    free = np.flatnonzero(_marked(metadata, marks) & ~fetched)
    if len(free) == 0:
        return group
    counters["reservations_lifted"] += len(free)
    lifted = without_entry(metadata.take(free), GENERATE_TIME_KEY)
    places = np.arange(len(metadata))
    places[free] = len(metadata) + np.arange(len(free))
    mended = pa.concat_arrays([metadata, lifted]).take(places)
    return with_column(group, "metadata", mended)


def _marked(metadata: pa.Array[Any], marks: frozenset[str]) -> npt.NDArray[np.bool_]:
    values = pa.array(sorted(marks), pa.string())
    is_marked: npt.NDArray[np.bool_] = pc.is_in(
        lookup(metadata, GENERATE_TIME_KEY), value_set=values
    ).to_numpy(zero_copy_only=False)
    return is_marked
