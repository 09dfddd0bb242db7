"""Rounds that look ahead: pages are fetched before they are due, and each of them once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.clock import MAX_LOOK_DAYS
from crawl.config import Config
from crawl.errors import UsageError
from crawl.model.hosts import HostState
from crawl.model.status import Status
from crawl.operations.options import Face, read_options
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.rounds.lanes import Beside
from crawl.rounds.options import RunOptions
from crawl.rounds.overlap import overlapping
from crawl.rounds.steps import (
    UNBOUNDED,
    LoopOptions,
    RoundOptions,
    StopReason,
    build_round,
)
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.host_states import put_host_states
from tests.phases.made import DAY, NOW, datum, make_crawldb, records_of
from tests.phases.scripted_web import PLAYED, Scene
from tests.rounds.test_loop import BELOW, FRONT, Played

MONTH = RoundOptions(num_fetchers=1, threads=2, add_days=31)
"""Longer than the usual interval of 30 days: all that a round has fetched is due again at once."""


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    """A crawl that has fetched all its four pages."""
    crawl = Played(tmp_path)
    crawl.run_rounds(LoopOptions(UNBOUNDED), seeded=True)
    PLAYED[str(tmp_path)].asked.clear()
    crawl.clock.set(NOW + DAY)
    yield crawl
    del PLAYED[str(tmp_path)]


def asked(played: Played) -> Counter[str]:
    return Counter(url for _, url, _ in PLAYED[str(played.seeds.parent)].asked)


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [False, True])
def test_every_page_once_and_then_it_ends(played: Played, overlap: bool) -> None:
    """In small lists, so that a page could be on several of them."""
    options = RoundOptions(top_n=2, num_fetchers=1, threads=2, add_days=31)
    beside = overlapping(Beside(InProcess())) if overlap else None
    result = played.run_rounds(LoopOptions(UNBOUNDED), options=options, overlapping=beside)
    assert result.ending is StopReason.NOTHING_DUE
    assert asked(played) == dict.fromkeys((FRONT, *BELOW), 1)


@pytest.mark.slow
def test_what_fails_is_tried_once(played: Played) -> None:
    """A passing error puts a page off by a day: looking ahead, the next rounds would take it up at
    once, and after three of them it would be gone."""
    PLAYED[str(played.seeds.parent)].pages[BELOW[0]] = lambda now: Scene(503)
    result = played.run_rounds(LoopOptions(UNBOUNDED), options=MONTH)
    assert result.ending is StopReason.NOTHING_DUE
    assert asked(played)[BELOW[0]] == 1
    record = records_of(played.directory)[BELOW[0]]
    assert (record.status, record.retries) == (Status.DB_UNFETCHED, 1)


@pytest.mark.slow
def test_links_that_are_found_on_the_way_are_followed(played: Played) -> None:
    new = "http://a.test/new"
    pages = PLAYED[str(played.seeds.parent)].pages
    pages[FRONT] = lambda now: Scene(text="changed", links=(*BELOW, new))
    pages[new] = lambda now: Scene(text="new")
    played.run_rounds(LoopOptions(UNBOUNDED), options=MONTH)
    assert asked(played) == dict.fromkeys((FRONT, *BELOW, new), 1)


def test_a_host_in_backoff_is_left_alone_however_far_one_looks_ahead(tmp_path: Path) -> None:
    records = {"http://a.org/": datum(fetch_time=NOW + DAY), "http://b.org/": datum()}
    directory = make_crawldb(str(tmp_path), records)
    waits = HostState("a.org", "timeout", failures=3, last=NOW, wait_until=NOW + DAY)
    put_host_states(directory, [waits])
    done = generate.run(
        InProcess(),
        directory,
        Config.of({"urlfilter.order": []}),
        GenerateOptions(add_days=10),
        ManualClock(NOW),
        resolver=lambda host: None,
    )
    assert done.report.counters["hosts_waiting"] == 1
    assert done.report.counters["urls_generated"] == 1


def test_the_plan_shows_it() -> None:
    assert build_round(MONTH).generate.options[-1] == ("--add-days", "31")
    assert "--add-days" not in dict(build_round(RoundOptions()).generate.options)


def test_looking_ahead_is_for_a_crawl_that_ends() -> None:
    assert RunOptions(rounds=UNBOUNDED, add_days=7).loop() == LoopOptions(UNBOUNDED)
    assert RunOptions(wait="60", add_days=0).loop().wait_s == 60
    with pytest.raises(UsageError, match=r"--add-days and --wait exclude each other"):
        RunOptions(wait="60", add_days=7).loop()
    for days in (-1, math.nan, math.inf, 1e308, MAX_LOOK_DAYS + 1):
        with pytest.raises(UsageError, match="add_days: expected a number from 0 to 1,000,000"):
            read_options(RunOptions, {"add_days": days}, Face.API)


def test_no_look_ahead_is_longer_than_moments_can_be_told() -> None:
    for days in (math.nan, -math.inf, 1e308, MAX_LOOK_DAYS + 1):
        with pytest.raises(
            UsageError, match="--add-days: give a number of days, at most 1,000,000"
        ):
            generate.check(Config.of({}), GenerateOptions(add_days=days))
    generate.check(Config.of({}), GenerateOptions(add_days=MAX_LOOK_DAYS))
