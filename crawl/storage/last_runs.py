"""What phases last worked from, where no manifest tells it.

    CRAWL_DIR/last_runs/dedup.json    {"crawldb": 9, "seal": "…"}

A table that is made from others notes in its snapshot which states those had. Phases that write
into a table of somebody else, or that end without writing (a dedup that finds every mark as it
is), leave it here. It is written last and is no state: without it, or where it is damaged, a phase
counts as one that was never run, and to run it again does no harm.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from crawl.errors import StorageError
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.reports import read_if_whole
from crawl.storage.sealed import seal

LAST_RUNS = "last_runs"

_log = logging.getLogger(__name__)


def note_run(crawl_dir: CrawlDir, phase: str, **snapshots: int) -> None:
    """Notes the numbers of the snapshots that a phase worked from, or made, by the dataset's name.
    Only for whoever holds the lock of what the phase writes."""
    try:
        crawl_dir.folder.child(LAST_RUNS).write(f"{phase}.json", seal(snapshots))
    except StorageError as error:
        _log.warning("that %s was run cannot be noted: %s", phase, error)


def last_run(crawl_dir: CrawlDir, phase: str) -> Mapping[str, int] | None:
    """What `note_run` noted last; None where nothing is known of a run."""
    folder = crawl_dir.folder.child(LAST_RUNS)
    noted = read_if_whole(folder, f"{phase}.json", unsealed=False)
    if noted is None:
        return None
    return {str(table): number for table, number in noted.items() if type(number) is int}
