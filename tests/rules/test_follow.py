from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawl.rules.follow import FollowRules

NUTCHS = FollowRules(depth=3, links=4, divisor=2, same_host=True)
HERE = "http://a.org/"


def test_fewer_links_are_followed_the_deeper_they_lead() -> None:
    assert [NUTCHS.most(depth) for depth in range(6)] == [0, 8, 4, 2, 0, 0]


def test_following_is_off_by_default() -> None:
    assert FollowRules(-1, 4, 2, same_host=True).choose(HERE, 1, ["http://a.org/b"]) == []


def test_the_first_links_of_the_same_host() -> None:
    targets = [HERE, "http://b.org/", *(f"http://a.org/{n}" for n in range(9))]
    assert NUTCHS.choose(HERE, 3, targets) == ["http://a.org/0", "http://a.org/1"]


def test_other_hosts_too_where_that_is_asked_for() -> None:
    anywhere = FollowRules(1, 1, 1, same_host=False)
    assert anywhere.choose(HERE, 1, [HERE, "http://b.org/", "http://a.org/b"]) == ["http://b.org/"]


@given(st.integers(-1, 9), st.integers(0, 9), st.integers(1, 9), st.lists(st.text()))
def test_never_more_than_the_most_and_never_the_page_itself(
    depth: int, links: int, divisor: int, targets: list[str]
) -> None:
    following = FollowRules(depth, links, divisor, same_host=False)
    for step in range(1, 12):
        chosen = following.choose(HERE, step, [HERE, *targets])
        assert len(chosen) <= following.most(step)
        assert HERE not in chosen


def test_from_a_file_only_files() -> None:
    targets = ["http://a.org/", "file:///b", "file://h/c"]
    assert NUTCHS.choose("file:///a", 1, targets) == ["file:///b"]
