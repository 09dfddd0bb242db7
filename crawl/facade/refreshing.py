"""URLs that are to be fetched anew, as a method: refresh."""

from __future__ import annotations

from collections.abc import Iterable

from crawl.clock import SystemClock
from crawl.driver.prechecks import require_unlocked
from crawl.errors import UsageError
from crawl.facade.base import Handle
from crawl.facade.results import PhaseResult, phase_result


class Refreshing(Handle):
    """Has pages fetched before their time."""

    def refresh(
        self,
        patterns: Iterable[str] | str,
        *,
        gone: bool = False,
        dry_run: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Makes URLs due now: those of a host ("example.org") or of a domain and all hosts below it
        ("*.example.org"), a page ("https://example.org/page"), or all that a pattern means
        ("https://example.org/blog/*"). `gone`: pages that are gone, too. `dry_run`: counts, and
        changes nothing.

            >>> web.refresh("https://example.org/*").counters["made_due"]
            >>> web.refresh(["*.com", "https://example.org/"], dry_run=True).counters["matched"]
        """
        from crawl.phases.refresh import run as refresh
        from crawl.phases.refresh.run import RefreshOptions

        with self._working():
            options = RefreshOptions(_texts(patterns), gone, dry_run, steal_lock)
            refresh.check(self._config, options)
            state = self._directory.require_crawldb()
            if not dry_run:
                self._directory.require_writable()
                require_unlocked(
                    self._directory.crawldb.folder, self._config, steal_lock=steal_lock
                )
            with self._runner(rows=state.rows) as runner:
                done = refresh.run(runner, self._directory, self._config, options, SystemClock())
        return phase_result(
            done.report,
            snapshot=done.snapshot.number,
            db_urls=done.snapshot.rows,
            remarks=(*done.remarks, done.took_over),
        )


def _texts(patterns: Iterable[str] | str) -> tuple[str, ...]:
    try:
        found = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    except TypeError:
        raise UsageError(f"patterns: expected texts, got {patterns!r}") from None
    for each in found:
        if not isinstance(each, str):
            raise UsageError(f"patterns: expected texts, got {each!r}")
    return tuple(dict.fromkeys(found))
