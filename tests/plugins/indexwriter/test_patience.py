"""Pauses grow, have an end, and are never shorter than a server asks for."""

from __future__ import annotations

import random

from crawl.plugins.indexwriter.shared.patience import Patience
from crawl.testing.clock import ManualClock


def _patience(seconds: float) -> tuple[Patience, list[float]]:
    clock = ManualClock()
    slept: list[float] = []

    def sleep(pause: float) -> None:
        slept.append(pause)
        clock.advance(pause)

    return Patience(seconds, clock, sleep, random.Random(1)), slept


def test_pauses_grow_until_the_time_is_over() -> None:
    patience, slept = _patience(60)
    while patience.pause():
        pass
    assert sum(slept) == 60 and patience.pauses == len(slept)
    assert slept[0] <= 0.25 and max(slept) <= 30 and 5 < len(slept) < 20


def test_a_server_may_ask_for_more_but_not_for_all() -> None:
    patience, slept = _patience(60)
    assert patience.pause(7) and slept == [7]
    assert not patience.pause(54) and slept == [7]
    patience.renew()
    assert patience.pause(54) and slept == [7, 54]
