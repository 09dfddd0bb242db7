"""Sources as rows: what is to be asked for, on its way to the task that asks its server.

A row also says what was read on behalf of the site so far, as far as whoever sends it knows: the
site's limits hold from wave to wave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from crawl.model.arrow import required_schema
from crawl.phases.sitemap.tasks.values import SitemapSource, SiteUsage, SourceKind

SOURCES = required_schema(
    {
        "url": pa.string(),
        "site": pa.string(),
        "kind": pa.string(),
        "depth": pa.int32(),
        "scopes": pa.list_(pa.string()),
        "sitemaps": pa.int64(),
        "urls": pa.int64(),
        "server": pa.string(),
    }
)
"""`server` is the key of the server that is asked; a task's own file leaves it empty."""

SourceRow = tuple[SitemapSource, SiteUsage, str]
"""A source, what was read for its site, and its server."""


def site_source(origin: str, host: str, kind: SourceKind = SourceKind.SITE) -> SitemapSource:
    """The sitemaps that a site says it has."""
    return SitemapSource(f"{origin}/robots.txt", host, kind)


def sources_table(rows: Iterable[SourceRow]) -> pa.Table:
    """The sources as rows."""
    found = [
        {
            "url": source.url,
            "site": source.site,
            "kind": source.kind.value,
            "depth": source.depth,
            "scopes": sorted(source.scopes),
            "sitemaps": used.sitemaps,
            "urls": used.urls,
            "server": server,
        }
        for source, used, server in rows
    ]
    return pa.Table.from_pylist(found, SOURCES)


def to_sources(table: pa.Table) -> Iterator[SourceRow]:
    """The sources that rows hold."""
    for row in table.to_pylist():
        source = SitemapSource(
            row["url"],
            row["site"],
            SourceKind(row["kind"]),
            row["depth"],
            frozenset(row["scopes"]),
        )
        yield source, SiteUsage(row["sitemaps"], row["urls"]), row["server"]
