"""Duplicates as a method."""

from __future__ import annotations

from crawl.clock import SystemClock
from crawl.facade.arguments import check_text, check_whole_number
from crawl.facade.base import Handle
from crawl.facade.prechecks import require_unlocked
from crawl.facade.results import DuplicatesResult, reported
from crawl.phases.dedup.rules import DEFAULT_ORDER


class Duplicates(Handle):
    """Finds pages that the crawl has more than once."""

    def dedup(
        self,
        *,
        group: str = "none",
        compare_order: str = DEFAULT_ORDER,
        near: str | None = None,
        canonical: bool = False,
        redirects: bool = False,
        groups: int = 0,
        urls: int = 10,
        preview: int = 0,
        steal_lock: bool = False,
    ) -> DuplicatesResult:
        """Marks records whose page another one has, too (`db_duplicate`), and lifts the mark where
        that is no longer so. `group` looks among pages of one host or domain alone;
        `compare_order` names what decides who survives; `near` ("jaccard=0.95", "hamming=3")
        finds pages that are nearly the same, too, `canonical` heeds what pages say of
        themselves, and `redirects` where they send their readers on; `groups` tells of so many of
        the largest groups, with up to `urls` of the duplicates of each. With `preview` nothing is
        marked: so many of the near duplicates, those that are the least alike first, come with
        their titles and what differs between their texts.

            >>> web.dedup(group="host").counters["duplicates"]
            >>> [group.survivor for group in web.dedup(groups=10).groups]
            >>> [pair.difference.changes for pair in web.dedup(near="jaccard", preview=20).pairs]
        """
        from crawl.phases.dedup import run as dedup
        from crawl.phases.dedup.run import DedupOptions

        with self._working():
            check_text("group", group)
            check_text("compare_order", compare_order)
            check_text("near", near)
            check_whole_number("groups", groups, least=0)
            check_whole_number("urls", urls, least=0)
            check_whole_number("preview", preview, least=0)
            options = DedupOptions(
                group,
                compare_order,
                near,
                canonical,
                redirects,
                groups=groups,
                urls=urls,
                preview=preview,
                steal_lock=steal_lock,
            )
            dedup.check(options)
            self._directory.require_crawldb()
            self._directory.require_writable()
            require_unlocked(self._directory.crawldb.folder, self._config, steal_lock=steal_lock)
            with self._runner() as runner:
                done = dedup.run(runner, self._directory, self._config, options, SystemClock())
        return DuplicatesResult(
            **reported(done.report, remarks=(done.took_over,)),
            snapshot=done.snapshot.number,
            db_urls=done.snapshot.rows,
            groups=done.groups,
            pairs=done.pairs,
        )
