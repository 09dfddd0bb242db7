from __future__ import annotations

from collections.abc import Iterator

from crawl.fetcher.frontier.seen_urls import SeenUrls


def test_a_url_is_new_once() -> None:
    seen = SeenUrls(100)
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


def test_with_room_made_the_latest_are_recognised_and_the_first_forgotten() -> None:
    seen = SeenUrls(80)
    urls = [f"http://a.org/{n}" for n in range(1000)]
    for url in urls:
        seen.make_room(())
        assert seen.is_new(url)
        assert len(seen) <= 80
    assert not any(seen.is_new(url) for url in urls[-70:])
    assert seen.is_new(urls[0])


def test_what_waits_is_recognised_however_much_it_is() -> None:
    seen = SeenUrls(80)
    waiting = [f"http://a.org/{n}" for n in range(300)]
    looks = 0
    for number, url in enumerate(waiting):
        seen.make_room(waiting[:number])
        assert seen.is_new(url)
    assert not any(seen.is_new(url) for url in waiting)
    assert seen.is_full, "links are left for later"

    def counted() -> Iterator[str]:
        nonlocal looks
        looks += 1
        yield from waiting

    for number in range(100):
        seen.make_room(counted())
        seen.is_new(f"http://b.org/{number}")
    assert looks <= 100 / 4, "what waits is looked at now and then"
    for number in range(100):
        seen.make_room(())
        seen.is_new(f"http://c.org/{number}")
    assert len(seen) <= 80


def test_one_that_is_forgotten_is_new_again() -> None:
    seen = SeenUrls(2)
    assert seen.is_new("a")
    seen.forget("a")
    seen.forget("never met")
    assert [seen.is_new("a"), seen.is_new("a"), seen.is_new("b"), seen.is_full] == [
        True,
        False,
        True,
        True,
    ]
