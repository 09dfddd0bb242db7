"""Some random kills of all phases; `./scripts/bench/run kills` has as many as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.phases.random_kills import Tally, kill_at_random, kill_commands_at_random


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("links", [False, True])
def test_nothing_is_lost_or_doubled_by_kills_without_a_jvm(tmp_path: Path, links: bool) -> None:
    tally = Tally(crawls=int(links))  # every second crawl follows links
    kill_at_random(tally, tmp_path, kills=10, seed=20261116 + links)
    assert tally.is_good, (tally.lost, tally.doubled, tally.most_asked_again)
    assert tally.deaths == 10


@pytest.mark.spark
@pytest.mark.slow(seconds=60)
def test_nothing_is_lost_or_doubled_by_kills_of_commands(tmp_path: Path) -> None:
    tally = Tally()
    kill_commands_at_random(tally, tmp_path, kills=3, seed=20261116)
    assert tally.is_good, (tally.lost, tally.doubled, tally.most_asked_again)
    assert tally.deaths == 3
