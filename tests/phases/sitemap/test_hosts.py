"""Which hosts are asked for their sitemaps, by what each bucket tells of its own."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.phases.sitemap.tasks.hosts import HostCut, SitesTally, cut_of
from tests.examples import scaled

BUCKETS = st.lists(st.dictionaries(st.integers(1, 9), st.integers(1, 5)), max_size=6)


def tallies(buckets: list[dict[int, int]]) -> list[SitesTally]:
    return [
        SitesTally(number, by_urls, sum(by_urls.values()), 0)
        for number, by_urls in enumerate(buckets)
    ]


@given(BUCKETS, st.integers(-1, 40))
@settings(max_examples=scaled(200))
def test_the_cut_takes_the_hosts_with_the_most_urls_and_no_more_than_wanted(
    buckets: list[dict[int, int]], most: int
) -> None:
    hosts = [
        (urls, number, place)
        for number, by_urls in enumerate(buckets)
        for urls, count in by_urls.items()
        for place in range(count)
    ]
    cut, chosen = cut_of(tallies(buckets), most)
    taken = [urls for urls, bucket, place in hosts if cut.takes(bucket, urls, place)]
    wanted = len(hosts) if most < 0 else min(most, len(hosts))
    assert len(taken) == chosen == wanted
    assert sorted(taken) == sorted(urls for urls, _, _ in hosts)[len(hosts) - wanted :]


def test_of_hosts_with_as_many_urls_the_first_of_the_first_buckets_are_taken() -> None:
    assert cut_of(tallies([{1: 2, 7: 1}, {1: 3}, {1: 9}]), 5) == (HostCut(1, {0: 2, 1: 2}), 5)
