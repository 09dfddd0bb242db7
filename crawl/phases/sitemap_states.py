"""What became of each host's sitemaps: the dataset `sitemaps` of a crawl, from which updatehostdb
tells of them.

It is published once the CrawlDb has their URLs: a job that dies in between has told nothing, and
the next one tells anew. No crawl fails for it, as for the caches of `hand_over.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from crawl.buckets.bucket_files import BucketTarget
from crawl.buckets.exchange import Outbox
from crawl.buckets.hand_over import newest_answer
from crawl.buckets.runner import Runner
from crawl.buckets.sitemap.values import SiteState
from crawl.buckets.slices import Router, Slices
from crawl.buckets.table_merge import MergeJob, send_delta
from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import Locked, StorageError
from crawl.model.report import Report
from crawl.model.tables import SITEMAPS
from crawl.phases.hand_over import KEEP, begin_anew
from crawl.phases.table_merge import merge_table
from crawl.storage.crawl_dir import CrawlDir

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SiteStates:
    """Publishes what a job has found of the sitemaps of sites."""

    runner: Runner
    crawl_dir: CrawlDir
    config: Config
    clock: Clock
    report: Report
    buckets: int
    """For a dataset that is new."""
    force: bool = False

    def publish(self, states: Mapping[str, SiteState]) -> bool:
        """Makes them the last that is known of these sites; whether it could be done."""
        if not states:
            return True
        rows = _rows(states, self.report.started_ms)
        try:
            self._publish(rows)
        except Locked as error:
            _log.warning("%s; what became of sitemaps is not kept", error)
            return False
        except StorageError as error:
            _log.warning("%s; what is known of sitemaps is begun anew", error)
            try:
                dataset = self.crawl_dir.dataset(SITEMAPS)
                begin_anew(dataset, self.report.phase, self.config, self.clock, force=self.force)
                self._publish(rows)
            except StorageError as again:
                _log.warning("%s; what became of sitemaps is not kept", again)
                return False
        return True

    def _publish(self, rows: pa.Table) -> None:
        dataset, phase = self.crawl_dir.dataset(SITEMAPS), self.report.phase
        with self.crawl_dir.writing(
            dataset, phase, self.config, self.clock, force=self.force
        ) as transaction:
            buckets = transaction.base.buckets if transaction.base else self.buckets
            slices = Slices.of(transaction.base, buckets)
            step = f"{phase}: states"
            sent = self.runner.exchange(
                partial(_send_states, slices.router), [rows], len(slices), step
            )
            target = BucketTarget(SITEMAPS, transaction.folder, transaction.place)
            files = merge_table(sent, MergeJob(target, newest_answer), slices, step)
            report = Report(
                phase, self.report.started_ms, self.report.settings_digest, {"step": "states"}
            )
            report.counters["new"] = rows.num_rows
            report.counters["rows"] = sum(file.rows for file in files)
            report.finished_ms = self.clock.now_ms()
            transaction.publish(files, report, buckets=buckets, keep=KEEP)


def _send_states(router: Router, rows: pa.Table, outbox: Outbox) -> None:
    send_delta(SITEMAPS, rows, router, outbox)


def _rows(states: Mapping[str, SiteState], asked_ms: int) -> pa.Table:
    found = [
        {
            "host": host,
            "asked_at": asked_ms,
            "read": state.read,
            "failed": state.failed,
            "urls": state.urls,
            "trouble": state.trouble,
        }
        for host, state in states.items()
    ]
    return pa.Table.from_pylist(found, SITEMAPS.schema)
