"""Looks up the CrawlDb's record of one URL."""

from __future__ import annotations

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
    crawldb = directory.crawldb.folder
    found = find_record(crawldb, snapshot, url)
    if found is None:
        normal = NormalizerChain.from_config(config, Scope.DEFAULT).normalize(url)
        if normal is not None and normal != url:
            found = find_record(crawldb, snapshot, normal)
    if found is None:
        return None
    (record,) = to_records(found)
    return record
