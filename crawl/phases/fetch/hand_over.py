"""What one fetch leaves to the next: the datasets `robots` and `servers` of a crawl.

    robots    the last answer of every authority to a request for its robots.txt
    servers   the pauses and failures of servers when a fetch ended

Both are caches. Where they are damaged they are begun anew, with a line in the log, and where
somebody else holds them the fetch goes on without them; no crawl fails for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

from crawl.clock import Clock
from crawl.config import Config
from crawl.driver.merge_table import in_buckets, merge_table
from crawl.errors import Locked, StorageError
from crawl.fetcher.hand_over import HandedOver
from crawl.model.report import Report
from crawl.model.table import Table
from crawl.model.tables import ROBOTS, SERVERS
from crawl.phases.fetch.tasks import (
    DropExpired,
    HandOverTask,
    newest_answer,
    send_pauses,
    send_robots,
    strictest_pause,
)
from crawl.storage.crawl_dir import CrawlDir, locked
from crawl.storage.keyed_rows import KeyedRows
from crawl.storage.robots_store import GROUP_ROWS
from crawl.storage.server_pauses import ServerPause
from crawl.storage.snapshot import SNAPSHOTS, Dataset, Transaction
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.exchange import Outbox
from crawl.tables.merge import Combine
from crawl.tables.runner import Runner
from crawl.tables.slices import Router, Slices
from crawl.tables.table_merge import MergeJob

KEEP = 2
"""Snapshots of each: the one before is for whoever reads it, or for a repair."""
_log = logging.getLogger(__name__)


class _Cache(NamedTuple):
    """A dataset that fetches leave, and how the rows of a fetch come into it."""

    table: Table
    send: Callable[[Router, HandOverTask, Outbox], None]
    combine: Combine
    drop_expired: Callable[[int], DropExpired]


_CACHES = (
    _Cache(ROBOTS, send_robots, newest_answer, DropExpired.of_robots),
    _Cache(SERVERS, send_pauses, strictest_pause, DropExpired.of_servers),
)


def handed_over(crawl_dir: CrawlDir, pauses: tuple[ServerPause, ...] = ()) -> HandedOver:
    """What earlier fetches have left, and what servers are owed for requests of services."""
    return HandedOver(
        KeyedRows.current(crawl_dir.dataset(ROBOTS)),
        KeyedRows.current(crawl_dir.dataset(SERVERS)),
        pauses,
    )


def publish_handed_over(
    runner: Runner,
    crawl_dir: CrawlDir,
    config: Config,
    clock: Clock,
    tasks: Sequence[HandOverTask],
    report: Report,
    buckets: int,
    *,
    steal_lock: bool = False,
) -> bool:
    """Merges what the parts of a fetch have learnt into the datasets, and publishes them; whether
    it could be done. `buckets` are the CrawlDb's, of which a dataset gets as many when it is new,
    or when they are a multiple of those that it has: with them grows what it may hold."""
    senders = [task for task in tasks if task.robots or task.servers is not None]
    if not senders:
        return True
    datasets = [crawl_dir.dataset(cache.table) for cache in _CACHES]

    def publish() -> None:
        with ExitStack() as stack:
            transactions = [
                stack.enter_context(
                    crawl_dir.writing(dataset, report.phase, config, clock, steal_lock=steal_lock)
                )
                for dataset in datasets
            ]
            for transaction, cache in zip(transactions, _CACHES, strict=True):
                _merge(runner, transaction, cache, senders, buckets, report, clock)

    try:
        publish()
    except Locked as error:
        _log.warning("%s; what the fetch has learnt of servers is not kept", error)
        return False
    except StorageError as error:
        _log.warning("%s; the crawl's robots.txt and pauses are begun anew", error)
        try:
            for dataset in datasets:
                begin_anew(dataset, "fetch", config, clock, steal_lock=steal_lock)
            publish()
        except StorageError as again:
            _log.warning("%s; what the fetch has learnt of servers is not kept", again)
            return False
    return True


def begin_anew(
    dataset: Dataset, command: str, config: Config, clock: Clock, *, steal_lock: bool
) -> None:
    """Forgets all of a cache that is damaged."""
    with locked(
        dataset.folder, command, config, clock, steal_lock=steal_lock, shut_out=dataset.shut_out
    ):
        for name in (dataset.pointer.name, dataset.pointer.copy, SNAPSHOTS):
            dataset.folder.delete(name)


def _merge(
    runner: Runner,
    transaction: Transaction,
    cache: _Cache,
    senders: Sequence[HandOverTask],
    buckets: int,
    report: Report,
    clock: Clock,
) -> None:
    step, base = f"{report.phase}: hand_over", transaction.base
    target = BucketTarget(cache.table, transaction.folder, transaction.place, GROUP_ROWS)
    if base is not None and buckets % base.buckets == 0:
        base = in_buckets(runner, base, target, buckets, step)
    slices = Slices.of(base, base.buckets if base else buckets)
    sent = runner.exchange(partial(cache.send, slices.router), senders, len(slices), step)
    new, now_ms = int(sent.row_counts().sum()), clock.now_ms()
    if not new:
        return
    job = MergeJob(target, cache.combine, cache.drop_expired(now_ms))
    before = transaction.base.rows if transaction.base else 0
    files = merge_table(sent, job, slices, step)
    own = Report(report.phase, now_ms, report.settings_digest, {"step": "hand_over"})
    own.counters["new"] = new
    own.counters["rows"] = sum(file.rows for file in files)
    own.counters["forgotten"] = before + new - own.counters["rows"]
    own.finished_ms = clock.now_ms()
    transaction.publish(files, own, buckets=slices.buckets, keep=KEEP)
    for name, count in own.counters.items():
        report.details.setdefault("hand_over", {})[f"{cache.table.name}_{name}"] = count
