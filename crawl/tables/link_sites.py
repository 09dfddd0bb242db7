"""Which hosts the links of parsed pages have to do with, as far as it matters: one or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array, strings
from crawl.parsing.anchors import are_followable
from crawl.rules.sites import Sites
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.urls.hosts import hosts_of

_COLUMNS = ["url", "outlinks.list.element.url", "outlinks.list.element.tag"]


_TASKS = 64

PagesFiles = Sequence[tuple[Folder, str]]
"""Files of parsed pages, by their folders and paths."""


def sites_tasks(files: PagesFiles) -> list[PagesFiles]:
    """The files dealt out to tasks."""
    return [files[number::_TASKS] for number in range(min(_TASKS, len(files)))]


def find_sites(files: PagesFiles) -> Sites:
    """The hosts of the pages that link and of what they link to; where there are several, the rest
    is not read."""
    sites = Sites()
    for folder, path in files:
        with open_table(folder, path) as source:
            for group in each_group(source, _COLUMNS):
                sites = sites | _sites_of(group)
                if sites.are_several:
                    return sites
    return sites


def _sites_of(pages: pa.Table) -> Sites:
    lists: Any = as_array(pages["outlinks"])
    links: Any = pc.list_flatten(lists)
    followable = pa.array(are_followable(pc.struct_field(links, "tag")))
    linking = pc.list_parent_indices(lists).filter(followable).unique()
    targets = pc.struct_field(links, "url").filter(followable)
    pages_that_link = as_array(pages["url"]).take(linking)
    sites = Sites()
    for urls in (targets, pages_that_link):
        sites = sites.with_hosts(strings(hosts_of(urls).unique().drop_null()))
    return sites
