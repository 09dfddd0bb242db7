"""Which hosts the links of parsed pages have to do with, as far as it matters: one or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class SitesTask:
    """Files of parsed pages that one task looks into."""

    files: tuple[tuple[Folder, str], ...]


def sites_tasks(files: Sequence[tuple[Folder, str]], tasks: int = 64) -> list[SitesTask]:
    """The files dealt out to a number of tasks."""
    return [SitesTask(tuple(files[number::tasks])) for number in range(min(tasks, len(files)))]


def find_sites(task: SitesTask) -> Sites:
    """The hosts of the pages that link and of what they link to; where there are several, the rest
    is not read."""
    found = Sites()
    for folder, path in task.files:
        with open_table(folder, path) as source:
            for group in each_group(source, _COLUMNS):
                found = found | _sites_of(group)
                if found.are_several:
                    return found
    return found


def _sites_of(pages: pa.Table) -> Sites:
    lists: Any = as_array(pages["outlinks"])
    links: Any = pc.list_flatten(lists)
    followable = pa.array(are_followable(pc.struct_field(links, "tag")))
    linking = pc.list_parent_indices(lists).filter(followable).unique()
    targets = pc.struct_field(links, "url").filter(followable)
    pages_that_link = as_array(pages["url"]).take(linking)
    return (
        Sites().with_hosts(_names(hosts_of(targets))).with_hosts(_names(hosts_of(pages_that_link)))
    )


def _names(hosts: pa.Array[Any]) -> list[str]:
    return strings(hosts.unique().drop_null())
