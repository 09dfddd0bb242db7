"""New links merged into a slice of the LinkDb.

Of several links from one page to another one stays: that of the page's best score, of those
the one from the newest segment, of those the one with the longest text, of equal ones this
crawl's own rather than one that was merged from another crawl's LinkDb. Of the links to one
URL the best-scored stay. Both choices are the greatest by an order of the links themselves,
so the LinkDb is the same in whatever order, and however many at once, segments are inverted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_array, fill_null
from crawl.model.derived_tables import LINKDB
from crawl.phases.invertlinks.tasks.links import LINKS
from crawl.phases.invertlinks.tasks.origin import crawl_and_segment
from crawl.tables.bucket_files import BucketTarget, WrittenBucket, stored_groups, write_bucket
from crawl.tables.exchange import Received
from crawl.tables.merge import KeyGroups, merge_sorted, repeats_before, sort_by_key
from crawl.tables.ranges import NewRows, StoredGroups
from crawl.tables.slices import Slice
from crawl.urls.hosts import hosts_of

_URL = LINKDB.key[0]


@dataclass(frozen=True)
class MergeLinksJob:
    """A merge of new links into the LinkDb: where it is written, how many inlinks a page keeps, and
    which stored links are left out."""

    target: BucketTarget
    max_inlinks: int
    forgotten: frozenset[str] = frozenset()
    """Segments that are inverted again: what this crawl's inversion of them brought is left out,
    and no link of another crawl, whatever its segments are called (see origin.py)."""
    without_internal: bool = False
    """Stored links within a host are left out: they were kept while there was one."""


def merge_links(job: MergeLinksJob, base: Slice, received: Received) -> WrittenBucket:
    """Writes the slice anew: what is stored, and the new links."""
    counters = Counters()
    new = received.row_count(LINKS)
    rows = limited(_merged(job, base, received, counters), job.max_inlinks, counters)
    files = write_bucket(job.target, base.bucket, rows, base.rows + new)
    return WrittenBucket(files, counters)


def _merged(
    job: MergeLinksJob, base: Slice, received: Received, counters: Counters
) -> Iterator[pa.Table]:
    def combine(groups: KeyGroups) -> pa.Table:
        counters["links_repeated"] += groups.rows.num_rows - len(groups)
        return best_links(groups)

    thin = partial(thinned, job.max_inlinks)
    stored = StoredGroups(_stored(job, base, counters), _URL)
    for new in NewRows.received(received, LINKS, _URL, thin).ranges():
        rows = sort_by_key(new.rows, LINKDB.key)
        yield from merge_sorted(stored.below(new.end), rows, combine, LINKDB.key)


def _stored(job: MergeLinksJob, base: Slice, counters: Counters) -> Iterator[pa.Table]:
    for group in stored_groups(job.target.folder, base.files):
        rows = group.num_rows
        if job.forgotten:
            names = pa.array(sorted(job.forgotten))
            group = group.filter(pc.invert(pc.is_in(group["segment"], names)))
            counters["links_replaced"] += rows - group.num_rows
            rows = group.num_rows
        if job.without_internal:
            is_internal = pc.equal(as_array(group["host"]), hosts_of(as_array(group["from_url"])))
            group = group.filter(pc.invert(fill_null(is_internal, False)))
            counters["links_outgrown"] += rows - group.num_rows
        yield group


def best_links(groups: KeyGroups) -> pa.Table:
    """The Combine of links from one page to another: the best of each group."""
    rows = groups.rows
    crawls, segments = crawl_and_segment(rows["segment"])
    ranks = pa.table(
        {
            "group": groups.owners,
            "score": rows["score"],
            "segment": segments,
            "length": pc.utf8_length(rows["anchor"]),
            "anchor": rows["anchor"],
            "crawl": crawls,
        }
    )
    keys = ("score", "segment", "length", "anchor")
    order = pc.sort_indices(
        ranks,
        [("group", "ascending"), *((key, "descending") for key in keys), ("crawl", "ascending")],
    )
    return rows.take(order.take(groups.starts))


def thinned(most: int, rows: pa.Table) -> pa.Table:
    """Links to one URL, as far as they matter whatever else comes."""
    merged = merge_sorted((), sort_by_key(rows, LINKDB.key), best_links, LINKDB.key)
    return pa.concat_tables([rows.schema.empty_table(), *limited(merged, most, Counters())])


def limited(tables: Iterable[pa.Table], most: int, counters: Counters) -> Iterator[pa.Table]:
    """Of sorted links those that are among the best `most` to their URL."""
    waiting: pa.Table | None = None
    for table in tables:
        if not table.num_rows:
            continue
        # the last URL of a table may have further links in the next one
        rows = table if waiting is None else pa.concat_tables([waiting, table])
        rows, starts = _limited(rows, most, counters)
        last = int(starts[-1])
        if last:
            yield rows.slice(0, last)
        waiting = rows.slice(last)
    if waiting is not None:
        yield waiting


def _limited(
    rows: pa.Table, most: int, counters: Counters
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """The sorted rows that are among the best, and where each URL begins among these."""
    starts = np.flatnonzero(np.append(True, ~repeats_before(rows, [_URL])))
    sizes = np.diff(np.append(starts, rows.num_rows))
    if sizes.max() <= most:
        return rows, starts
    owners = np.repeat(np.arange(len(starts)), sizes)
    scores = rows["score"].to_numpy()
    # rows of a URL are in the order of the linking pages, which decides between equal scores
    order = np.lexsort((np.arange(rows.num_rows), -scores, owners))
    ranks = np.arange(rows.num_rows) - starts[owners]
    best = np.sort(order[ranks < most])
    counters["links_over_limit"] += rows.num_rows - len(best)
    return rows.take(best), np.append(0, np.cumsum(np.minimum(sizes, most))[:-1])
