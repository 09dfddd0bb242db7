from __future__ import annotations

from crawl.fetcher.frontier.seen_urls import SeenUrls


def test_a_url_is_new_once() -> None:
    seen = SeenUrls()
    assert [seen.is_new(url) for url in ("a", "b", "a", "b", "c")] == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert not seen.is_full


def test_a_full_one_forgets_nothing_and_takes_in_no_more() -> None:
    seen = SeenUrls(2)
    assert seen.is_new("a")
    assert [seen.is_full, seen.is_new("b"), seen.is_full] == [False, True, True]
    assert seen.is_new("c")
    assert seen.is_new("c")
    assert not seen.is_new("a")
