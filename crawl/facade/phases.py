"""The phases as methods: fetch and parse.

Each checks its settings, the segments it is to work on and the lock before Spark starts; the
command line calls the same methods.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.prechecks import require_segments, require_unlocked
from crawl.facade.arguments import (
    check_text,
)
from crawl.facade.base import Handle
from crawl.facade.results import PhaseResult, phase_result


class Phases(Handle):
    """The phases of a crawl."""

    def parse(
        self,
        segment: str | None = None,
        *,
        reparse: bool = False,
        filter: bool = True,
        normalize: bool = True,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Finds text, data and links in a fetched segment: the named one, or the oldest that is
        not parsed yet.

            >>> web.parse().counters["outlinks_kept"]
        """
        from crawl.phases.parse import run as parse
        from crawl.phases.parse.options import ParseOptions
        from crawl.storage.segments import CONTENT

        with self._working():
            check_text("segment", segment)
            parse.check(self._config)
            require_segments(self._directory, (segment,) if segment else ())
            chosen = parse.choose(self._directory, segment, reparse=reparse)
            self._directory.require_writable()
            require_unlocked(chosen.folder, self._config, steal_lock=steal_lock)
            options = ParseOptions(chosen.name, reparse, filter, normalize, steal_lock)
            pages = chosen.require(CONTENT).rows
            with (
                self._runner(rows=pages, quiet=True) as runner,
                self._hooks.displays().parse(chosen),
            ):
                done = parse.run(runner, self._directory, self._config, options, SystemClock())
        return phase_result(
            done.report, segments=(done.segment,), remarks=(*done.remarks, done.took_over)
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


def _with_threads(config: Config, threads: int | None) -> Config:
    if threads is None:
        return config
    return config.with_values({"fetcher.threads.fetch": threads}, "--threads")
