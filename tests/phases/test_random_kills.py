"""Some random kills of all phases; `./scripts/bench/run kills` has as many as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.phases.kill_tally import Tally
from tests.phases.random_kills import Rounds, kill_at_random, kill_commands_at_random

pytestmark = pytest.mark.exhaustive

_SEED = 20261116


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("rounds", Rounds)
def test_nothing_is_lost_or_doubled_by_kills_without_a_jvm(tmp_path: Path, rounds: Rounds) -> None:
    first = _SEED - _SEED % len(Rounds) + list(Rounds).index(rounds)
    tally = Tally()
    kill_at_random(tally, tmp_path, kills=8, seed=first)
    assert tally.is_good, (tally.faults, tally.most_asked_again)
    assert tally.deaths == 8


@pytest.mark.spark
@pytest.mark.slow(seconds=60)
def test_nothing_is_lost_or_doubled_by_kills_of_commands(tmp_path: Path) -> None:
    tally = Tally()
    kill_commands_at_random(tally, tmp_path, kills=3, seed=_SEED)
    assert tally.is_good, (tally.faults, tally.most_asked_again)
    assert tally.deaths == 3
