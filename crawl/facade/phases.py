"""The phases as methods: inject, sitemap, generate and updatedb.

Each checks its settings, the segments it is to work on and the lock before Spark starts; the
command line calls the same methods.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.prechecks import require_segments, require_unlocked
from crawl.facade.arguments import (
    check_number,
    check_text,
    check_whole_number,
    file_paths,
    seed_lines,
    segment_names,
)
from crawl.facade.base import Handle
from crawl.facade.results import PhaseResult, phase_result
from crawl.storage.crawl_dir import CrawlDir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from crawl.phases.generate.candidates import Bounding, Matching


class Phases(Handle):
    """The phases of a crawl."""

    def inject(
        self,
        urls: Iterable[str] = (),
        *,
        files: Iterable[str | Path] | str | Path = (),
        overwrite: bool = False,
        update: bool = False,
        filter: bool = True,
        normalize: bool = True,
        filter_normalize_all: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Puts URLs into the CrawlDb, making it if need be. A URL may be followed by
        TAB-separated `key=value` pairs, as in a seed file; `files` names such files or folders.

            >>> web.inject(["https://example.org/", "https://example.com/\\tnutch.score=2"])
            >>> web.inject(files="seeds.txt")
        """
        from crawl.phases.inject import run as inject
        from crawl.phases.inject.run import InjectOptions
        from crawl.storage.seeds import plan_seeds

        with self._working():
            lines, paths = seed_lines(urls), file_paths(files)
            options = InjectOptions(
                paths,
                overwrite=overwrite,
                update=update,
                filter=filter,
                normalize=normalize,
                filter_normalize_all=filter_normalize_all,
                steal_lock=steal_lock,
            )
            inject.check(self._config, options)
            if paths or not lines:
                plan_seeds(list(paths))
            self._directory.require_writable()
            require_unlocked(self._directory.crawldb.folder, self._config, steal_lock=steal_lock)
            with self._seed_files(lines, paths) as seeds, self._runner() as runner:
                options = replace(options, seeds=seeds)
                done = inject.run(runner, self._directory, self._config, options, SystemClock())
        return phase_result(
            done.report,
            snapshot=done.snapshot.number,
            db_urls=done.snapshot.rows,
            remarks=(done.took_over,),
        )

    def sitemap(
        self,
        urls: Iterable[str] = (),
        *,
        files: Iterable[str | Path] | str | Path = (),
        hosts: bool | None = None,
        max_hosts: int | None = None,
        num_fetchers: int | None = None,
        filter: bool = True,
        normalize: bool = True,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Puts the URLs that sites list in their sitemaps into the CrawlDb. `urls`, and the lines
        of `files`, are sitemaps or front pages of sites; without any, hosts of the CrawlDb are
        asked, and with them only if `hosts` is true.

            >>> web.sitemap().counters["urls_new"]
            >>> web.sitemap(["https://example.org/sitemap.xml"])
        """
        from crawl.phases.sitemap import run as sitemap
        from crawl.phases.sitemap.run import SitemapOptions

        with self._working():
            check_whole_number("max_hosts", max_hosts, least=-1)
            check_whole_number("num_fetchers", num_fetchers)
            paths = file_paths(files)
            given = (*seed_lines(urls), *sitemap.urls_of_files(paths, self._config))
            options = SitemapOptions(
                given,
                hosts=not given if hosts is None else hosts,
                max_hosts=max_hosts,
                filter=filter,
                normalize=normalize,
                steal_lock=steal_lock,
            )
            sitemap.check(self._config, options)
            if not given:
                self._directory.require_crawldb()
            self._directory.require_writable()
            require_unlocked(self._directory.crawldb.folder, self._config, steal_lock=steal_lock)
            require_unlocked(self._directory.fetching_folder, self._config, steal_lock=steal_lock)
            with self._spark_session() as session, self._runner() as runner:
                tasks = num_fetchers or self._task_slots(session)
                options = replace(options, num_tasks=tasks)
                done = sitemap.run(runner, self._directory, self._config, options, SystemClock())
        return phase_result(
            done.report,
            snapshot=done.snapshot.number,
            db_urls=done.snapshot.rows,
            remarks=(done.took_over,),
        )

    def generate(
        self,
        *,
        top_n: int | None = None,
        num_fetchers: int | None = None,
        max_num_segments: int | None = None,
        add_days: float = 0.0,
        expr: str | None = None,
        filter: bool | None = None,
        normalize: bool | None = None,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Selects the due URLs with the highest scores into new segments; none where nothing
        is due. `expr`: only records for which this Spark SQL condition holds.

            >>> web.generate(top_n=1000).segments
        """
        from crawl.phases.generate import run as generate
        from crawl.phases.generate.shared import GenerateOptions
        from crawl.urls.resolve import system_resolver

        with self._working():
            check_whole_number("top_n", top_n)
            check_whole_number("num_fetchers", num_fetchers)
            check_whole_number("max_num_segments", max_num_segments)
            check_number("add_days", add_days)
            check_text("expr", expr)
            self._directory.require_crawldb()
            options = GenerateOptions(
                top_n=top_n,
                max_num_segments=max_num_segments,
                add_days=add_days,
                expr=expr,
                filter=filter,
                normalize=normalize,
                steal_lock=steal_lock,
            )
            generate.check(self._config, options)
            generate.require_bounds(self._directory, self._config)
            self._directory.require_writable()
            require_unlocked(self._directory.crawldb.folder, self._config, steal_lock=steal_lock)
            with self._spark_session() as session, self._runner() as runner:
                parts = num_fetchers or self._task_slots(session)
                done = generate.run(
                    runner,
                    self._directory,
                    self._config,
                    replace(options, num_fetchers=parts),
                    SystemClock(),
                    resolver=system_resolver,
                    matching=None if expr is None else _matching(session, self._directory, expr),
                    bounding=_bounding(session, self._directory, self._config),
                )
        return phase_result(
            done.report, segments=done.segments, remarks=(*done.remarks, done.took_over)
        )

    def updatedb(
        self,
        segments: Iterable[str] = (),
        *,
        additions: bool | None = None,
        filter: bool | None = None,
        normalize: bool | None = None,
        again: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Takes what segments brought into the CrawlDb: the named ones, or all that are parsed
        and not in it yet.

            >>> web.updatedb().counters["urls_new"]
        """
        from crawl.phases.updatedb import run as updatedb
        from crawl.phases.updatedb.run import UpdateDbOptions

        with self._working():
            options = UpdateDbOptions(
                segment_names(segments),
                additions=additions,
                filter=filter,
                normalize=normalize,
                again=again,
                steal_lock=steal_lock,
            )
            updatedb.check(self._config, options)
            require_segments(self._directory, options.segments)
            updatedb.choose(self._directory, options)
            self._directory.require_writable()
            require_unlocked(self._directory.crawldb.folder, self._config, steal_lock=steal_lock)
            with self._runner() as runner:
                done = updatedb.run(runner, self._directory, self._config, options, SystemClock())
        return phase_result(
            done.report,
            snapshot=done.snapshot.number,
            db_urls=done.snapshot.rows,
            segments=done.segments,
            remarks=(*done.remarks, done.took_over),
        )

    @contextmanager
    def _seed_files(self, lines: list[str], paths: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """The seed files to inject. URLs that were given become one in the crawl's folder, where
        every executor can read it, for as long as the block runs."""
        if not lines:
            yield paths
            return
        name = f".seeds-{uuid.uuid4().hex[:8]}.txt"
        folder = self._directory.folder
        folder.write(name, "".join(f"{line}\n" for line in lines).encode())
        try:
            yield (*paths, folder.path(name))
        finally:
            folder.delete(name)


def _bounding(session: SparkSession, directory: CrawlDir, config: Config) -> Bounding | None:
    """Evaluates what the settings say of hosts by the HostDb's columns."""
    from crawl.phases.generate.tasks.host_bounds import send_values
    from crawl.phases.generate.tasks.selection import host_expressions

    given = host_expressions(config)
    if not given:
        return None
    from crawl.spark.host_bounds import host_bounds

    return host_bounds(session, directory, given, send_values)


def _matching(session: SparkSession, directory: CrawlDir, expr: str) -> Matching:
    """Finds the records for which a Spark SQL condition holds."""
    from crawl.spark.expr import check_expression, matching_rows

    check_expression(session, expr)
    return lambda snapshot, slices: matching_rows(session, directory, snapshot, expr, slices)
