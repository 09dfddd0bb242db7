"""Which documents of a shard are stale by the CrawlDb: what `clean` removes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_array, fill_null
from crawl.model.status import status_label
from crawl.phases.index.rules import STALE
from crawl.phases.index.tasks.decide import ShardResult, ShardTask
from crawl.phases.index.tasks.documents import DOCUMENTS
from crawl.phases.index.tasks.kept_out import KeptOutNotes, kept_rows, statuses_of
from crawl.phases.index.tasks.ledger import ledger_urls
from crawl.storage.folder import Folder
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.exchange import Outbox
from crawl.urls.hosts import hosts_of

NOT_IN_CRAWLDB = "stale.not_in_crawldb"


@dataclass(frozen=True, slots=True)
class StaleJob:
    """The search for stale documents: the CrawlDb, and where the notes of pages that are kept out
    are written."""

    target: BucketTarget
    """Of the notes of pages that are kept out, beside the ledger."""
    crawldb: Folder


def send_stale(job: StaleJob, task: ShardTask, outbox: Outbox) -> ShardResult:
    """Sends deletions of the stale documents to the shard itself."""
    counters = Counters()
    documents = ledger_urls(job.target.folder, task.ledger, task.unsettled)
    statuses = statuses_of(job.crawldb, task.crawldb, as_array(documents["url"]))
    is_stale = np.isin(statuses, [0, *(int(status) for status in STALE)])
    counters["documents"] += len(statuses)
    for code, count in zip(*np.unique(statuses[is_stale], return_counts=True), strict=True):
        name = f"stale.{status_label(int(code))}" if code else NOT_IN_CRAWLDB
        counters[name] += int(count)
    rows = documents.filter(pa.array(is_stale))
    nothing = {"body": pa.nulls(rows.num_rows, pa.binary()), "segment": rows["segment"]}
    columns = {"url": rows["url"], "version": rows["version"], **nothing}
    outbox.send_all(DOCUMENTS, pa.table(columns, schema=DOCUMENTS.schema), task.number)
    # they may be as they were one day, without a new parse
    kept_out = rows.filter(pa.array(statuses[is_stale] != 0)).filter(pc.field("segment") != "")
    hosts = fill_null(hosts_of(as_array(kept_out["url"])), "")
    with KeptOutNotes(job.target, task.number, task.kept_out) as notes:
        noted = kept_rows(kept_out["url"], hosts, kept_out["version"], kept_out["segment"])
        notes.merge(None, noted, over=noted.schema.empty_table())
    return ShardResult(counters, notes.files)
