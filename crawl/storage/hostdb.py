"""The HostDb of a crawl: what each host is like, as `crawl updatehostdb` found it."""

from __future__ import annotations

from crawl.errors import NoSnapshot, StorageError
from crawl.hints import command
from crawl.model.derived_tables import HOSTDB
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot

LAYOUT = 2
"""Which columns it has: 2 tells of sitemaps, too."""
LAYOUT_NOTE = "layout"


def require_hostdb(directory: CrawlDir) -> Snapshot:
    """The HostDb's current state, or one line saying how to get one."""
    snapshot = directory.dataset(HOSTDB).current()
    if snapshot is None:
        directory.require_crawldb()
        raise NoSnapshot(
            f"{directory.address} has no HostDb yet: make it with"
            f" `{command('updatehostdb', directory.address)}`"
        )
    require_layout(directory, snapshot)
    return snapshot


def require_layout(directory: CrawlDir, snapshot: Snapshot) -> None:
    """Raises StorageError for a HostDb with the columns of another version. What it has counted is
    not lost: updatehostdb takes it over."""
    if snapshot.notes.get(LAYOUT_NOTE) != LAYOUT:
        raise StorageError(
            f"{directory.address} has the HostDb of another version:"
            f" `{command('updatehostdb', directory.address)}` brings it up to date"
        )
