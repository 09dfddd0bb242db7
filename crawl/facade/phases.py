"""The phases as methods."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from crawl.clock import SystemClock
from crawl.errors import UsageError
from crawl.facade.base import Handle
from crawl.facade.results import PhaseResult, RunResult
from crawl.fetcher.part import STOP
from crawl.model.report import Report
from crawl.phases import fetch, generate, inject, parse, rebucket, updatedb
from crawl.phases.fetch import FetchOptions
from crawl.phases.generate import GenerateOptions
from crawl.phases.inject import InjectOptions
from crawl.phases.parse import ParseOptions
from crawl.phases.snapshots import collect_garbage, roll_back
from crawl.phases.updatedb import UpdateOptions
from crawl.rounds import LoopOptions, RoundOptions, Step, StopReason
from crawl.rounds.interrupt import stop_on_signal
from crawl.rounds.loop import check as check_rounds
from crawl.rounds.loop import round_options
from crawl.rounds.on_spark import run_rounds
from crawl.rounds.results import RoundResult
from crawl.storage.checking import check
from crawl.storage.repair import repair
from crawl.storage.segments import CONTENT, Segment
from crawl.urls.resolve import system_resolver

_log = logging.getLogger("crawl")
_TOP_N = RoundOptions().top_n


class Phases(Handle):
    """Everything that changes a crawl."""

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
        force: bool = False,
    ) -> PhaseResult:
        """Puts URLs into the CrawlDb, making it if need be. A URL may be followed by
        TAB-separated `key=value` pairs, as in a seed file; `files` names such files or folders.

            >>> web.inject(["https://example.org/", "https://example.com/\\tnutch.score=2"])
            >>> web.inject(files="seeds.txt")
        """
        with self._working(), self._seeds(urls, files) as seeds:
            options = InjectOptions(
                seeds,
                overwrite=overwrite,
                update=update,
                filter=filter,
                normalize=normalize,
                filter_normalize_all=filter_normalize_all,
                force=force,
            )
            inject.check(self._config, options)
            self._directory.require_writable()
            with self._runner() as runner:
                done = inject.run(runner, self._directory, self._config, options, SystemClock())
        return _result(done.report, snapshot=done.snapshot.number, remarks=(done.took_over,))

    def generate(
        self,
        *,
        top_n: int | None = None,
        num_fetchers: int | None = None,
        max_num_segments: int | None = None,
        add_days: float = 0.0,
        filter: bool | None = None,
        normalize: bool | None = None,
        force: bool = False,
    ) -> PhaseResult:
        """Selects the due URLs with the highest scores into new segments; none where nothing
        is due.

            >>> web.generate(top_n=1000).segments
        """
        with self._working():
            self._directory.require_crawldb()
            options = GenerateOptions(
                top_n=top_n,
                num_fetchers=num_fetchers or self._cores(),
                max_num_segments=max_num_segments,
                add_days=add_days,
                filter=filter,
                normalize=normalize,
                force=force,
            )
            generate.check(self._config, options)
            with self._runner() as runner:
                done = generate.run(
                    *(runner, self._directory, self._config, options, SystemClock()),
                    resolver=system_resolver,
                )
        return _result(done.report, segments=done.segments, remarks=(done.took_over,))

    def fetch(self, segment: str | None = None, *, force: bool = False) -> PhaseResult:
        """Fetches a segment politely: the named one, or the oldest that is not fetched yet.

        An interrupt (Ctrl-C, or the kernel's) ends it in good order before KeyboardInterrupt is
        raised: what is fetched is kept, and the same call goes on with the rest.

            >>> web.fetch().counters["records"]
        """
        with self._working():
            fetch.check(self._config)
            chosen = fetch.choose(self._directory, segment)
            options = FetchOptions(chosen.name, force)
            clock = SystemClock()
            with (
                self._runner(quiet=True) as runner,
                stop_on_signal(partial(_ask_to_stop, chosen), "fetch", _log.info) as interrupted,
                self._displays.fetch(chosen),
            ):
                done = fetch.run(runner, self._directory, self._config, options, clock, interrupted)
            if interrupted():
                raise KeyboardInterrupt
        return _result(
            done.report,
            segments=(done.segment,),
            complete=done.complete,
            remarks=(done.took_over,),
        )

    def parse(
        self,
        segment: str | None = None,
        *,
        reparse: bool = False,
        filter: bool = True,
        normalize: bool = True,
        force: bool = False,
    ) -> PhaseResult:
        """Finds text, data and links in a fetched segment: the named one, or the oldest that is
        not parsed yet.

            >>> web.parse().counters["outlinks_kept"]
        """
        with self._working():
            parse.check(self._config)
            chosen = parse.choose(self._directory, segment, reparse=reparse)
            options = ParseOptions(chosen.name, reparse, filter, normalize, force)
            pages = chosen.require(CONTENT).rows
            with (
                self._runner(rows=pages, quiet=True) as runner,
                self._displays.parse(chosen),
            ):
                done = parse.run(runner, self._directory, self._config, options, SystemClock())
        return _result(done.report, segments=(done.segment,), remarks=(done.took_over,))

    def updatedb(
        self,
        segments: Iterable[str] = (),
        *,
        additions: bool | None = None,
        filter: bool | None = None,
        normalize: bool | None = None,
        force: bool = False,
    ) -> PhaseResult:
        """Takes what segments brought into the CrawlDb: the named ones, or all that are parsed
        and not in it yet.

            >>> web.updatedb().counters["urls_new"]
        """
        with self._working():
            options = UpdateOptions(
                _names(segments),
                additions=additions,
                filter=filter,
                normalize=normalize,
                force=force,
            )
            updatedb.check(self._config, options)
            with self._runner() as runner:
                done = updatedb.run(runner, self._directory, self._config, options, SystemClock())
        return _result(
            done.report,
            snapshot=done.snapshot.number,
            segments=done.segments,
            remarks=(*done.remarks, done.took_over),
        )

    def run(
        self,
        *,
        rounds: int | None = None,
        until_empty: bool = False,
        urls: Iterable[str] = (),
        files: Iterable[str | Path] | str | Path = (),
        top_n: int = _TOP_N,
        num_fetchers: int | None = None,
        threads: int | None = None,
        time_limit_min: float | None = None,
        wait: str | None = None,
        force: bool = False,
    ) -> RunResult:
        """Crawls in rounds of generate, fetch, parse and updatedb; one, unless told otherwise.

        A round that was interrupted is finished first. `until_empty`: any number of rounds,
        until nothing is due; `wait` ("10m"): look again after that time where nothing is.
        `urls` and `files` are injected first, as `inject` does.

            >>> web.run(rounds=2).rounds[0].fetched
        """
        loop = LoopOptions.of(rounds, wait, until_empty=until_empty)
        with self._working(), self._seeds(urls, files) as seeds:
            if not seeds:
                self._directory.require_crawldb()
            options = round_options(
                self._config,
                top_n=top_n,
                num_fetchers=num_fetchers,
                threads=threads,
                time_limit_min=time_limit_min,
            )
            check_rounds(self._config, options, seeds)
            self._directory.require_writable()
            self._spark()
            done = run_rounds(
                *(self._spark_options, self._directory, self._config, options, loop),
                seeds=seeds,
                observer=_Logged(),
                displays=self._displays,
                force=force,
            )
        if done.ending is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        return RunResult(done.ending.name.lower(), done.rounds)

    def rebucket(self, buckets: int, *, force: bool = False) -> PhaseResult:
        """Gives a grown CrawlDb more buckets: a multiple of the present number.

        >>> web.rebucket(64).snapshot
        """
        with self._working():
            rebucket.check(self._directory.require_crawldb(), buckets)
            with self._runner() as runner:
                snapshot = rebucket.run(
                    runner, self._directory, self._config, buckets, SystemClock(), force=force
                )
        return PhaseResult("rebucket", {"urls": snapshot.rows}, {}, snapshot=snapshot.number)

    def rollback(self, to: int | None = None, *, force: bool = False) -> PhaseResult:
        """Makes an older state of the CrawlDb the current one: the one before, or number `to`.
        Nothing is deleted, and rolling forward is the same call.

            >>> web.rollback().snapshot
        """
        with self._working():
            snapshot, remark = roll_back(
                self._directory, self._config, SystemClock(), to, force=force
            )
        counters = {"urls": snapshot.rows}
        return PhaseResult(
            "rollback", counters, {}, snapshot=snapshot.number, remarks=_lines(remark)
        )

    def gc(self, keep: int | None = None, *, force: bool = False) -> PhaseResult:
        """Forgets old snapshots of the CrawlDb, and deletes the files that no kept one names.

        >>> web.gc(keep=1).counters["files_deleted"]
        """
        with self._working():
            collected = collect_garbage(
                self._directory, self._config, SystemClock(), keep, force=force
            )
        counters = {
            "snapshots_forgotten": len(collected.forgotten),
            "snapshots_kept": len(collected.kept),
            "files_deleted": collected.files_deleted,
        }
        return PhaseResult(
            "gc", counters, {}, snapshot=collected.kept[-1], remarks=_lines(collected.took_over)
        )

    def repair(self, *, deep: bool = False, force: bool = False) -> list[str]:
        """Goes back to the newest whole state; what is damaged goes to the folder `quarantine`
        of the crawl, and nothing is deleted. Says what was done, a line each.

            >>> web.repair()
        """
        with self._working():
            found = check(self._directory, deep=deep)
            if not found.faults:
                return []
            return repair(self._directory, found, self._config, SystemClock(), force=force)

    @contextmanager
    def _seeds(
        self, urls: Iterable[str], files: Iterable[str | Path] | str | Path
    ) -> Iterator[tuple[str, ...]]:
        """The seed files to inject; URLs that were given become one in the crawl's folder, where
        every executor can read it, for as long as the block runs."""
        paths = [str(files)] if isinstance(files, str | Path) else [str(path) for path in files]
        lines = _seed_lines(urls)
        if not lines:
            yield tuple(paths)
            return
        name = f".seeds-{uuid.uuid4().hex[:8]}.txt"
        folder = self._directory.folder
        folder.write(name, "".join(f"{line}\n" for line in lines).encode())
        try:
            yield (*paths, folder.path(name))
        finally:
            folder.delete(name)


def _seed_lines(urls: Iterable[str]) -> list[str]:
    if isinstance(urls, str):
        urls = [urls]
    lines = []
    for url in urls:
        if not isinstance(url, str):
            raise UsageError(f"a URL is a text, not {url!r}; seed files go by `files=`")
        if "://" not in url:
            raise UsageError(f"{url!r} is no URL; seed files go by `files=`")
        if "\n" in url or "\r" in url:
            raise UsageError(f"{url!r}: a URL has no line break in it")
        lines.append(url)
    return lines


class _Logged:
    """Tells Python's logging how the rounds go."""

    def on_step(self, step: Step, segments: tuple[str, ...]) -> None:
        _log.info("%s %s", step.name, " ".join(segments))

    def on_remark(self, step: Step, line: str) -> None:
        _log.warning("%s: %s", step.name, line)

    def on_round(self, done: RoundResult) -> None:
        _log.info("round %d: %d fetched, %d new", done.number, done.fetched, done.new)

    def on_wait(self, seconds: float) -> None:
        _log.info("nothing to fetch now; looking again in %.0f s", seconds)


def _ask_to_stop(segment: Segment) -> None:
    segment.folder.write(STOP, b"")


def _names(segments: Iterable[str]) -> tuple[str, ...]:
    return (segments,) if isinstance(segments, str) else tuple(segments)


def _lines(*lines: str | None) -> tuple[str, ...]:
    return tuple(line for line in lines if line)


def _result(
    report: Report,
    *,
    snapshot: int | None = None,
    segments: tuple[str, ...] = (),
    complete: bool = True,
    remarks: tuple[str | None, ...] = (),
) -> PhaseResult:
    return PhaseResult(
        report.phase,
        dict(report.counters),
        dict(report.durations_s),
        snapshot,
        segments,
        complete,
        _lines(*remarks),
        report.as_dict(),
    )
