"""What can be asked of sitemap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.operations.options import Positive, StealLock, option


@dataclass(frozen=True, slots=True)
class SitemapOptions:
    """The options of sitemap."""

    urls: Annotated[
        tuple[str, ...],
        option(
            "A sitemap, or the front page of a site whose sitemaps are wanted. May be repeated.",
            "--url",
            metavar="URL",
            positional=True,
        ),
    ] = ()
    files: Annotated[
        tuple[str, ...],
        option(
            "A file, or a folder of files, of such URLs, one a line. May be repeated.",
            "--file",
            metavar="FILE",
        ),
    ] = ()
    hosts: Annotated[
        bool | None,
        option(
            "Ask the hosts of the CrawlDb.  [default: unless URLs are given]", "--hosts/--no-hosts"
        ),
    ] = None
    max_hosts: Annotated[
        Annotated[int, Meta(ge=-1)] | None,
        option(
            "How many of them, those with the most URLs first; -1: all."
            "  [default: sitemap.max.hosts]"
        ),
    ] = None
    num_fetchers: Annotated[
        Positive | None,
        option("Tasks that ask at the same time, each other servers.  [default: the cores]"),
    ] = None
    filter: Annotated[bool, option("Take URLs that the URL filters reject.")] = True
    normalize: Annotated[bool, option("Take URLs as they are written.")] = True
    steal_lock: StealLock = False

    @property
    def asks_hosts(self) -> bool:
        """Whether hosts of the CrawlDb are asked, too."""
        return not self.urls if self.hosts is None else self.hosts
