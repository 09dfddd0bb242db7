"""How many URLs are done, of how many: never more done than there are, and all at the end."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.reporting.task_monitor import followed_count, settled_count
from crawl.fetcher.values.record import FetchRecord
from tests.examples import scaled
from tests.fetcher.small_web import REFUSED, CallbackOutput, Page, SmallWeb, fetch

_URLS = [f"http://{host}.org/p{number}" for host in "abc" for number in range(4)]
_pages = st.one_of(
    st.just("text"),
    st.just((404, {})),
    st.just((503, {})),
    st.just(REFUSED),
    st.sampled_from(_URLS).map(lambda target: (302, {"location": target})),
    st.integers(0, 3).map(lambda number: (301, {"location": f"http://new.org/{number}"})),
)


@settings(deadline=None, max_examples=scaled(150))
@given(
    pages=st.dictionaries(st.sampled_from([*_URLS, "http://new.org/1"]), _pages),
    listed=st.lists(st.sampled_from(_URLS), min_size=1, unique=True),
    redirect_max=st.integers(0, 3),
    deadline=st.sampled_from([None, 3.0, 12.0]),
    depth=st.sampled_from([1, 50]),
)
def test_done_is_never_more_than_there_is(
    pages: dict[str, Page],
    listed: list[str],
    redirect_max: int,
    deadline: float | None,
    depth: int,
) -> None:
    engines: list[FetchEngine] = []

    def check(record: FetchRecord | None = None) -> None:
        counters = engines[0].counters
        assert settled_count(counters) <= len(listed) + followed_count(counters)

    more: dict[str, Any] = {"redirect_max": redirect_max, "threads": 2, "depth": depth}
    done = fetch(
        SmallWeb(pages),
        listed,
        deadline=deadline,
        politeness={"max_exceptions": 2},
        output=CallbackOutput(check),
        prepare=engines.append,
        **more,
    )
    counters = done.engine.counters
    assert settled_count(counters) == len(listed) + followed_count(counters), dict(counters)


def test_what_another_task_goes_on_with_is_not_done() -> None:
    counters = {"records": 5, "handed_back.interrupted": 3, "handed_back.robots_elsewhere": 2}
    assert settled_count(counters) == 5
    assert settled_count(counters | {"handed_back.time_limit": 4, "no_host": 1}) == 10


def test_redirects_that_are_left_for_later_are_no_urls_of_this_fetch() -> None:
    pages: dict[str, Page] = {"http://a.org/1": (302, {"location": "http://a.org/2"})}
    done = fetch(SmallWeb(pages), ["http://a.org/1"], redirect_max=0)
    assert done.engine.counters["records"] == 2
    assert settled_count(done.engine.counters) == 1
