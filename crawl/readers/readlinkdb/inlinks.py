"""Looks up what links to one URL, as plain values."""

from __future__ import annotations

from typing import Any

from crawl.config import Config
from crawl.interfaces.chains import NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.phases.invertlinks.linkdb import linkdb_of, reading_linkdb
from crawl.phases.invertlinks.tasks.dump import as_inlinks
from crawl.phases.invertlinks.tasks.inlinks import StoredInlinks
from crawl.storage.crawl_dir import CrawlDir


def inlinks_of(directory: CrawlDir, url: str, config: Config) -> dict[str, Any] | None:
    """The URL as the LinkDb has it and its inlinks, best-scored first; of its normal form where
    nothing links to it as it was typed; None where nothing does."""
    folder = linkdb_of(directory).folder
    return reading_linkdb(
        directory, lambda snapshot: _find(StoredInlinks(folder, snapshot), url, config)
    )


def _find(stored: StoredInlinks, url: str, config: Config) -> dict[str, Any] | None:
    links = stored.of_url(url)
    if not links.num_rows:
        normal = NormalizerChain.from_config(config, Scope.LINKDB).normalize(url)
        if normal is not None and normal != url:
            url, links = normal, stored.of_url(normal)
    return as_inlinks(url, links.to_pylist()) if links.num_rows else None
