"""The public face: `crawl.open` and what a crawl can be asked to do.

    import crawl

    web = crawl.open("mycrawl", settings={"http.agent.name": "mybot"})
    web.inject(["https://example.org/"])
    web.run(rounds=2)
    web.pages().to_pandas()

Every phase and reader of the command line is a method here. Methods return plain values and
print nothing to stdout; what goes wrong is a `CrawlError` (crawl/errors.py) whose message is
the command line's one line. A Spark session that exists is used and left open; one that had to
be opened is stopped by `close`, or at the end of `with crawl.open(...)`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from crawl.config import Config, load
from crawl.declared import declared_properties
from crawl.errors import UsageError
from crawl.facade.one_page import fetch_one, parse_one
from crawl.facade.phases import Phases
from crawl.facade.readers import Readers
from crawl.facade.results import FetchedPage, ParsedPage
from crawl.facade.tables import Tables
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir

__all__ = ["Crawl", "fetch_page", "open", "parse_page"]

Settings = Mapping[str, object]
"""Properties by name, as in crawl-site.toml; `crawl showproperties` lists them."""

_REDIRECTS = 5


class Crawl(Phases, Readers, Tables):
    """One crawl: its phases, its readers and its tables. Made by `crawl.open`."""


def open(
    address: str | Path,
    *,
    settings: Settings | None = None,
    conf: str | Path | None = None,
    master: str | None = None,
    progress: bool = True,
) -> Crawl:
    """The crawl in a folder, or the one that is to begin there; nothing is written yet.

    `address` is a path, or `s3://bucket/crawl`, `hdfs://namenode/crawl`. `settings` stand above
    those of the configuration folder `conf` (else $CRAWL_CONF_DIR, or ./conf). `master` is
    Spark's. `progress`: long phases show on stderr, or in the notebook, how far they are.

        >>> web = crawl.open("mycrawl", settings={"http.agent.name": "mybot"})
    """
    if not isinstance(address, str | Path) or not str(address):
        raise UsageError(f"a crawl is named by a path or an address, not by {address!r}")
    spark = SparkOptions(master, quiet=not progress)
    return Crawl(CrawlDir(str(address)), _configuration(settings, conf), spark)


def fetch_page(
    url: str,
    *,
    settings: Settings | None = None,
    conf: str | Path | None = None,
    redirects: int = _REDIRECTS,
) -> FetchedPage:
    """One page, asked for as a crawl would: robots.txt first, every pause kept; no JVM.

    >>> crawl.fetch_page("https://example.org/", settings={"http.agent.name": "mybot"}).code
    """
    return fetch_one(url, _configuration(settings, conf), redirects=redirects)


def parse_page(
    content: bytes,
    url: str,
    *,
    content_type: str = "",
    headers: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    conf: str | Path | None = None,
) -> ParsedPage:
    """What a crawl would make of these bytes, found at that URL: title, text, language, links.

    >>> crawl.parse_page(b"<title>Hello</title>", "https://example.org/").title
    """
    config = _configuration(settings, conf)
    given = dict(headers or {})
    return parse_one(content, url, config, content_type=content_type, headers=given)


def _configuration(settings: Settings | None, conf: str | Path | None) -> Config:
    """The layers of the configuration, checked: defaults, the site file, then these settings."""
    if settings is not None and not isinstance(settings, Mapping):
        raise UsageError(f"settings: expected a mapping of names to values, got {settings!r}")
    return load(conf=conf, environ=os.environ, extra=declared_properties, settings=settings or {})
