"""Whole rounds as a method: `run`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from crawl.clock import LONGEST_LOOK_DAYS
from crawl.config import Config
from crawl.config.properties import CRAWL_ROUNDS_OVERLAP
from crawl.driver.prechecks import require_unlocked
from crawl.errors import NoSnapshot, UsageError
from crawl.facade.arguments import (
    check_number,
    check_text,
    check_whole_number,
    file_paths,
    seed_lines,
    step_names,
)
from crawl.facade.phases import Phases
from crawl.facade.results import Interrupted, RunResult
from crawl.hints import command
from crawl.rounds import STOP_FILE, UNBOUNDED, LoopOptions, RoundOptions, StopReason
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder

_TOP_N = RoundOptions().top_n


class Rounds(Phases):
    """All phases, one after the other."""

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
        add_days: float = 0.0,
        wait: str | None = None,
        overlap: bool | None = None,
        then: Iterable[str] | str = (),
        steal_lock: bool = False,
    ) -> RunResult:
        """Crawls in rounds of generate, fetch, parse and updatedb; one, unless told otherwise.

        A round that was interrupted is finished first. `until_empty`: any number of rounds,
        until nothing is due; `wait` ("10m"): look again after that time where nothing is.
        `add_days`: also what becomes due within so many days, each URL once.
        `overlap`: any number of rounds whose lists are made while others are fetched (None: as
        crawl.rounds.overlap says). `urls` and `files` are injected first, as `inject` does. `then`:
        what follows the rounds, such as `["invertlinks", "dedup", "index", "clean"]`; with `wait`
        it follows each of them.

            >>> web.run(rounds=2).rounds[0].fetched
            >>> [step.is_done for step in web.run(then=["dedup"]).after]
        """
        from crawl.operations.interrupt import sigterm_interrupts
        from crawl.rounds.on_spark import run_rounds
        from crawl.rounds.results import LoopResult

        with self._working():
            lines, paths = seed_lines(urls), file_paths(files)
            loop, options = prepare_run(
                self._directory,
                self._config,
                seeds=paths or tuple(lines),
                files=paths,
                rounds=rounds,
                until_empty=until_empty,
                top_n=top_n,
                num_fetchers=num_fetchers,
                threads=threads,
                time_limit_min=time_limit_min,
                add_days=add_days,
                wait=wait,
                then=then,
            )
            if self._directory.folder.exists(STOP_FILE):
                return RunResult(StopReason.STOP_FILE.name.lower(), (), is_started=False)
            self._directory.require_writable()
            for folder in self._written_first(options, injects=bool(paths or lines)):
                require_unlocked(folder, self._config, steal_lock=steal_lock)
            with self._seed_files(lines, paths) as seeds:
                try:
                    with sigterm_interrupts():
                        self._spark()
                    done = run_rounds(
                        self._spark_options,
                        self._directory,
                        self._config,
                        options,
                        loop,
                        seeds=seeds,
                        observer=self._hooks.observer(),
                        displays=self._hooks.displays(),
                        overlap=self._config[CRAWL_ROUNDS_OVERLAP] if overlap is None else overlap,
                        steal_lock=steal_lock,
                    )
                except KeyboardInterrupt:
                    done = LoopResult(StopReason.INTERRUPTED, ())
        result = RunResult(
            done.ending.name.lower(),
            done.rounds,
            done.hosts_waiting,
            done.next_host_ms,
            after=done.after,
        )
        if done.ending is StopReason.INTERRUPTED:
            raise Interrupted("interrupted", result)
        return result

    def _written_first(self, options: RoundOptions, *, injects: bool) -> list[Folder]:
        """The folders that the first steps will lock."""
        from crawl.rounds import build_round, next_step
        from crawl.rounds.state import segment_states

        directory = self._directory
        round_ = build_round(options)
        due = next_step(segment_states(directory), round_)
        folders = [directory.crawldb.folder] if injects else []
        if due.step in (round_.fetch, round_.parse):
            folders += [directory.segments.segment(name).folder for name in due.segments]
        return [*(folders or [directory.crawldb.folder]), directory.fetching_folder]


def prepare_run(
    directory: CrawlDir,
    config: Config,
    *,
    seeds: tuple[str, ...],
    files: tuple[str, ...],
    rounds: int | None,
    until_empty: bool,
    top_n: int,
    num_fetchers: int | None,
    threads: int | None,
    time_limit_min: float | None,
    add_days: float,
    wait: str | None,
    then: Iterable[str] | str,
) -> tuple[LoopOptions, RoundOptions]:
    """What a run would do; raises whatever is wrong with it before anything is started.

    `seeds`: what is injected first; `files`: those of them that are files.
    """
    from crawl.rounds.after import check_after
    from crawl.rounds.loop import check, round_options
    from crawl.storage.seeds import plan_seeds

    check_whole_number("rounds", rounds, least=UNBOUNDED)
    check_whole_number("top_n", top_n)
    check_whole_number("num_fetchers", num_fetchers)
    check_whole_number("threads", threads)
    check_number("time_limit_min", time_limit_min)
    check_number("add_days", add_days)
    check_text("wait", wait)
    loop = LoopOptions.of(rounds, wait, until_empty=until_empty, then=step_names(then))
    check_look_ahead(add_days, loop)
    options = round_options(
        config,
        top_n=top_n,
        num_fetchers=num_fetchers,
        threads=threads,
        time_limit_min=time_limit_min,
        add_days=add_days,
    )
    if not seeds and directory.crawldb.current() is None:
        how = command("run", directory.address, "--seeds SEEDS")
        raise NoSnapshot(f"{directory.address} has no CrawlDb yet: start it with `{how}`")
    check(config, options, seeds)
    check_after(loop.then, directory, config)
    if files:
        plan_seeds(list(files))
    return loop, options


def check_look_ahead(add_days: float, loop: LoopOptions) -> None:
    """Raises UsageError where rounds cannot look ahead so far, or by this loop: one that waits for
    what becomes due has no end before which each URL is fetched once."""
    if not 0 <= add_days <= LONGEST_LOOK_DAYS:
        raise UsageError(
            f"--add-days: give a number of days, 0 or more and at most {LONGEST_LOOK_DAYS:,},"
            f" not {add_days:g}"
        )
    if add_days and loop.wait_s is not None:
        raise UsageError(
            "--add-days and --wait exclude each other: a crawl that waits fetches pages when they"
            " are due, which db.fetch.interval.default says"
        )
