"""Links among the rows of a delta. A row may stand for several links to one URL: for those that are
alike but for their score, and for what no scoring filter in use looks at.

All scores travel, and not their sum: the last bit of a sum of floats depends on the order in
which they are added, and of very many links only the best count. Four bytes a link are little
beside a URL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_mask, first_chunk
from crawl.model.metadata import has_any
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.storage.layout import encoded

Rows = npt.NDArray[np.int64]
"""Numbers of rows; -1 for none."""

_MORE = pa.list_(pa.float32())
DELTA = CRAWLDB.schema.append(pa.field("origin", pa.int32(), False)).append(
    pa.field("more", _MORE, False)
)
"""A row of a segment; which table of which segment it is from; and of a link the scores of the
further ones that it stands for, none of them above its own."""

_WORTHWHILE = 0.1
"""The share of rows to be saved above which links are combined: to see how often URLs come takes
less than a third of the time."""


def single_rows(rows: pa.Table, origin: int) -> pa.Table:
    """Rows of a segment as those of a delta, none of which stands for more than itself."""
    count = rows.num_rows
    origins = pa.array(np.full(count, origin, dtype=np.int32))
    none = _lists(np.zeros(count, dtype=np.int64), np.empty(0, dtype=np.float32))
    columns = [*rows.select(CRAWLDB.names).columns, origins, none]
    return pa.Table.from_arrays(cast("list[pa.Array[Any]]", columns), schema=DELTA)


@dataclass(frozen=True, slots=True)
class SortedLinks:
    """Links, those to one URL together, best score first."""

    rows: Rows
    """The row in which each is."""
    scores: npt.NDArray[np.float32]
    contents: Rows
    """Equal numbers for equal metadata."""
    owners: Rows
    """Which URL each leads to."""

    def __getitem__(self, chosen: npt.NDArray[Any]) -> SortedLinks:
        return SortedLinks(
            self.rows[chosen], self.scores[chosen], self.contents[chosen], self.owners[chosen]
        )

    def counts(self, urls: int) -> Rows:
        """How many lead to each URL."""
        return np.bincount(self.owners, minlength=urls)


def link_rows(rows: pa.Table) -> Rows:
    """Which rows, all in one chunk, are links."""
    return np.flatnonzero(rows["status"].chunk(0).to_numpy() == Status.LINKED)


def sorted_links(
    rows: pa.Table, found: Rows, owners: Rows, most: int, counters: Counters
) -> SortedLinks:
    """The links of the rows `found`, each of which leads to the URL `owners` says: the best
    `most` of each URL."""
    scores = rows["score"].chunk(0).to_numpy()[found]
    # of equal scores by content: files come in another order if partitions are others
    contents = _ranks_of(cast("pa.MapArray[Any, Any]", first_chunk(rows["metadata"]).take(found)))
    lists = cast("pa.ListArray[Any]", first_chunk(rows["more"]))
    more = lists.flatten().to_numpy()
    if len(more):
        lengths = lists.value_lengths().to_numpy()[found]
        each = np.concatenate([np.arange(len(found)), np.repeat(np.arange(len(found)), lengths)])
        found, owners, contents = found[each], owners[each], contents[each]
        scores = np.concatenate([scores, more])
    links = SortedLinks(found, scores, contents, owners)
    links = links[np.lexsort((contents, -scores, owners))]
    counts = links.counts(0)
    if len(found) and counts.max() > most:
        place = np.arange(len(found)) - np.repeat(np.cumsum(counts) - counts, counts)
        counters["inlinks_over_limit"] += int(np.count_nonzero(place >= most))
        links = links[place < most]
    return links


def combined_links(rows: pa.Table, most: int, counters: Counters) -> pa.Table:
    """The rows with one for all links to a URL that have the same metadata: where the best of
    them was. And with no more than the best `most` to each URL."""
    if rows.num_rows == 0:
        return rows
    rows = rows.combine_chunks()
    found = link_rows(rows)
    owners = _numbers_of(first_chunk(rows["url"]).take(found))
    counts = np.bincount(owners)
    if len(found) - len(counts) <= _WORTHWHILE * rows.num_rows:
        return rows
    is_repeated = counts[owners] > 1
    found, owners = found[is_repeated], owners[is_repeated]
    links = sorted_links(rows, found, owners, most, counters)
    if links.contents.any():
        links = links[np.lexsort((links.contents, links.owners))]
    is_next = (np.diff(links.owners) != 0) | (np.diff(links.contents) != 0)
    starts = np.flatnonzero(np.append(True, is_next))
    counters["links_combined"] += len(links.rows) - len(starts)
    others = np.ones(rows.num_rows, dtype=np.bool_)
    others[found] = False
    return _regrouped(rows, np.flatnonzero(others), links, starts)


def _numbers_of(urls: pa.Array[Any]) -> Rows:
    """Equal numbers for equal URLs, from 0 on. In a file they stand together: of neighbours that
    are equal only the first need be looked up."""
    is_other = pc.not_equal(urls.slice(1), urls.slice(0, max(0, len(urls) - 1)))
    is_first = np.append(True, as_mask(is_other))[: len(urls)]
    codes = encoded(urls.filter(pa.array(is_first))).indices.to_numpy().astype(np.int64)
    numbers: Rows = codes[np.cumsum(is_first) - 1]
    return numbers


def without_weak_links(rows: pa.Table, most: int, counters: Counters) -> pa.Table:
    """Rows of one URL, in their order, without the links that are not among the best."""
    rows = rows.combine_chunks()
    found = link_rows(rows)
    links = sorted_links(rows, found, np.zeros(len(found), dtype=np.int64), most, counters)
    links = links[np.argsort(links.rows, kind="stable")]
    starts = np.flatnonzero(np.diff(links.rows, prepend=-1))
    others = np.ones(rows.num_rows, dtype=np.bool_)
    others[found] = False
    return _regrouped(rows, np.flatnonzero(others), links, starts)


def _regrouped(rows: pa.Table, others: Rows, links: SortedLinks, starts: Rows) -> pa.Table:
    """The other rows, and one for each group of links, all in the order in which they were. A
    group, the best link first, begins at each of `starts`."""
    heads = links.rows[starts]
    more = np.diff(np.append(starts, len(links.rows))) - 1
    order = np.argsort(heads)
    lengths = np.zeros(rows.num_rows, dtype=np.int64)
    lengths[heads] = more
    kept = np.sort(np.concatenate([others, heads]))
    lists = _lists(lengths[kept], links.scores[ranges(starts[order] + 1, more[order])])
    place = DELTA.get_field_index("more")
    return rows.drop_columns(["more"]).take(kept).add_column(place, DELTA.field("more"), lists)


def _lists(lengths: Rows, values: npt.NDArray[np.float32]) -> pa.Array[Any]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    made: Any = pa.ListArray
    lists: pa.Array[Any] = made.from_arrays(offsets, pa.array(values), type=_MORE)
    return lists


def _ranks_of(metadata: pa.MapArray[Any, Any]) -> Rows:
    """Numbers that order rows by their metadata, whatever that order may mean."""
    if not has_any(metadata):
        return np.zeros(len(metadata), dtype=np.int64)
    # other entries have another text, whatever is in them
    parts: Sequence[Any] = [
        pc.replace_substring(part, "\0", "\0\1") for part in (metadata.keys, metadata.items)
    ]
    entries: Any = pc.binary_join_element_wise(*parts, "\0\0")
    texts: Any = pc.binary_join(pa.ListArray.from_arrays(metadata.offsets, entries), "\0\0")
    codes = encoded(texts)
    ranks = np.empty(len(codes.dictionary), dtype=np.int64)
    ranks[pc.sort_indices(codes.dictionary).to_numpy()] = np.arange(len(ranks))
    found: Rows = ranks[codes.indices.to_numpy()]
    return found


def ranges(starts: Rows, counts: Rows) -> Rows:
    """starts[0], starts[0]+1 … counts[0] of them, then starts[1] …"""
    before = np.cumsum(counts) - counts
    found: Rows = np.arange(int(counts.sum())) + np.repeat(starts - before, counts)
    return found
