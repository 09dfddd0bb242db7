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
from crawl.model.arrow import as_mask, first_chunk, required_schema, with_column
from crawl.model.metadata import has_any
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.storage.layout import sorted_distinct

Rows = npt.NDArray[np.int64]
"""Numbers of rows; -1 for none."""

_MORE = pa.list_(pa.float32())
DELTA = pa.schema([*CRAWLDB.schema, *required_schema({"origin": pa.int32(), "more": _MORE})])
"""A row of a segment; which table of which segment it is from; and of a link the scores of the
further ones that it stands for, none of them above its own."""

_WORTHWHILE = 0.1
"""The share of rows to be saved above which links are combined."""


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

    def __getitem__(self, places: npt.NDArray[Any]) -> SortedLinks:
        return SortedLinks(
            self.rows[places], self.scores[places], self.contents[places], self.owners[places]
        )

    def counts(self, urls: int) -> Rows:
        """How many lead to each URL."""
        return np.bincount(self.owners, minlength=urls)


def link_rows(rows: pa.Table) -> Rows:
    """Which rows, all in one chunk, are links."""
    return np.flatnonzero(rows["status"].chunk(0).to_numpy() == Status.LINKED)


def sorted_links(
    rows: pa.Table, linking: Rows, owners: Rows, most: int, counters: Counters
) -> SortedLinks:
    """The links of the rows `linking`, each of which leads to the URL `owners` says: the best
    `most` of each URL."""
    scores = rows["score"].chunk(0).to_numpy()[linking]
    # of equal scores by content: files come in another order if partitions are others
    contents = _contents(rows, linking)
    lists = cast("pa.ListArray[Any]", first_chunk(rows["more"]))
    more = lists.flatten().to_numpy()
    if len(more):
        lengths = lists.value_lengths().to_numpy()[linking]
        each = np.concatenate(
            [np.arange(len(linking)), np.repeat(np.arange(len(linking)), lengths)]
        )
        linking, owners, contents = linking[each], owners[each], contents[each]
        scores = np.concatenate([scores, more])
    # -0.0 as 0.0: the two are equal, so that which of them is kept would hang on the files' order
    scores = scores + np.float32(0)
    links = SortedLinks(linking, scores, contents, owners)
    links = links[np.lexsort((contents, -scores, owners))]
    counts = links.counts(0)
    if len(linking) and counts.max() > most:
        place = np.arange(len(linking)) - np.repeat(np.cumsum(counts) - counts, counts)
        counters["inlinks_over_limit"] += int(np.count_nonzero(place >= most))
        links = links[place < most]
    return links


def combined_links(rows: pa.Table, counters: Counters) -> pa.Table:
    """The rows with one for all neighbours that are links to one URL with the same metadata: where
    the best of them was. In the files of a parse the links to a URL are neighbours, so that
    nothing has to be sorted; those of other files meet where all go."""
    count = rows.num_rows
    if count < 2:
        return rows
    rows = rows.combine_chunks()
    urls = first_chunk(rows["url"])
    is_link = rows["status"].chunk(0).to_numpy() == Status.LINKED
    is_alike = as_mask(pc.equal(urls.slice(1), urls.slice(0, count - 1)))
    is_alike &= is_link[1:] & is_link[:-1]
    if np.count_nonzero(is_alike) > _WORTHWHILE * count:
        links = np.flatnonzero(is_link)
        contents = np.zeros(count, dtype=np.int64)
        contents[links] = _contents(rows, links)
        is_alike &= contents[1:] == contents[:-1]
    saved = int(np.count_nonzero(is_alike))
    if saved <= _WORTHWHILE * count:
        return rows
    counters["links_combined"] += saved
    starts = np.flatnonzero(np.append(True, ~is_alike))
    lengths = np.diff(np.append(starts, count))
    scores = rows["score"].chunk(0).to_numpy()
    groups = np.repeat(np.arange(len(starts)), lengths)
    best = np.flatnonzero(scores == np.fmax.reduceat(scores, starts)[groups])[::-1]
    heads = starts.copy()  # where all scores are NaN
    heads[groups[best]] = best  # of equal ones the first, which is written last
    is_other = np.ones(count, dtype=np.bool_)
    is_other[heads] = False
    return _with_more(rows.take(heads), lengths - 1, scores[is_other])


def without_weak_links(rows: pa.Table, most: int, counters: Counters) -> pa.Table:
    """Rows of one URL, in their order, without the links that are not among the best."""
    rows = rows.combine_chunks()
    linking = link_rows(rows)
    links = sorted_links(rows, linking, np.zeros(len(linking), dtype=np.int64), most, counters)
    links = links[np.argsort(links.rows, kind="stable")]
    starts = np.flatnonzero(np.diff(links.rows, prepend=-1))
    heads = links.rows[starts]
    lengths = np.zeros(rows.num_rows, dtype=np.int64)
    lengths[heads] = np.diff(np.append(starts, len(links.rows))) - 1
    is_kept = np.ones(rows.num_rows, dtype=np.bool_)
    is_kept[linking] = False
    is_kept[heads] = True
    survivors = np.flatnonzero(is_kept)
    return _with_more(rows.take(survivors), lengths[survivors], np.delete(links.scores, starts))


def _with_more(rows: pa.Table, lengths: Rows, scores: npt.NDArray[np.float32]) -> pa.Table:
    """The rows, each of which stands for so many further links, with these scores."""
    return with_column(rows, "more", _lists(lengths, scores))


def _lists(lengths: Rows, values: npt.NDArray[np.float32]) -> pa.Array[Any]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    made: Any = pa.ListArray
    lists: pa.Array[Any] = made.from_arrays(offsets, pa.array(values), type=_MORE)
    return lists


def _contents(rows: pa.Table, linking: Rows) -> Rows:
    """Numbers that order the rows `linking` by their metadata, whatever that order may mean."""
    metadata = cast("pa.MapArray[Any, Any]", first_chunk(rows["metadata"]).take(linking))
    if not has_any(metadata):
        return np.zeros(len(metadata), dtype=np.int64)
    # other entries have another text, whatever is in them
    parts: Sequence[Any] = [
        pc.replace_substring(part, "\0", "\0\1") for part in (metadata.keys, metadata.items)
    ]
    entries: Any = pc.binary_join_element_wise(*parts, "\0\0")
    texts: Any = pc.binary_join(pa.ListArray.from_arrays(metadata.offsets, entries), "\0\0")
    return sorted_distinct(texts)[1]


def ranges(starts: Rows, counts: Rows) -> Rows:
    """starts[0], starts[0]+1 … counts[0] of them, then starts[1] …"""
    before = np.cumsum(counts) - counts
    rows: Rows = np.arange(int(counts.sum())) + np.repeat(starts - before, counts)
    return rows
