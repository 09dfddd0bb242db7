"""The LinkDb as methods: invertlinks, mergelinkdb and inlinks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from crawl.clock import SystemClock
from crawl.driver.prechecks import require_segments, require_unlocked
from crawl.facade.arguments import check_text, file_paths, segment_names
from crawl.facade.base import Handle
from crawl.facade.results import PhaseResult, phase_result


class Links(Handle):
    """Who links to whom."""

    def invertlinks(
        self,
        segments: Iterable[str] = (),
        *,
        normalize: bool = True,
        filter: bool = True,
        again: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Takes the links of parsed segments into the LinkDb, turned around: the named ones, or
        all that are parsed and not in it yet. `again`: also named ones that are in it.

            >>> web.invertlinks().counters["links_kept"]
        """
        from crawl.phases.invertlinks import run as invertlinks
        from crawl.phases.invertlinks.linkdb import linkdb_of
        from crawl.phases.invertlinks.run import InvertLinksOptions

        with self._working():
            options = InvertLinksOptions(
                segment_names(segments),
                normalize=normalize,
                filter=filter,
                again=again,
                steal_lock=steal_lock,
            )
            invertlinks.check(self._config, options)
            require_segments(self._directory, options.segments)
            invertlinks.choose(self._directory, options)
            self._directory.require_writable()
            require_unlocked(linkdb_of(self._directory).folder, self._config, steal_lock=steal_lock)
            with self._runner() as runner:
                done = invertlinks.run(
                    runner, self._directory, self._config, options, SystemClock()
                )
        return phase_result(
            done.report,
            snapshot=done.linkdb.number,
            segments=done.segments,
            remarks=(*done.remarks, done.took_over),
        )

    def mergelinkdb(
        self,
        others: Iterable[str | Path] | str | Path,
        *,
        normalize: bool = False,
        filter: bool = False,
        rebucket: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Takes the LinkDbs of other crawls into this one's, which is made if need be.
        `rebucket`: also those of another number of buckets.

            >>> web.mergelinkdb(["crawl-2025"]).counters["links_kept"]
        """
        from crawl.phases.invertlinks.linkdb import linkdb_of
        from crawl.phases.mergelinkdb import run as mergelinkdb
        from crawl.phases.mergelinkdb.run import MergeLinkDbOptions

        with self._working():
            options = MergeLinkDbOptions(
                file_paths(others),
                normalize=normalize,
                filter=filter,
                rebucket=rebucket,
                steal_lock=steal_lock,
            )
            mergelinkdb.check(self._directory, self._config, options)
            self._directory.require_writable()
            require_unlocked(linkdb_of(self._directory).folder, self._config, steal_lock=steal_lock)
            with self._runner() as runner:
                done = mergelinkdb.run(
                    runner, self._directory, self._config, options, SystemClock()
                )
        return phase_result(
            done.report, snapshot=done.linkdb.number, remarks=(*done.remarks, done.took_over)
        )

    def inlinks(self, url: str) -> list[dict[str, Any]]:
        """The pages that link to a URL, with the texts of their links, best-scored first; from a
        LinkDb of any size.

            >>> [link["anchor"] for link in web.inlinks("https://example.org/")]
        """
        from crawl.readers.readlinkdb.inlinks import inlinks_of

        with self._working():
            check_text("url", url)
            found = inlinks_of(self._directory, url, self._config)
        links: list[dict[str, Any]] = [] if found is None else found["inlinks"]
        return links
