"""Where a service keeps what it knows."""

from __future__ import annotations

from pathlib import Path

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import StorageError, UsageError
from crawl.printable import printable
from crawl.service.settings import FOLDER, STORE
from crawl.service.stores.opening import open_store
from crawl.service.stores.store import Store
from crawl.storage.crawl_dir import CrawlDir

QUEUE_FILE = "queue.sqlite"
_PAGES = "pages"
_STORE_FILE = "data.mdb"
"""Of the embedded store."""
_LONGEST_PATH = 300
_OF_A_CRAWL = frozenset(("crawldb", "segments", "service", "serving"))
"""What the folder of a crawl has one of, whichever command began it."""


def folder_of(crawl_dir: CrawlDir, config: Config) -> Path:
    """The service's folder, on this machine."""
    named: str = config[FOLDER]
    if named:
        return Path(named)
    if not crawl_dir.folder.is_local():
        raise UsageError(
            f"{crawl_dir.address} is in a store: the service needs a folder on this machine, too"
            " (-D service.folder=…)"
        )
    return Path(crawl_dir.folder.path("service"))


def has_own_store(crawl_dir: CrawlDir, config: Config) -> bool:
    """Whether there is a store to look into; of one that is a server it is not known before."""
    return bool(config[STORE]) or (folder_of(crawl_dir, config) / _PAGES).exists()


def require_crawl(crawl_dir: CrawlDir, config: Config, otherwise: str = "check the path") -> None:
    """UsageError for a path that is no crawl, which may be a slip of the pen: nothing is to be made
    there. A store that is a server has what is asked for, whatever the path. `otherwise`: what
    is to be done about it."""
    if has_own_store(crawl_dir, config):
        return
    folder, address = crawl_dir.folder, printable(crawl_dir.address, _LONGEST_PATH)
    if not _OF_A_CRAWL.isdisjoint(folder.names()):
        return
    if folder.size("") is not None:
        raise UsageError(f"{address} is a file: expected the folder of a crawl")
    what = "is no crawl" if folder.exists() else "is not there"
    raise UsageError(f"{address} {what}: {otherwise}")


def open_store_of(crawl_dir: CrawlDir, config: Config, clock: Clock) -> Store:
    """The metadata store, which several processes may have open."""
    named: str = config[STORE]
    return open_store(named or f"lmdb:{folder_of(crawl_dir, config) / _PAGES}", clock)


def places_of(crawl_dir: CrawlDir, config: Config) -> tuple[list[Path], list[Path]]:
    """The folders and the files that an open service relies on: those of this machine."""
    folder = folder_of(crawl_dir, config)
    folders = [folder]
    if crawl_dir.folder.is_local():
        folders.insert(0, Path(crawl_dir.folder.path("service")).parent)
    for each in folders:
        try:
            each.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{each}: {error.strerror}") from error
    files = (folder / QUEUE_FILE, folder / _PAGES / _STORE_FILE)
    return folders, [each for each in files if each.exists()]


def is_store_embedded(config: Config) -> bool:
    """Whether the metadata store answers from this machine's memory; another's silence may last."""
    named: str = config[STORE]
    return not named or named.partition(":")[0].lower() in ("lmdb", "memory")
