"""What the files of a fetch say of hosts: what was asked for, what came, how long it took."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.answer_keys import CODE_KEY, PROTOCOL_STATUS_KEY, RESPONSE_TIME_KEY
from crawl.model.arrow import as_mask, fill_null
from crawl.model.metadata import lookup
from crawl.model.sketches import Sketches, bins_of
from crawl.model.status import Status
from crawl.phases.updatehostdb.tasks import sums
from crawl.storage.parquet import each_group, open_whole_table
from crawl.tables.exchange import Outbox
from crawl.urls.hosts import hosts_of

_DENIED = "robots_denied("
_UNRESOLVED = "exception(unknown_host"
_GROUPS_AT_ONCE = 64
"""Row groups whose sums are added up before they are sent: a host is in many of a file's."""


def send_requests(file: sums.HostsFile, buckets: int, outbox: Outbox) -> int:
    """Sends what a file of crawl_fetch says of its hosts to their buckets; returns the requests."""
    total = 0
    with open_whole_table(file.folder, file.path) as source:
        groups = each_group(source, ["host", "status", "fetch_time", "metadata"])
        for rows in _bundled(groups):
            rows = rows.filter(pa.array(_is_fetch(rows["status"].to_numpy())))
            if rows.num_rows:
                total += _send_requests(rows, buckets, outbox)
    return total


def _is_fetch(status: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Targets of redirects that are left for later were not asked for."""
    return np.isin(status, [int(each) for each in Status if each.is_fetch])


def _send_requests(rows: pa.Table, buckets: int, outbox: Outbox) -> int:
    hosts = sums.ByHost(rows["host"])
    status = rows["status"].to_numpy()
    metadata = rows["metadata"].combine_chunks()
    outcomes = lookup(metadata, PROTOCOL_STATUS_KEY)
    is_denied = as_mask(pc.starts_with(outcomes, pattern=_DENIED))
    is_asked = ~is_denied
    is_unresolved = as_mask(pc.starts_with(outcomes, pattern=_UNRESOLVED))
    is_answered = is_asked & as_mask(pc.is_valid(lookup(metadata, CODE_KEY)))
    times = _whole_numbers(lookup(metadata, RESPONSE_TIME_KEY))
    is_timed = is_answered & (times >= 0)
    moments = rows["fetch_time"].cast(pa.int64()).to_numpy()
    masks = {
        "requests": is_asked,
        "answered": is_answered,
        "succeeded": is_asked & np.isin(status, [Status.FETCH_SUCCESS, Status.PARSE_FAILED]),
        "unchanged": is_asked & (status == Status.FETCH_NOTMODIFIED),
        "redirected": is_asked
        & np.isin(status, [Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM]),
        "refused": is_asked & (status == Status.FETCH_GONE),
        "failed": is_asked & (status == Status.FETCH_RETRY),
        "dns_failures": is_unresolved,
        "robots_denied": is_denied,
    }
    columns: dict[str, Any] = {name: hosts.count(mask) for name, mask in masks.items()}
    columns["host"] = hosts.names
    columns["response_ms_total"] = hosts.sum(np.where(is_timed, times, 0))
    columns["response_ms_max"] = hosts.greatest(times, is_timed)
    columns["first"] = -hosts.greatest(_LATEST - moments) + _LATEST
    columns["last_fetched"] = hosts.greatest(moments, is_asked)
    columns["last_seen"] = hosts.greatest(moments, is_answered)
    columns["unresolved_at"] = hosts.greatest(moments, is_unresolved)
    sums.send_by_host(sums.REQUESTS, columns, buckets, outbox)
    _send_bins(sums.RESPONSE_MS, hosts, hosts.codes[is_timed], times[is_timed], buckets, outbox)
    return int(columns["requests"].sum())


_LATEST = 1 << 50
"""A moment, in milliseconds, after all others."""


def send_contents(file: sums.HostsFile, buckets: int, outbox: Outbox) -> int:
    """Sends the sizes of a segment's pages to the buckets of their hosts; returns the bytes."""
    total = 0
    with open_whole_table(file.folder, file.path) as source:
        sizes = (_sizes(rows) for rows in each_group(source, ["url", "content", "status"]))
        for rows in _bundled(sizes):
            hosts = sums.ByHost(rows["host"])
            if len(hosts.names) == 0:
                continue
            size = rows["size"].to_numpy().astype(np.int64)
            columns = {
                "host": hosts.names,
                "contents": hosts.count(),
                "bytes": hosts.sum(size),
                "size_max": hosts.greatest(size),
            }
            sums.send_by_host(sums.CONTENTS, columns, buckets, outbox)
            _send_bins(sums.SIZE, hosts, hosts.codes, size, buckets, outbox)
            total += int(size.sum())
    return total


def _sizes(rows: pa.Table) -> pa.Table:
    """The hosts and sizes of the pages of a row group, whose bytes are forgotten at once."""
    rows = rows.filter(pa.array(rows["status"].to_numpy() == Status.FETCH_SUCCESS))
    hosts = hosts_of(rows["url"].combine_chunks())
    size = pc.binary_length(rows["content"]).cast(pa.int64())
    return pa.table({"host": hosts, "size": size}).drop_null()


def _send_bins(
    what: int,
    hosts: sums.ByHost,
    owners: sums.Integers,
    values: sums.Integers,
    buckets: int,
    outbox: Outbox,
) -> None:
    ones = np.ones(len(values), dtype=np.int64)
    bins = bins_of(values).astype(np.int64)
    sketches = Sketches.of(len(hosts.names), owners, bins, ones)
    columns = {
        "host": hosts.names.take(sketches.owner),
        "of": np.full(len(sketches.owner), what, dtype=np.int8),
        "bin": sketches.bins.astype(np.int16),
        "count": sketches.counts,
    }
    sums.send_by_host(sums.BINS, columns, buckets, outbox)


def _whole_numbers(texts: pa.Array[Any]) -> sums.Integers:
    """The numbers that texts are; -1 for others."""
    is_number = pc.match_substring_regex(texts, r"^[0-9]{1,15}$")
    numbers = pc.if_else(is_number, texts, None).cast(pa.int64())
    return fill_null(numbers, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _bundled(groups: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The tables, several at once."""
    plain = (group.replace_schema_metadata(None) for group in groups)
    while bundle := list(islice(plain, _GROUPS_AT_ONCE)):
        yield pa.concat_tables(bundle)
