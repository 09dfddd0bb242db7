"""The texts of a part of a segment's parse, taken row by row in rising order.

parse_text has a row for each row of parse_data whose parse succeeded, in the same order: so the
text of a page is found by counting, and only the row groups of wanted pages are read. Where a
count leads to another page, its part is looked through by URL instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import strings
from crawl.phases.index.tasks.keys import SegmentPart
from crawl.storage.parquet import StoredTable, each_group, open_table, read_groups
from crawl.storage.segments import PARSE_TEXT

Text = tuple[str, str | None]
"""All text, and the main text where there is one."""

_COLUMNS = ["url", "text", "main_text"]


class PartTexts:
    """The texts of one part; a context manager."""

    def __init__(self, part: SegmentPart) -> None:
        self._part = part
        self._groups: Iterator[tuple[int, StoredTable, int]] = self._each_group()
        self._rows: pa.Table | None = None
        self._first = self._end = 0
        self.passed = 0
        """The rows of parse_text that belong to rows of parse_data before the present ones."""

    def of(self, numbers: Any, urls: Sequence[str]) -> list[Text]:
        """The texts of these rows, which rise; each is that of its URL."""
        found: list[Text] = []
        done = 0
        while done < len(numbers):
            if not self._reach(int(numbers[done])):
                return self._by_url(urls)
            end = int(np.searchsorted(numbers, self._end))
            assert self._rows is not None
            rows = self._rows.take(pa.array(numbers[done:end] - self._first))
            if strings(rows["url"]) != list(urls[done:end]):
                return self._by_url(urls)
            found += zip(strings(rows["text"]), rows["main_text"].to_pylist(), strict=True)
            done = end
        return found

    def _reach(self, number: int) -> bool:
        """Reads the row group with this row; whether there is one."""
        while self._rows is None or number >= self._end:
            following = next(self._groups, None)
            if following is None:
                return False
            self._first, source, group = following
            self._end = self._first + source.metadata.row_group(group).num_rows
            self._rows = None
            if number < self._end:
                self._rows = read_groups(source, [group], _COLUMNS)
        return number >= self._first

    def _each_group(self) -> Iterator[tuple[int, StoredTable, int]]:
        first = 0
        for path in self._part.text:
            with open_table(self._part.folder.child(PARSE_TEXT), path) as source:
                for group in range(source.num_row_groups):
                    yield first, source, group
                    first += source.metadata.row_group(group).num_rows

    def _by_url(self, urls: Sequence[str]) -> list[Text]:
        wanted = pa.array(urls, pa.string())
        texts: dict[str, Text] = {}
        for path in self._part.text:
            with open_table(self._part.folder.child(PARSE_TEXT), path) as source:
                for group in each_group(source, _COLUMNS):
                    rows = group.filter(pc.is_in(group["url"], wanted))
                    for url, *text in zip(
                        *(rows[name].to_pylist() for name in _COLUMNS), strict=True
                    ):
                        texts[url] = (text[0], text[1])
        return [texts.get(url, ("", None)) for url in urls]

    def __enter__(self) -> PartTexts:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        close = getattr(self._groups, "close", None)
        if close is not None:
            close()
