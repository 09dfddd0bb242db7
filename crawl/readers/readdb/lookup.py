"""Looks up the CrawlDb's record of one URL."""

from __future__ import annotations

from collections.abc import Iterator

from crawl.config import Config
from crawl.interfaces.chains import NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.tables.lookup import find_record


def find_datum(
    directory: CrawlDir, snapshot: Snapshot, url: str, config: Config
) -> tuple[str, CrawlDatum] | None:
    """The URL as the CrawlDb has it, and its record; of its normal form where it is not known
    as it was typed."""
    for name in spellings(url, config, Scope.DEFAULT):
        row = find_record(directory.crawldb.folder, snapshot, name)
        if row is not None:
            return next(to_records(row))
    return None


def spellings(url: str, config: Config, scope: Scope) -> Iterator[str]:
    """The names under which a URL may be known: as it was typed, then its normal form."""
    yield url
    normal = NormalizerChain.from_config(config, scope).normalize(url)
    if normal is not None and normal != url:
        yield normal
