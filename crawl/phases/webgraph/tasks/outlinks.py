"""The outlinks of the pages of segments that count; the newest fetch of a page wins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_array, as_mask, fill_null
from crawl.model.derived_tables import WEBGRAPH_OUTLINKS
from crawl.model.status import Status
from crawl.parsing.anchors import UNFOLLOWABLE, are_followable
from crawl.phases.webgraph.rules import LinkRules
from crawl.phases.webgraph.tasks.link_rules import Links, Numbers, counted_links
from crawl.storage.folder import Folder
from crawl.storage.layout import distinct
from crawl.storage.parquet import each_group, open_table
from crawl.tables.exchange import Outbox
from crawl.tables.merge import KeyGroups
from crawl.tables.renormalize import Renormalization
from crawl.tables.slices import Router
from crawl.tables.table_merge import send_delta
from crawl.urls.hosts import hosts_of

_PAGE_COLUMNS = [
    *("url", "status", "fetch_time"),
    *("outlinks.list.element.url", "outlinks.list.element.tag"),
]
_FETCH_COLUMNS = ["url", "host", "status", "fetch_time"]
_GATHERED_BYTES = 64 << 20
"""Of pages whose links are looked at together."""
_GONE = (Status.FETCH_GONE, Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)


class OutlinksSource(Enum):
    """The kind of rows in a file."""

    PAGES = "parsed pages"
    FETCHES = "what became of fetched URLs"
    STORED = "outlinks that the graph has already"


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file that links are taken from."""

    folder: Folder
    path: str
    rows: int
    source: OutlinksSource = OutlinksSource.PAGES


@dataclass(frozen=True)
class SendOutlinksJob:
    """The sending of outlinks to the slices of their pages: which links count, and whether old ones
    are normalized again."""

    rules: LinkRules
    router: Router
    renormalization: Renormalization | None = None


def send_outlinks(job: SendOutlinksJob, file: SegmentFile, outbox: Outbox) -> Counters:
    """Sends what the pages of a file link to to the slices of the pages."""
    counters = Counters()
    with open_table(file.folder, file.path) as source:
        if file.source is OutlinksSource.FETCHES:
            groups, outlinks_of = each_group(source, _FETCH_COLUMNS), _gone_pages
        elif file.source is OutlinksSource.STORED:
            groups, outlinks_of = _gathered(each_group(source)), _counted_again
        else:
            groups, outlinks_of = _gathered(each_group(source, _PAGE_COLUMNS)), _outlinks_of
        for group in groups:
            rows = outlinks_of(job, group, counters)
            send_delta(WEBGRAPH_OUTLINKS, rows, job.router, outbox)
    return counters


def _gathered(groups: Iterator[pa.Table]) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    size = 0
    for group in groups:
        waiting.append(group)
        size += group.nbytes
        if size > _GATHERED_BYTES:
            yield pa.concat_tables(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _gone_pages(job: SendOutlinksJob, group: pa.Table, counters: Counters) -> pa.Table:
    is_gone = pc.is_in(group["status"], pa.array([int(each) for each in _GONE], pa.int8()))
    rows = group.filter(is_gone)
    counters["pages_gone"] += rows.num_rows
    none = pa.array([[]] * rows.num_rows, WEBGRAPH_OUTLINKS.schema.field("outlinks").type)
    return rows.select(["url", "host", "fetch_time"]).append_column("outlinks", none)


def _outlinks_of(job: SendOutlinksJob, group: pa.Table, counters: Counters) -> pa.Table:
    counters["pages"] += group.num_rows
    parsed = group.filter(pc.starts_with(group["status"], "success"))
    counters["pages_not_parsed"] += group.num_rows - parsed.num_rows
    urls = as_array(parsed["url"])
    hosts = hosts_of(urls)
    has_host = pc.is_valid(hosts)
    parsed, urls, hosts = parsed.filter(has_host), urls.filter(has_host), hosts.filter(has_host)
    lists: Any = as_array(parsed["outlinks"])
    flat: Any = pc.list_flatten(lists)
    pages = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    followable = are_followable(pc.struct_field(flat, "tag"))
    unfollowable = len(followable) - int(np.count_nonzero(followable))
    counters["links"] += unfollowable
    counters[f"dropped.{UNFOLLOWABLE}"] += unfollowable
    pages = pages[followable]
    targets, places = distinct(pc.struct_field(flat.filter(pa.array(followable)), "url"))
    if job.renormalization is not None:
        targets, is_accepted = job.renormalization.of(targets, counters)
        targets = pc.if_else(is_accepted, targets, None)
        # those that have become the same
        targets, merged = distinct(targets.dictionary_encode("encode"))
        places = merged[places]
    links = Links(pages, places, hosts, targets, hosts_of(targets))
    outlinks = _lists(links, counted_links(job.rules, links, counters))
    columns = [urls, fill_null(hosts, ""), parsed["fetch_time"], outlinks]
    return pa.table(columns, schema=WEBGRAPH_OUTLINKS.schema)


def _lists(links: Links, counted: Numbers) -> pa.ListArray[Any]:
    """The targets of each page, of the links that count."""
    ends = np.searchsorted(links.pages[counted], np.arange(len(links.page_hosts)), side="right")
    targets = links.urls.take(links.targets[counted])
    return pa.ListArray.from_arrays(pa.array(np.append(0, ends), pa.int32()), targets)


def _counted_again(job: SendOutlinksJob, group: pa.Table, counters: Counters) -> pa.Table:
    """Stored outlinks by the rules of today, which may leave out more of them."""
    lists: Any = as_array(group["outlinks"])
    pages = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    targets, places = distinct(pc.list_flatten(lists))
    links = Links(pages, places, hosts_of(as_array(group["url"])), targets, hosts_of(targets))
    counted = counted_links(job.rules, links, Counters())
    counters["links_outgrown"] += len(pages) - len(counted)
    place = WEBGRAPH_OUTLINKS.names.index("outlinks")
    field = WEBGRAPH_OUTLINKS.schema.field(place)
    return group.set_column(place, field, _lists(links, counted))


def newest_outlinks(groups: KeyGroups) -> pa.Table:
    """The Combine by which the newest fetch wins; of two at one moment that of the segment that
    was taken in last."""
    rows, owners = groups.rows, groups.owners
    times = rows["fetch_time"].cast(pa.int64()).to_numpy()
    order = np.lexsort((np.arange(len(owners)), times, owners))
    ends = np.append(groups.starts, len(owners))[1:] - 1
    return rows.take(order[ends])


def linking_pages(rows: pa.Table) -> pa.Table:
    """The pages that link to any."""
    return rows.filter(
        pa.array(as_mask(pc.greater(pc.list_value_length(rows["outlinks"]), pa.scalar(0))))
    )
