"""CrawlDbs of pages with known contents, for dust and mirrors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from crawl.model.status import Status
from crawl.storage.crawl_dir import CrawlDir
from tests.phases.made import datum, make_crawldb


def crawl_of(address: str, contents: Mapping[str, str], *, buckets: int = 4) -> CrawlDir:
    """A crawl that fetched these URLs, with these contents."""
    records = {
        url: datum(status=Status.DB_FETCHED, signature=hashlib.md5(content.encode()).digest())
        for url, content in contents.items()
    }
    return make_crawldb(address, records, buckets=buckets, group_rows=1000)
