"""Completes what an index was interrupted in, where nothing else is to be done: for commands that
find nothing to index, and for those that look after a whole crawl."""

from __future__ import annotations

from collections.abc import Sequence

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import StorageError
from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.settle import SettledOutputs, is_unsettled, settle_outputs
from crawl.phases.index.tasks.writers import WriterSpec
from crawl.storage.crawl_dir import CrawlDir


def settle_index(
    crawl_dir: CrawlDir,
    command: str,
    config: Config,
    clock: Clock,
    specs: Sequence[WriterSpec] = (),
    *,
    steal_lock: bool = False,
) -> SettledOutputs:
    """Brings what every writer has to what the ledger says, under the ledger's lock; where nothing
    is to be done, no lock is taken. A ledger that cannot be read says nothing."""
    dataset = crawl_dir.dataset(INDEX)
    try:
        ledger = dataset.current()
    except StorageError:
        return SettledOutputs()
    if not is_unsettled(crawl_dir, specs, ledger):
        return SettledOutputs()
    with crawl_dir.writing(dataset, command, config, clock, steal_lock=steal_lock) as transaction:
        return settle_outputs(crawl_dir, specs, transaction.base)
