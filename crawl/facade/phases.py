"""The phases as methods: fetch and parse.

Each checks its settings, the segments it is to work on and the lock before Spark starts; the
command line calls the same methods.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.prechecks import require_segments, require_unlocked
from crawl.facade.arguments import (
    check_text,
    check_whole_number,
)
from crawl.facade.base import Handle
from crawl.facade.results import Interrupted, PhaseResult, phase_result
from crawl.spark.runners import JVMDied


class Phases(Handle):
    """The phases of a crawl."""

    def fetch(
        self,
        segment: str | None = None,
        *,
        threads: int | None = None,
        more_rounds: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Fetches a segment politely: the named one, or the oldest that is not fetched yet.
        `more_rounds`: a further round follows, so that a few slow hosts need not be waited for
        (fetcher.tail.cut).

        An interrupt (Ctrl-C, or the kernel's) stops it gracefully before KeyboardInterrupt is
        raised: what is fetched is kept, and the same call resumes it.

            >>> web.fetch().counters["records"]
        """
        from crawl.fetcher.task import STOP
        from crawl.operations.interrupt import sigterm_interrupts, stop_on_signal
        from crawl.phases.fetch import run as fetch
        from crawl.phases.fetch.run import FetchOptions

        with self._working():
            check_text("segment", segment)
            check_whole_number("threads", threads)
            config = _with_threads(self._config, threads)
            fetch.check(config)
            require_segments(self._directory, (segment,) if segment else ())
            chosen = fetch.choose(self._directory, segment)
            require_unlocked(chosen.folder, config, steal_lock=steal_lock)
            require_unlocked(self._directory.fetching_folder, config, steal_lock=steal_lock)
            options = FetchOptions(chosen.name, steal_lock, more_rounds)
            displays = self._hooks.displays()
            interrupted: Callable[[], bool] = bool  # not yet
            try:
                with (
                    sigterm_interrupts(),
                    self._runner(quiet=True) as runner,
                    stop_on_signal(
                        lambda: chosen.folder.write(STOP, b""), "fetch", displays.notice
                    ) as interrupted,
                    displays.fetch(chosen),
                ):
                    done = fetch.run(
                        runner, self._directory, config, options, SystemClock(), interrupted
                    )
            except JVMDied as error:
                self._drop_session()
                died = error.followed_by("fetched pages are kept, run the same command to resume")
                if not interrupted():
                    raise died from error
                # by the same signal, which was sent to all processes at once
                raise Interrupted(str(died)) from error
        result = phase_result(
            done.report,
            segments=(done.segment,),
            complete=done.complete,
            remarks=(*done.remarks, done.took_over),
        )
        if interrupted():
            raise Interrupted("interrupted", result)
        return result

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
        from crawl.phases.parse.run import ParseOptions
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
