"""Which documents of a shard are stale by the CrawlDb: what `clean` removes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.exchange import Outbox
from crawl.counters import Counters
from crawl.indexing.deliver import ledger_urls
from crawl.indexing.documents import DOCUMENTS
from crawl.indexing.sent_notes import UnsettledUrls
from crawl.model.arrow import as_array
from crawl.model.status import status_label
from crawl.rules.index import STALE
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_table, read_groups

NOT_IN_CRAWLDB = "stale.not_in_crawldb"


@dataclass(frozen=True, slots=True)
class StaleTask:
    """One shard: its ledger, and the CrawlDb's files that have its URLs."""

    number: int
    ledger: BucketFile | None
    crawldb: tuple[BucketFile, ...]
    unsettled: tuple[UnsettledUrls, ...] = ()
    """What jobs that died may have sent."""

    @property
    def rows(self) -> int:
        known = self.ledger.rows if self.ledger else 0
        return known + sum(file.rows for file in self.crawldb)


@dataclass(frozen=True, slots=True)
class StaleJob:
    """What every shard knows."""

    ledger: Folder
    crawldb: Folder


def send_stale(job: StaleJob, task: StaleTask, outbox: Outbox) -> Counters:
    """Sends deletions of the stale documents to the shard itself."""
    counters = Counters()
    known = ledger_urls(job.ledger, task.ledger, task.unsettled)
    urls = as_array(known["url"])
    statuses = np.zeros(len(urls), dtype=np.int8)
    for file in task.crawldb:
        with open_table(job.crawldb, file.path) as source:
            for group in range(source.num_row_groups):
                rows = read_groups(source, [group], ["url", "status"])
                places = pc.index_in(as_array(rows["url"]), value_set=urls)
                hits = pc.is_valid(places)
                found = places.filter(hits).to_numpy().astype(np.int64)
                statuses[found] = rows["status"].filter(hits).to_numpy()
    stale = np.isin(statuses, [0, *(int(status) for status in STALE)])
    counters["documents"] += len(urls)
    for code, count in zip(*np.unique(statuses[stale], return_counts=True), strict=True):
        name = f"stale.{status_label(int(code))}" if code else NOT_IN_CRAWLDB
        counters[name] += int(count)
    rows = known.filter(pa.array(stale))
    bodies = pa.nulls(rows.num_rows, pa.binary())
    deletions = pa.table([rows["url"], rows["version"], bodies], schema=DOCUMENTS.schema)
    outbox.send_all(DOCUMENTS, deletions, task.number)
    return counters


STALE_COUNTERS = (*(f"stale.{status.label}" for status in STALE), NOT_IN_CRAWLDB)
