"""What the HostDb says of how a host is to be fetched: at most how many URLs in a segment, and with
what pause.

The values come with `generate.max.count=auto`, or from SQL expressions over the HostDb's columns.
They are sent to the slices of the host's bucket, whatever number of buckets the HostDb has. The
first slice of a bucket tells the shard where candidates are counted; the pauses go along to where
records are collected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import required_schema, strings
from crawl.model.datum import FETCH_DELAY_KEY
from crawl.model.metadata import with_entries
from crawl.phases.generate.tasks.automatic_counts import automatic_counts
from crawl.phases.generate.tasks.ranking import OwnCaps
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of, number_of
from crawl.storage.parquet import each_group, open_table
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.slices import Router

BY_EXPRESSION, AUTOMATIC = 0, 1
_BOUNDS: dict[str, pa.DataType] = {
    "host": pa.string(),
    "origin": pa.int8(),
    "max_count": pa.int64(),
    "delay_ms": pa.int64(),
}
HOST_BOUNDS = RowKind("host_bounds", pa.schema(_BOUNDS))
"""Bounds of hosts; an expression's word is above the automatic one, and null says nothing."""
GROUP_CAPS = RowKind("group_caps", required_schema({"group": pa.uint64(), "cap": pa.int64()}))
_DELAYS: dict[str, pa.DataType] = {"host": pa.string(), "delay_ms": pa.int64()}
DELAYS = RowKind("delays", pa.schema(_DELAYS))

_LONGEST_DELAY_MS = 86_400_000
_LARGEST = float(1 << 53)
_AUTO_COLUMNS = ["host", "requests", "failed", "refused", "pages", "duplicates_share", "failures"]


@dataclass(frozen=True, slots=True)
class HostsFile:
    """A file of the HostDb whose hosts get their automatic bounds."""

    folder: Folder
    path: str
    rows: int
    most: int
    """Of a host that answers and does not repeat itself."""


def send_automatic(router: Router, file: HostsFile, outbox: Outbox) -> None:
    """Sends the automatic bounds of a file's hosts."""
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, _AUTO_COLUMNS):
            counts = automatic_counts(
                file.most,
                rows["requests"].to_numpy(),
                rows["failed"].to_numpy() + rows["refused"].to_numpy(),
                rows["pages"].to_numpy(),
                rows["duplicates_share"].to_numpy(),
                rows["failures"].to_numpy().astype(np.int64),
            )
            delays = pa.nulls(len(counts), pa.int64())
            bounds = _bounds(rows["host"].combine_chunks(), AUTOMATIC, counts, delays)
            send_bounds(router, bounds, outbox)


def bounds_of_values(
    hosts: pa.Array[Any], counts: pa.Array[Any], delays: pa.Array[Any]
) -> pa.Table:
    """The bounds that an expression gave as numbers of any size, with a fraction or none."""
    max_counts = _whole(counts, -_LARGEST, _LARGEST)
    return _bounds(hosts, BY_EXPRESSION, max_counts, _whole(delays, 0, _LONGEST_DELAY_MS))


def send_values(
    router: Router,
    hosts: pa.Array[Any],
    counts: pa.Array[Any],
    delays: pa.Array[Any],
    outbox: Outbox,
) -> None:
    """Sends the bounds that an expression gave."""
    send_bounds(router, bounds_of_values(hosts, counts, delays), outbox)


def _whole(values: pa.Array[Any], least: float, most: float) -> pa.Array[Any]:
    """The values as whole numbers; null for what is none, and for a negative pause."""
    numbers = values.to_numpy(zero_copy_only=False).astype(np.float64)
    is_number = ~np.isnan(numbers) & (numbers >= least)
    whole = np.rint(np.clip(np.where(is_number, numbers, 0), least, most)).astype(np.int64)
    return cast("pa.Array[Any]", pa.array(whole, mask=~is_number))


def _bounds(hosts: pa.Array[Any], origin: int, counts: Any, delays: Any) -> pa.Table:
    """Rows of HOST_BOUNDS."""
    origins = np.full(len(hosts), origin, dtype=np.int8)
    return pa.table([hosts, origins, counts, delays], schema=HOST_BOUNDS.schema)


def send_bounds(router: Router, bounds: pa.Table, outbox: Outbox) -> None:
    """Sends bounds to every slice of each host's bucket."""
    buckets = buckets_of(bounds["host"], router.buckets)
    first = router.first_slices(buckets)
    outbox.send(HOST_BOUNDS, bounds, first)
    for bucket, others in (router.bounds or {}).items():
        mine = buckets == bucket
        if mine.any():
            rows, start = bounds.filter(pa.array(mine)), int(first[mine][0])
            for place in range(1, len(others) + 1):
                outbox.send_all(HOST_BOUNDS, rows, start + place)


def own_caps(received: Received) -> OwnCaps | None:
    """The caps of hosts, by the number under which they are counted; None where there is none."""
    rows = received.rows(HOST_BOUNDS)
    rows = rows.filter(pc.is_valid(rows["max_count"])).sort_by(
        [("host", "ascending"), ("origin", "ascending")]
    )
    if rows.num_rows == 0:
        return None
    names = strings(rows["host"])
    numbers = np.array([number_of(name) for name in names], dtype=np.uint64)
    groups, first = np.unique(numbers, return_index=True)
    return OwnCaps(groups, rows["max_count"].to_numpy()[first])


def send_caps(caps: OwnCaps | None, shard: int, outbox: Outbox) -> None:
    """Sends the caps to the shard where their groups are counted."""
    if caps is not None:
        rows = pa.table([caps.groups, caps.most], schema=GROUP_CAPS.schema)
        outbox.send_all(GROUP_CAPS, rows, shard)


def received_caps(received: Received) -> OwnCaps | None:
    """What `send_caps` sent."""
    if not received.has(GROUP_CAPS):
        return None
    rows = received.rows(GROUP_CAPS)
    return OwnCaps(rows["group"].to_numpy(), rows["cap"].to_numpy())


def send_delays(received: Received, shard: int, outbox: Outbox) -> None:
    """Sends the hosts' pauses on towards where their records are collected."""
    rows = received.rows(HOST_BOUNDS)
    rows = rows.filter(pc.is_valid(rows["delay_ms"])).select(["host", "delay_ms"])
    outbox.send_all(DELAYS, rows, shard)


def forward_delays(received: Received, shard: int, outbox: Outbox) -> None:
    """Passes on what `send_delays` sent."""
    outbox.send_all(DELAYS, received.rows(DELAYS), shard)


def with_delays(
    metadata: pa.Array[Any], hosts: pa.ChunkedArray[Any], received: Received
) -> pa.Array[Any]:
    """The records' metadata with their hosts' pauses."""
    if not received.has(DELAYS):
        return metadata
    rows = received.rows(DELAYS)
    names = hosts.cast(pa.string()).combine_chunks()
    places: Any = pc.index_in(names, value_set=rows["host"].combine_chunks())
    delays: pa.Array[Any] = rows["delay_ms"].combine_chunks().cast(pa.string()).take(places)
    return with_entries(metadata, FETCH_DELAY_KEY, delays)
