"""Pages that are shown to people before anything is marked: their URLs, titles and texts, of a few
records among all."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import strings
from crawl.phases.dedup.tasks.keys import Numbers
from crawl.phases.dedup.tasks.members import urls_at
from crawl.phases.dedup.tasks.parsed_pages import PartFile
from crawl.phases.dedup.tasks.records import DedupJob, node_ids
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import PARSE_DATA
from crawl.tables.slices import Slice

_SHOWN_CHARACTERS = 100_000
"""Of a text: two are compared word by word."""


def find_urls(job: DedupJob, task: tuple[Slice, Numbers]) -> dict[int, str]:
    """The URLs of records, by their ids: of a slice and rising rows of it."""
    base, rows = task
    ids = node_ids(base.number, rows).tolist()
    urls: list[Any] = urls_at(job, base, rows).to_pylist()
    return dict(zip(ids, urls, strict=True))


def find_said(urls: tuple[str, ...], file: PartFile) -> dict[str, str]:
    """What a file says of some URLs: titles, or texts."""
    is_title = file.part == PARSE_DATA
    columns = ["url", "title"] if is_title else ["url", "text", "main_text"]
    url_set: Any = pa.array(urls, pa.string())
    texts_by_url: dict[str, str] = {}
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, columns):
            isin: Any = pc.is_in
            rows = rows.filter(isin(rows["url"], value_set=url_set))
            coalesce: Any = pc.coalesce
            texts = rows["title"] if is_title else coalesce(rows["main_text"], rows["text"])
            for url, text in zip(strings(rows["url"]), texts.to_pylist(), strict=True):
                texts_by_url[url] = (text or "")[:_SHOWN_CHARACTERS]
    return texts_by_url
