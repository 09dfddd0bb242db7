from __future__ import annotations

from crawl.clock import SystemClock
from crawl.counters import Counters
from crawl.facade.arguments import check_whole_number
from crawl.facade.base import Handle
from crawl.facade.results import GarbageResult, PhaseResult


class Maintenance(Handle):
    """What changes a crawl without crawling."""

    def rollback(self, to: int | None = None, *, steal_lock: bool = False) -> PhaseResult:
        """Makes an older state of the CrawlDb the current one: the one before, or number `to`.
        Nothing is deleted, and rolling forward is the same call.

            >>> web.rollback().snapshot
        """
        from crawl.phases.rollback.run import roll_back

        with self._working():
            check_whole_number("to", to)
            snapshot, remark = roll_back(
                self._directory, self._config, SystemClock(), to, steal_lock=steal_lock
            )
        return PhaseResult(
            "rollback",
            Counters(urls=snapshot.rows),
            {},
            snapshot=snapshot.number,
            db_urls=snapshot.rows,
            remarks=(remark,) if remark else (),
        )

    def gc(self, keep: int | None = None, *, steal_lock: bool = False) -> GarbageResult:
        """Forgets old snapshots of the CrawlDb, and deletes the files that no kept one names.

        >>> web.gc(keep=1).counters["files_deleted"]
        """
        from crawl.phases.gc.run import collect_garbage

        with self._working():
            check_whole_number("keep", keep)
            done = collect_garbage(
                self._directory, self._config, SystemClock(), keep, steal_lock=steal_lock
            )
        counters = Counters(
            snapshots_forgotten=len(done.forgotten),
            snapshots_kept=len(done.kept),
            files_deleted=done.files_deleted,
        )
        return GarbageResult(
            "gc",
            counters,
            {},
            snapshot=done.kept[-1],
            remarks=(done.took_over,) if done.took_over else (),
            forgotten=done.forgotten,
            kept=done.kept,
        )
