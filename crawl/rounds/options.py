"""What can be asked of run.

Airflow reads the declarations, for the parameters of its DAG (scripts/dags/nutria_crawl.py), where
nothing else of the crawler is installed: besides msgspec, only what docker/Dockerfile copies there
may be imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.clock import MAX_LOOK_DAYS
from crawl.errors import UsageError
from crawl.operations.options import Face, NumFetchers, Positive, StealLock, option, selector
from crawl.rounds.steps import (
    AFTER_ROUNDS,
    UNBOUNDED,
    LoopOptions,
    RoundOptions,
    after_steps,
    parse_wait,
)

_USUAL = RoundOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of run."""

    urls: Annotated[
        tuple[str, ...], option("URLs to inject first, as `inject` does.", faces=Face.API)
    ] = ()
    files: Annotated[
        tuple[str, ...],
        option(
            "Seed file or folder to inject first (repeatable).", "-s", "--seeds", metavar="PATH"
        ),
    ] = ()
    rounds: Annotated[
        Annotated[int, Meta(ge=UNBOUNDED)] | None,
        option("At most this many; -1: any number (default: 1)."),
    ] = None
    until_empty: Annotated[bool, option("Any number of rounds, until nothing is due now.")] = False
    top_n: Annotated[
        Positive, option("At most this many URLs per round.", "--size-fetchlist", "--top-n")
    ] = _USUAL.top_n
    num_fetchers: NumFetchers = None
    threads: Annotated[
        Positive | None,
        option(
            f"Threads per task (default: the configuration's, else {_USUAL.threads}).",
            "--num-threads",
            "--threads",
        ),
    ] = None
    time_limit_min: Annotated[
        float | None,
        option(
            "Minutes that one fetch may take; what is left stays due; -1: any (default: the"
            f" configuration's, else {_USUAL.time_limit_min:g}).",
            "--time-limit-fetch",
            metavar="MINUTES",
        ),
    ] = None
    add_days: Annotated[
        Annotated[float, Meta(ge=0, le=MAX_LOOK_DAYS)],
        option("Fetch also what becomes due within this many days, each URL once.", metavar="N"),
    ] = 0.0
    wait: Annotated[
        str | None,
        option(
            "Where nothing is due, look again after this time (30s, 10m, 2h, 1d), or as soon as a"
            " host in backoff may be asked again.",
            "-w",
            "--wait",
            metavar="TIME",
        ),
    ] = None
    overlap: Annotated[
        bool | None,
        option(
            "With --until-empty or --rounds -1: parse, updatedb and generate while the next list is"
            " fetched (default: crawl.rounds.overlap).",
            "--overlap/--no-overlap",
        ),
    ] = None
    then: Annotated[
        tuple[str, ...],
        option(
            "What follows the rounds: "
            + ", ".join(step.name for step in AFTER_ROUNDS)
            + ". With --wait it follows each of them.",
            metavar="STEP[,STEP]",
            commas=True,
        ),
    ] = ()
    steal_lock: StealLock = False

    def loop(self) -> LoopOptions:
        """How many rounds are run, and what follows them; UsageError where that cannot be meant.
        Rounds that wait for what becomes due have no end before which each URL is fetched once, so
        that they cannot look ahead."""
        if self.add_days and self.wait is not None:
            raise UsageError(
                "--add-days and --wait exclude each other: a crawl that waits fetches pages when"
                " they are due, which db.fetch.interval.default says"
            )
        if self.until_empty and (self.wait is not None or self.rounds is not None):
            raise UsageError(
                "--until-empty is any number of rounds without a wait: leave the others"
            )
        steps = after_steps(self.then)
        if self.rounds == 0:
            raise UsageError("--rounds: give a number from 1 on, or -1 for any number")
        rounds = UNBOUNDED if self.until_empty else self.rounds or 1
        return LoopOptions(rounds, None if self.wait is None else parse_wait(self.wait), steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions(RunOptions):
    """The options of a plan of rounds: those of run."""

    dry_run: Annotated[bool, selector("Show what would be done, and do nothing.")] = False
