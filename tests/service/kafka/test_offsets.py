"""What may be committed of a partition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawl.service.kafka.offsets import Offsets


def test_the_position_is_the_lowest_that_is_not_done_with() -> None:
    offsets = Offsets(5)
    assert offsets.position == 5
    for offset in (5, 6, 9):
        offsets.take(offset)
    offsets.finish(6)
    assert (offsets.position, offsets.behind, offsets.open_count) == (5, 5, 2)
    offsets.finish(5)
    assert offsets.position == 9
    offsets.finish(9)
    assert (offsets.position, offsets.behind, offsets.open_count) == (10, 0, 0)


@given(
    st.lists(st.integers(0, 50), unique=True).map(sorted),
    st.lists(st.tuples(st.booleans(), st.integers(0, 50)), max_size=200),
)
def test_nothing_open_lies_before_the_position(
    offsets: list[int], steps: list[tuple[bool, int]]
) -> None:
    """Against a model: a list of what was taken and a set of what is done."""
    first = offsets[0] if offsets else 0
    tracked, waiting = Offsets(first), list(offsets)
    taken: list[int] = []
    done: set[int] = set()
    for takes, number in steps:
        if takes and waiting:
            taken.append(waiting.pop(0))
            tracked.take(taken[-1])
        elif not takes:
            tracked.finish(number)
            done |= {number} & set(taken)
        left = [offset for offset in taken if offset not in done]
        end = taken[-1] + 1 if taken else first
        assert tracked.position == (left[0] if left else end)
        assert tracked.open_count == len(left)
