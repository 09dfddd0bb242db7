from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.model.costs import EngineCosts
from tests.examples import scaled

NAMES = [each.name for each in fields(EngineCosts)]
counts = st.none() | st.integers(0, 1 << 50)
costs = st.builds(EngineCosts, **dict.fromkeys(NAMES, counts))
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES) | st.text(), inner),
)


@settings(max_examples=scaled(200))
@given(costs, costs, costs)
def test_costs_add_up_in_any_order(one: EngineCosts, two: EngineCosts, three: EngineCosts) -> None:
    assert (one + two) + three == three + (two + one)
    assert one + EngineCosts() == one


def test_what_is_not_known_of_a_part_is_not_known_of_the_whole() -> None:
    whole = EngineCosts(jobs=None, tasks=3) + EngineCosts(jobs=1, tasks=4)
    assert (whole.jobs, whole.tasks) == (None, 7)


def test_the_largest_result_is_that_of_one_job() -> None:
    one = EngineCosts(result_bytes=5, largest_result_bytes=5, result_limit_bytes=100)
    assert (one + one).result_bytes == 10
    assert (one + one).largest_result_bytes == 5
    assert not (one + one).is_near_result_limit
    assert not replace(one, largest_result_bytes=50).is_near_result_limit
    assert replace(one, largest_result_bytes=51).is_near_result_limit
    assert not replace(one, largest_result_bytes=51, result_limit_bytes=0).is_near_result_limit
    assert not replace(one, largest_result_bytes=None).is_near_result_limit


def test_what_passes_the_driver_goes_both_ways() -> None:
    assert EngineCosts(task_bytes=7, result_bytes=5).driver_bytes == 12
    assert EngineCosts(task_bytes=7, result_bytes=None).driver_bytes is None


@settings(max_examples=scaled(200))
@given(costs)
def test_a_report_is_read_as_it_was_written(written: EngineCosts) -> None:
    assert EngineCosts.of_dict(written.as_dict()) == written


@settings(max_examples=scaled(300))
@given(anything)
def test_whatever_a_report_says_is_a_count_or_not_known(content: object) -> None:
    read = EngineCosts.of_dict(content)
    for name in NAMES:
        value = getattr(read, name)
        assert value is None or (type(value) is int and value >= 0)


def test_a_report_without_figures_claims_none() -> None:
    assert set(EngineCosts.of_dict({}).as_dict().values()) == {None}
