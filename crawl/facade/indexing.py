"""Indexing as methods: index and clean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from crawl.clock import SystemClock
from crawl.driver.prechecks import require_segments, require_unlocked
from crawl.errors import NothingToDo, UsageError
from crawl.facade.arguments import check_whole_number, segment_names
from crawl.facade.base import Handle
from crawl.facade.results import IndexingResult, indexing_result


class Indexing(Handle):
    """The crawl's way into index writers (`index.writers`)."""

    def index(
        self,
        segments: Iterable[str] = (),
        *,
        every: bool = False,
        since: int | None = None,
        crawldb: bool = True,
        delete_gone: bool | None = None,
        filter: bool = False,
        binary_content: bool = False,
        base64: bool = False,
        params: Mapping[str, str] | None = None,
        commit: bool = True,
        rebuild: bool = False,
        steal_lock: bool = False,
    ) -> IndexingResult:
        """Makes documents of pages and gives them to the index writers: those of the named
        segments, or of all that are parsed and not indexed yet; of `every` segment; or of those
        that the CrawlDb has taken in `since` a snapshot. `delete_gone`: documents of pages that
        are gone, redirected or duplicates are deleted.

            >>> web.index(delete_gone=True).documents
        """
        from crawl.model.derived_tables import INDEX
        from crawl.phases.index import run as index
        from crawl.phases.index.choice import IndexOptions, choose
        from crawl.rounds.derived import behind_lines

        with self._working():
            check_whole_number("since", since, least=0)
            options = IndexOptions(
                segment_names(segments),
                every=every,
                since=since,
                crawldb=crawldb,
                delete_gone=delete_gone,
                filter=filter,
                binary=binary_content,
                base64=base64,
                parameters=_texts(params),
                commit=commit,
                rebuild=rebuild,
                steal_lock=steal_lock,
            )
            specs = index.check(self._config, options)
            lacking = behind_lines(self._directory, ("invertlinks", "scoreupdater", "dedup"))
            if crawldb:
                self._directory.require_crawldb()
            require_segments(self._directory, options.segments)
            try:
                choose(self._directory, options, specs)
            except NothingToDo:
                settled = index.settle(self._directory, self._config, options, SystemClock())
                if settled is None:
                    raise
                done = settled
            else:
                self._directory.require_writable()
                folder = self._directory.dataset(INDEX).folder
                require_unlocked(folder, self._config, steal_lock=steal_lock)
                with self._runner() as runner:
                    done = index.run(runner, self._directory, self._config, options, SystemClock())
        return indexing_result(
            done.report,
            number=done.number,
            documents=done.documents,
            segments=done.segments,
            remarks=(*done.remarks, *lacking, done.took_over),
        )

    def clean(
        self,
        *,
        params: Mapping[str, str] | None = None,
        commit: bool = True,
        steal_lock: bool = False,
    ) -> IndexingResult:
        """Deletes the documents of pages that are gone, redirected, duplicates, orphans, or no
        longer in the CrawlDb from every index writer.

            >>> web.clean().documents
        """
        from crawl.model.derived_tables import INDEX
        from crawl.phases.clean import run as clean
        from crawl.phases.clean.run import CleanOptions
        from crawl.rounds.derived import behind_lines

        with self._working():
            options = CleanOptions(_texts(params), commit, steal_lock)
            specs = clean.check(self._config, options)
            lacking = behind_lines(self._directory, ("dedup",))
            self._directory.require_crawldb()
            clean.require_index(self._directory, specs)
            folder = self._directory.dataset(INDEX).folder
            require_unlocked(folder, self._config, steal_lock=steal_lock)
            with self._runner() as runner:
                done = clean.run(runner, self._directory, self._config, options, SystemClock())
        return indexing_result(
            done.report,
            number=done.number,
            documents=done.documents,
            remarks=(*done.remarks, *lacking, done.took_over),
        )


def _texts(params: Mapping[str, str] | None) -> dict[str, str]:
    found = dict(params or {})
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UsageError(f"params: expected texts by name, got {name!r}: {value!r}")
    return found
