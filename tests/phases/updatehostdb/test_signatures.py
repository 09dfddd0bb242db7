from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from crawl.phases.updatehostdb.tasks.signatures import (
    MAX_NUMBERS,
    distinct,
    estimates,
    numbers_of,
    smallest,
)


def test_equal_signatures_have_equal_numbers_and_others_others() -> None:
    texts = [b"", b"a", b"\0a", b"a\0", b"12345678", b"123456789abcdef0", b"a", b"x" * 100]
    sliced = pa.array([b"odd", *texts], pa.binary()).slice(1)
    numbers = numbers_of(sliced).tolist()
    assert numbers[1] == numbers[6]
    assert len(set(numbers)) == len(texts) - 1
    assert numbers == numbers_of(pa.array(texts, pa.binary())).tolist()


@pytest.mark.parametrize("count", [0, 1, 10, MAX_NUMBERS - 1, 50_000])
def test_how_many_there_are_is_told_from_several_places(count: int) -> None:
    numbers = numbers_of(pa.array([b"%d" % number for number in range(count)], pa.binary()))
    halves = [numbers[: count // 2 + 5], numbers[count // 2 :]]  # some are in both
    told = [smallest(*distinct(np.zeros(len(half), np.int64), half)) for half in halves]
    owners = np.concatenate([owner for owner, _ in told])
    every = np.concatenate([numbers for _, numbers in told])
    (found,) = estimates(*smallest(*distinct(owners, every)), 1)
    assert found == pytest.approx(count, rel=0 if count < MAX_NUMBERS else 0.1)
