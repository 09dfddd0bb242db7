"""Care of a CrawlDb as methods: rollback, gc and repair."""

from __future__ import annotations

from crawl.clock import SystemClock
from crawl.counters import Counters
from crawl.driver.prechecks import require_folder
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

    def repair(self, *, deep: bool = False, steal_lock: bool = False) -> list[str]:
        """Goes back to the newest whole state; what is damaged goes to the folder `quarantine`
        of the crawl, and nothing is deleted. Says what was done, a line each.

            >>> web.repair()
        """
        from crawl.phases.check.locks import found_locks
        from crawl.phases.check.run import check_crawl, repair_crawl

        with self._working():
            require_folder(self._directory)
            found = check_crawl(self._directory, deep=deep)
            locks = found_locks(self._directory, self._config, SystemClock())
            if not (found.faults or found.leftovers or any(lock.dead for lock in locks)):
                return []
            return repair_crawl(
                self._directory, found, self._config, SystemClock(), steal_lock=steal_lock
            )
