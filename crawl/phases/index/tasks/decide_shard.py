"""A shard of the index decides which of its pages become documents, and asks for them.

The row that is sent to the part where a parse lies bears all that the CrawlDb and the LinkDb have
to say of the page, so that the document can be made there, beside its text. Of segments that were
indexed before only those pages count that nothing keeps out any more (kept_out.py), and those
that are asked for, in case that a newer fetch of them is there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_array
from crawl.model.derived_tables import INDEX_KEPT_OUT
from crawl.model.tables import CRAWLDB
from crawl.phases.index.rules import Action
from crawl.phases.index.tasks.decide import (
    DATUM,
    DecideJob,
    Newest,
    ShardResult,
    ShardTask,
    decide_rows,
    numbers,
)
from crawl.phases.index.tasks.decisions import Decisions
from crawl.phases.index.tasks.inlinks import INLINKS
from crawl.phases.index.tasks.kept_out import (
    KeptOutJob,
    KeptOutNotes,
    kept_rows,
    latest,
    returning_pages,
)
from crawl.phases.index.tasks.keys import KEYS
from crawl.phases.index.tasks.ledger import ledger_urls
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows

_REQUESTED: dict[str, pa.DataType] = {
    "url": pa.string(),
    "host": pa.string(),
    "version": pa.int64(),
    "row": pa.int64(),
    **{name: CRAWLDB.schema.field(name).type for name in DATUM},
    "inlinks": INLINKS,
}
REQUESTED = RowKind("index wanted", pa.schema(_REQUESTED))
"""Pages to be indexed, sent to the part where their parse lies."""

_DELETED: dict[str, pa.DataType] = {"url": pa.string(), "host": pa.string(), "version": pa.int64()}
DELETED = RowKind("index deleted", pa.schema(_DELETED))
"""Pages whose documents are to go; sent to any part, which sends them on."""


@dataclass(frozen=True)
class IndexDecideJob:
    """The decision for an index: how pages are decided, the segments by name, where the notes go,
    and which pages may return."""

    pages: DecideJob
    names: tuple[str, ...]
    """Of the segments."""
    indexed: tuple[bool, ...]
    """Of each segment whether it was indexed before, and is read for some pages alone."""
    target: BucketTarget
    """Of the notes of pages that are kept out."""
    returning: KeptOutJob | None = None
    """None where no page may return."""


def decide_shard(
    job: IndexDecideJob, task: ShardTask, received: Received, outbox: Outbox
) -> ShardResult:
    """Decides on all pages of the shard."""
    counters = Counters()
    returning = INDEX_KEPT_OUT.schema.empty_table()
    if job.returning is not None:
        returning = returning_pages(job.returning, task)
    indexed = np.flatnonzero(job.indexed)
    with KeptOutNotes(job.target, task.number, task.kept_out) as notes:
        for keys in NewRows.received(received, KEYS, "url").ranges():
            rows = keys.rows
            if len(indexed):
                is_new = np.isin(rows["segment"].to_numpy(), indexed, invert=True)
                asked = pa.concat_arrays(
                    [as_array(rows["url"].filter(pa.array(is_new))), as_array(returning["url"])]
                )
                rows = rows.filter(pc.is_in(rows["url"], asked))
            if rows.num_rows:
                kept_out, over = _decide_range(job, task, rows, returning, outbox, counters)
            else:
                kept_out = over = INDEX_KEPT_OUT.schema.empty_table()
            notes.merge(keys.end, kept_out, over)
    return ShardResult(counters, notes.files)


def _decide_range(
    job: IndexDecideJob,
    task: ShardTask,
    rows: pa.Table,
    returning: pa.Table,
    outbox: Outbox,
    counters: Counters,
) -> tuple[pa.Table, pa.Table]:
    """Sends what is to be done of these pages; those that are kept out, and those of which what
    was noted is over."""
    decided = decide_rows(job.pages, task, rows, counters)
    newest, decisions = decided.newest, decided.decisions
    # an index that was told to delete a page takes no older version of it
    deletion_version = latest(newest.pages, returning)
    counters["returned"] += int(np.count_nonzero(decided.is_added & (deletion_version >= 0)))
    newest = replace(newest, version=np.maximum(newest.version, deletion_version))
    _send(job.pages, task, newest, decided.stored, decisions, outbox)
    versions = pa.table({"url": newest.pages["url"], "version": pa.array(newest.version)})
    over = versions.filter(pa.array(decisions.is_by_parse))
    return _kept_out_pages(job, task, newest, decisions), over


def _kept_out_pages(
    job: IndexDecideJob, task: ShardTask, newest: Newest, decisions: Decisions
) -> pa.Table:
    """The pages that only their state keeps out, as far as it is known where their parse lies."""
    pages = newest.pages
    here = decisions.is_by_state & newest.has_parse & newest.is_parsed
    parsed = pages.select(["url", "host", "segment"]).filter(pa.array(here))
    names = pa.array(job.names, pa.string()).take(parsed["segment"])
    kept_out = kept_rows(parsed["url"], parsed["host"], pa.array(newest.version[here]), names)
    gone = decisions.is_by_state & ~here & (decisions.actions == int(Action.DELETE))
    if task.ledger is None or not gone.any():
        return kept_out
    urls = as_array(pages["url"].filter(pa.array(gone)))
    rows = ledger_urls(job.target.folder, task.ledger, only=urls)
    places = pc.index_in(as_array(rows["url"]), value_set=urls)
    versions = pa.array(newest.version[gone]).take(places)
    hosts = pages["host"].filter(pa.array(gone)).take(places)
    indexed = kept_rows(rows["url"], hosts, versions, rows["segment"])
    return pa.concat_tables([kept_out, indexed.filter(pc.field("segment") != "")])


def _send(
    job: DecideJob,
    task: ShardTask,
    newest: Newest,
    stored: pa.Table,
    decisions: Decisions,
    outbox: Outbox,
) -> None:
    pages, versions = newest.pages, pa.array(newest.version)
    deleted = pa.array(decisions.actions == int(Action.DELETE))
    gone = pa.table([pages["url"], pages["host"], versions], schema=DELETED.schema).filter(deleted)
    if gone.num_rows:
        outbox.send_all(DELETED, gone, task.number % job.parts)
    added = pa.array(decisions.actions == int(Action.ADD))
    requests = pages.filter(added)
    if not requests.num_rows:
        return
    urls = as_array(requests["url"])
    if job.inlinks is None:
        inlinks: pa.Array[Any] = pa.array([[]] * len(urls), INLINKS)
    else:
        inlinks = job.inlinks.inlinks(task.number, job.shards, urls)
    records = stored.filter(added)
    if job.crawldb is None:
        scores = pa.array(newest.score).filter(added)
        records = records.set_column(DATUM.index("score"), records.field("score"), scores)
    places = [requests["url"], requests["host"], versions.filter(added), requests["row"]]
    table = pa.table([*places, *records.columns, inlinks], schema=REQUESTED.schema)
    outbox.send(REQUESTED, table, numbers(requests["part"], np.int32))
