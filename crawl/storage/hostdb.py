"""The HostDb of a crawl: what each host is like, as `crawl updatehostdb` found it."""

from __future__ import annotations

from crawl.errors import NoSnapshot
from crawl.hints import command
from crawl.model.derived_tables import HOSTDB
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot


def require_hostdb(directory: CrawlDir) -> Snapshot:
    """The HostDb's current state, or one line saying how to get one."""
    snapshot = directory.dataset(HOSTDB).current()
    if snapshot is None:
        directory.require_crawldb()
        raise NoSnapshot(
            f"{directory.address} has no HostDb yet: make it with"
            f" `{command('updatehostdb', directory.address)}`"
        )
    return snapshot
