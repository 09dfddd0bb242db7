"""What became of each host's sitemaps: the dataset `sitemaps` of a crawl, from which updatehostdb
tells of them.

It is published once the CrawlDb has their URLs: a job that dies in between has told nothing, and
the next one tells anew. Its files are written before, as what the tasks left between their steps
is gone then. No crawl fails for it, as for the caches of `hand_over.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from crawl.driver.merge_table import merge_table
from crawl.driver.phase_run import PhaseRun
from crawl.errors import Locked, StorageError
from crawl.model.report import Report
from crawl.model.tables import SITEMAPS
from crawl.phases.fetch.hand_over import KEEP, begin_anew
from crawl.phases.fetch.tasks import newest_answer
from crawl.phases.sitemap.tasks.scratch_files import joined_states, send_states
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.tables.table_merge import MergeJob

_log = logging.getLogger(__name__)
_NOT_KEPT = "%s; what became of sitemaps is not kept"


@dataclass(frozen=True, slots=True)
class SiteStates:
    """Publishes what a job has found of the sitemaps of sites."""

    runner: Runner
    phase: PhaseRun
    buckets: int
    """For a dataset that is new."""

    def merge(self, scratch: Folder, files: Sequence[str], held: ExitStack) -> Callable[[], object]:
        """Merges what the tasks have written into what is known of these sites; what it returns
        makes that known. The dataset's lock is `held` until then."""
        try:
            try:
                return self._merge(scratch, files, held) if files else _publish_nothing
            except Locked:
                raise
            except StorageError as error:
                _log.warning("%s; what is known of sitemaps is begun anew", error)
                phase, dataset = self.phase, self.phase.crawl_dir.dataset(SITEMAPS)
                command, steal_lock = phase.report.phase, phase.steal_lock
                begin_anew(dataset, command, phase.config, phase.clock, steal_lock=steal_lock)
                return self._merge(scratch, files, held)
        except StorageError as error:
            _log.warning(_NOT_KEPT, error)
            return _publish_nothing

    def _merge(
        self, scratch: Folder, files: Sequence[str], held: ExitStack
    ) -> Callable[[], object]:
        phase = self.phase
        with ExitStack() as locked:
            dataset = phase.crawl_dir.dataset(SITEMAPS)
            transaction = locked.enter_context(phase.writing(dataset))
            buckets = transaction.base.buckets if transaction.base else self.buckets
            slices, step = Slices.of(transaction.base, buckets), f"{phase.report.phase}: states"
            send = partial(send_states, scratch, slices.router)
            sent = self.runner.exchange(send, files, len(slices), step)
            target = BucketTarget(SITEMAPS, transaction.folder, transaction.place)
            job = MergeJob(target, newest_answer, join=joined_states)
            merged = merge_table(sent, job, slices, step)
            held.enter_context(locked.pop_all())
        new_count = int(sent.row_counts().sum())
        return partial(self._publish, transaction, merged, buckets, new_count)

    def _publish(
        self, transaction: Transaction, files: Sequence[BucketFile], buckets: int, new_count: int
    ) -> None:
        whole = self.phase.report
        options = {"step": "states"}
        report = Report(whole.phase, whole.started_ms, whole.settings_digest, options)
        report.counters["new"] = new_count
        report.counters["rows"] = sum(file.rows for file in files)
        report.finished_ms = self.phase.clock.now_ms()
        try:
            transaction.publish(files, report, buckets=buckets, keep=KEEP)
        except StorageError as error:
            _log.warning(_NOT_KEPT, error)


def _publish_nothing() -> None:
    """Nothing was found, or it could not be kept."""
