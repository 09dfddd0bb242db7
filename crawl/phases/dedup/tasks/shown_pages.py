"""Pages that are shown to people before anything is marked: their URLs, titles and texts, of a few
records among all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.phases.dedup.tasks.keys import Numbers
from crawl.phases.dedup.tasks.members import urls_at
from crawl.phases.dedup.tasks.parsed_pages import PartFile
from crawl.phases.dedup.tasks.records import DedupJob, node_ids
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import PARSE_DATA
from crawl.tables.slices import Slice

_SHOWN_CHARACTERS = 100_000
"""Of a text: two are compared word by word."""


@dataclass(frozen=True, slots=True)
class ShownSlice:
    """A slice, and the rows of it that are looked for."""

    base: Slice
    row_numbers: Numbers
    """Rising."""

    @property
    def rows(self) -> int:
        return self.base.rows


def find_urls(job: DedupJob, task: ShownSlice) -> dict[int, str]:
    """The URLs of records, by their ids."""
    ids = node_ids(task.base.number, np.asarray(task.row_numbers)).tolist()
    urls: list[Any] = urls_at(job, task.base, np.asarray(task.row_numbers)).to_pylist()
    return dict(zip(ids, urls, strict=True))


@dataclass(frozen=True, slots=True)
class Said:
    """What one segment says of a page: its title or its text."""

    url: str
    segment: int
    is_title: bool
    text: str


def find_said(urls: tuple[str, ...], file: PartFile) -> list[Said]:
    """What a file says of some URLs."""
    is_title = file.part == PARSE_DATA
    columns = ["url", "title"] if is_title else ["url", "text", "main_text"]
    wanted: Any = pa.array(urls, pa.string())
    found: list[Said] = []
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, columns):
            isin: Any = pc.is_in
            rows = rows.filter(isin(rows["url"], value_set=wanted))
            coalesce: Any = pc.coalesce
            texts = rows["title"] if is_title else coalesce(rows["main_text"], rows["text"])
            said: list[Any] = texts.to_pylist()
            names: list[Any] = rows["url"].to_pylist()
            found += [
                Said(url, file.segment, is_title, (text or "")[:_SHOWN_CHARACTERS])
                for url, text in zip(names, said, strict=True)
            ]
    return found


def latest_said(every: list[list[Said]], *, is_title: bool) -> Mapping[str, str]:
    """By URL, what the latest segment says."""
    chosen = (each for some in every for each in some if each.is_title is is_title)
    return {each.url: each.text for each in sorted(chosen, key=lambda each: each.segment)}
