from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from crawl.service.intake.ids import JobIds, is_job_id


class SteppingClock:
    def __init__(self, moments: list[int]) -> None:
        self._moments = iter(moments)

    def now_ms(self) -> int:
        return next(self._moments)

    def monotonic(self) -> float:
        raise AssertionError


@given(st.lists(st.integers(1, 2**47), min_size=2))
def test_ids_grow_whatever_the_clock_does(moments: list[int]) -> None:
    ids = JobIds(SteppingClock(moments))
    made = [ids.new() for _ in moments]
    assert all(before < after for before, after in pairwise(made))
    assert all(map(is_job_id, made))


def test_two_services_make_different_ids_at_one_moment() -> None:
    assert JobIds(SteppingClock([5])).new() != JobIds(SteppingClock([5])).new()


def test_other_texts_are_no_ids() -> None:
    assert not is_job_id("")
    assert not is_job_id("../../etc/passwd")
    assert not is_job_id("0" * 25 + "\n")
    assert not is_job_id("0" * 27)
