"""The requested rows of a part of a segment's parse with their texts, in rising order.

parse_text has a row for each row of parse_data whose parse succeeded, in the same order: so the
text of a page is found by counting, and only the row groups of wanted pages are read. Where a
count leads to another page, its part is looked through by URL instead.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import strings
from crawl.phases.index.tasks.keys import SegmentPart
from crawl.phases.index.tasks.matching import matching_rows
from crawl.storage.parquet import StoredTable, open_table, read_groups
from crawl.storage.segments import PARSE_DATA, PARSE_TEXT

Text = tuple[str, str | None]
"""All text, and the main text where there is one."""

_COLUMNS = ["url", "text", "main_text"]


def requested_rows(
    part: SegmentPart, requests: pa.Table, columns: list[str]
) -> Iterator[tuple[pa.Table, pa.Table, list[Text]]]:
    """The rows of a part's parse_data whose numbers are in the column `row` of `requests`, group by
    group: these columns of them, what `requests` has of them, and their texts."""
    requests = requests.sort_by("row").combine_chunks()
    numbers = requests["row"].to_numpy()
    texts = _PartTexts(part)
    first = begin = 0
    with closing(texts.groups):
        for path in part.data:
            with open_table(part.folder.child(PARSE_DATA), path) as source:
                for group in range(source.num_row_groups):
                    count = source.metadata.row_group(group).num_rows
                    end = int(np.searchsorted(numbers, first + count))
                    names = columns if end > begin else ["status"]
                    rows = read_groups(source, [group], names)
                    good = pc.starts_with(rows["status"], "success").to_numpy().astype(np.int64)
                    if end > begin:
                        places = numbers[begin:end] - first
                        data = rows.take(pa.array(places))
                        before = np.cumsum(good) - good
                        group_texts = texts.of(before[places] + texts.passed, strings(data["url"]))
                        yield data, requests.slice(begin, end - begin), group_texts
                    texts.passed += int(good.sum())
                    first, begin = first + count, end


class _PartTexts:
    """The texts of one part."""

    def __init__(self, part: SegmentPart) -> None:
        self._part = part
        self.groups = self._each_group()
        """The row groups that were not reached yet."""
        self._rows: pa.Table | None = None
        self._first = self._end = 0
        self.passed = 0
        """The rows of parse_text that belong to rows of parse_data before the present ones."""

    def of(self, numbers: Any, urls: Sequence[str]) -> list[Text]:
        """The texts of these rows, which rise; each is that of its URL."""
        texts: list[Text] = []
        begin = 0
        while begin < len(numbers):
            if not self._reach(int(numbers[begin])):
                return self._by_url(urls)
            end = int(np.searchsorted(numbers, self._end))
            assert self._rows is not None
            rows = self._rows.take(pa.array(numbers[begin:end] - self._first))
            if strings(rows["url"]) != list(urls[begin:end]):
                return self._by_url(urls)
            texts += zip(strings(rows["text"]), rows["main_text"].to_pylist(), strict=True)
            begin = end
        return texts

    def _reach(self, number: int) -> bool:
        """Reads the row group with this row; whether there is one."""
        while self._rows is None or number >= self._end:
            following = next(self.groups, None)
            if following is None:
                return False
            self._first, source, group = following
            self._end = self._first + source.metadata.row_group(group).num_rows
            self._rows = None
            if number < self._end:
                self._rows = read_groups(source, [group], _COLUMNS)
        return number >= self._first

    def _each_group(self) -> Generator[tuple[int, StoredTable, int]]:
        first = 0
        for path in self._part.text:
            with open_table(self._part.folder.child(PARSE_TEXT), path) as source:
                for group in range(source.num_row_groups):
                    yield first, source, group
                    first += source.metadata.row_group(group).num_rows

    def _by_url(self, urls: Sequence[str]) -> list[Text]:
        texts: list[Text] = [("", None)] * len(urls)
        folder, pages = self._part.folder.child(PARSE_TEXT), pa.array(urls, pa.string())
        for rows, places in matching_rows(folder, self._part.text, pages, ["text", "main_text"]):
            pairs = zip(strings(rows["text"]), rows["main_text"].to_pylist(), strict=True)
            for place, text in zip(places.tolist(), pairs, strict=True):
                texts[place] = text
        return texts
