"""What servers are owed for earlier waves, as a task takes it up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.fetcher.values.hooks import KnownServer
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.phases.sitemap.tasks.task import EarlierPauses
from crawl.phases.sitemap.tasks.values import SitemapJob
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.server_pauses import ServerPause, write_pauses
from crawl.testing.clock import ManualClock

DESTINATIONS = 4
OWN = 1


@pytest.fixture
def job(tmp_path: Path) -> SitemapJob:
    """Of a wave in which every destination but the last knows of servers."""
    clock, folder = ManualClock(1_000_000), Folder(str(tmp_path))
    pauses = [
        ServerPause(key, 1_060_000, 2, 1_090_000, 7.0, "Retry-After", 1_000_000, "gone")
        for key in map(str, range(40))
    ]
    by_number = {
        number: [each for each in pauses if bucket_of(each.server, DESTINATIONS) == number]
        for number in range(DESTINATIONS - 1)
    }
    pieces = [write_pauses(folder, number, found) for number, found in by_number.items()]
    scoring = ScoringChain.from_config(Config())
    job = SitemapJob(Config(), (), None, None, scoring, clock.now_ms(), folder, clock=clock)
    return replace(job, pauses=(*pieces, None))


def keys_of(number: int) -> set[str]:
    return {key for key in map(str, range(40)) if bucket_of(key, DESTINATIONS) == number}


def test_those_of_its_own_servers_are_taken_up_at_once_and_others_when_they_are_met(
    job: SitemapJob,
) -> None:
    pauses = EarlierPauses(job, OWN, is_alone=False)
    assert {state.key for state in pauses.own} == keys_of(1)
    assert {(state.pause_s, state.exceptions, state.closed_reason) for state in pauses.own} == {
        (60.0, 2, "gone")
    }
    assert pauses.take(next(iter(keys_of(1)))) is None  # the engine knows of it
    other = next(iter(keys_of(2)))
    assert pauses.take(other) == KnownServer(job.clock.monotonic() + 60, 2, 7.0, "Retry-After")
    assert pauses.take(other) is None
    assert pauses.take(next(iter(keys_of(3)))) is None


def test_a_task_that_is_alone_takes_up_all(job: SitemapJob) -> None:
    pauses = EarlierPauses(job, OWN, is_alone=True)
    assert {state.key for state in pauses.own} == keys_of(0) | keys_of(1) | keys_of(2)
    assert pauses.take(next(iter(keys_of(2)))) is None


def test_the_first_wave_knows_of_none(job: SitemapJob) -> None:
    pauses = EarlierPauses(replace(job, pauses=()), OWN, is_alone=False)
    assert pauses.own == []
    assert pauses.take("0") is None
