"""What a file of the CrawlDb says of its hosts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array, as_mask, places_in
from crawl.model.status import Status
from crawl.phases.updatehostdb.tasks import sums
from crawl.phases.updatehostdb.tasks.signatures import distinct, numbers_of, smallest
from crawl.storage.folder import Folder
from crawl.tables.bucket_files import stored_groups
from crawl.tables.exchange import Outbox
from crawl.tables.slices import Slice

_COLUMNS = ["url", "host", "status", "retries", "signature"]
_ROOT = r"^https?://[^/?#]+/$"
_KINDS = len(sums.STATUS_COLUMNS) + 1
NO_HOMEPAGE = 127

_RANKS = np.full(256, 2, dtype=np.int8)
"""Which root URL is the homepage: one that was fetched, else one that redirects, else any that
was asked for."""
_RANKS[[Status.DB_FETCHED, Status.DB_NOTMODIFIED, Status.DB_DUPLICATE]] = 0
_RANKS[[Status.DB_REDIR_TEMP, Status.DB_REDIR_PERM]] = 1
_RANKS[[Status.DB_UNFETCHED, Status.DB_ORPHAN]] = NO_HOMEPAGE

_Signed = tuple[sums.ByHost, npt.NDArray[np.uint64]]
"""The pages of a row group: their hosts, and their signatures as numbers."""


def send_records(crawldb: Folder, buckets: int, base: Slice, outbox: Outbox) -> int:
    """Sends the sums of a slice's hosts to their bucket; returns how many URLs it has."""
    groups = stored_groups(crawldb, base.files, _COLUMNS)
    pairs = [(_counted(rows), _signed(rows)) for rows in groups]
    if not pairs:
        return 0
    parts, signed = zip(*pairs, strict=True)
    every = pa.concat_tables(parts)
    hosts = sums.ByHost(every["host"])
    owners, signatures = _owned(signed, hosts.names)
    columns: dict[str, Any] = {"host": hosts.names}
    for name in ("urls", *sums.STATUS_COLUMNS, "connection_failures", "pages"):
        columns[name] = hosts.sum(every[name].to_numpy())
    columns["distinct_pages"] = np.bincount(owners, minlength=len(hosts.names))
    columns["homepage_rank"], columns["homepage"] = best_homepages(
        hosts.codes,
        every["homepage_rank"].to_numpy(),
        every["homepage"].combine_chunks(),
        len(hosts.names),
    )
    sums.send_by_host(sums.RECORDS, columns, buckets, outbox)
    if not base.is_whole:
        owners, signatures = smallest(owners, signatures)
        signed_by = {"host": hosts.names.take(owners), "signature": signatures}
        sums.send_by_host(sums.SIGNATURES, signed_by, buckets, outbox)
    return int(sum(columns["urls"]))


def _counted(rows: pa.Table) -> pa.Table:
    """The sums of the hosts of a row group, but for different signatures."""
    hosts = sums.ByHost(rows["host"])
    count = len(hosts.names)
    status = rows["status"].to_numpy().astype(np.int64)
    kinds = np.where((status > 0) & (status < _KINDS), status, 0)
    table = np.bincount(hosts.codes * _KINDS + kinds, minlength=count * _KINDS)
    by_status = table.reshape(count, _KINDS)
    columns: dict[str, Any] = {"host": hosts.names, "urls": by_status.sum(axis=1)}
    for place, name in enumerate(sums.STATUS_COLUMNS, start=1):
        columns[name] = by_status[:, place]
    columns["connection_failures"] = hosts.count(rows["retries"].to_numpy() > 0)
    columns["pages"] = hosts.count(as_mask(pc.is_valid(rows["signature"])))
    columns["distinct_pages"] = np.zeros(count, dtype=np.int64)
    is_root = as_mask(pc.match_substring_regex(rows["url"], _ROOT))
    ranks = np.where(is_root, _RANKS[status & 255], NO_HOMEPAGE).astype(np.int8)
    columns["homepage_rank"], columns["homepage"] = best_homepages(
        hosts.codes, ranks, rows["url"].combine_chunks(), count
    )
    return sums.table_of(sums.RECORDS, columns)


def best_homepages(
    owners: sums.Integers, ranks: npt.NDArray[np.int8], urls: pa.Array[Any], count: int
) -> tuple[npt.NDArray[np.int8], pa.Array[Any]]:
    """The homepage of each of `count` hosts, and its rank: of the best rank, https before http,
    then the shortest."""
    best = np.full(count, NO_HOMEPAGE, dtype=np.int8)
    rows = np.flatnonzero(ranks < NO_HOMEPAGE)
    if len(rows) == 0:
        return best, pa.nulls(count, pa.string())
    owners, ranks, urls = owners[rows], ranks[rows], urls.take(rows)
    plain = ~as_mask(pc.starts_with(urls, pattern="https:"))
    by_text: Any = pc.rank(urls, tiebreaker="dense")
    sizes: Any = pc.binary_length(cast("Any", urls))
    lengths = sizes.to_numpy()
    order = np.lexsort((by_text.to_numpy(), lengths, plain, ranks, owners))
    is_first = np.append(True, owners[order][1:] != owners[order][:-1])
    firsts = order[is_first]
    best[owners[firsts]] = ranks[firsts]
    place = np.full(count, -1, dtype=np.int64)
    place[owners[firsts]] = firsts
    indices: Any = pa.array(place, mask=place < 0)
    return best, urls.take(indices)


def _signed(rows: pa.Table) -> _Signed:
    rows = rows.filter(pc.is_valid(rows["signature"]))
    return sums.ByHost(rows["host"]), numbers_of(as_array(rows["signature"]))


def _owned(
    signed: Iterable[_Signed], names: pa.Array[Any]
) -> tuple[sums.Integers, npt.NDArray[np.uint64]]:
    """The different signatures of all pages, and the place of the host of each among `names`."""
    owners = [places_in(hosts.names, names)[hosts.codes] for hosts, _ in signed]
    return distinct(np.concatenate(owners), np.concatenate([numbers for _, numbers in signed]))
