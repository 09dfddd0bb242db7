from __future__ import annotations

import pytest

from crawl.errors import UsageError
from crawl.service.site_crawls.crawl_scope import CrawlScope, ScopeWish

SEEDS = ["http://www.a.org/docs/", "https://b.org/"]


def inside(url: str, **wish: tuple[str, ...]) -> bool:
    return CrawlScope.of(ScopeWish(**wish), SEEDS).contains(url)


def test_without_a_word_it_is_the_hosts_of_the_seeds() -> None:
    assert inside("http://www.a.org/x")
    assert inside("http://b.org/")
    assert not inside("http://a.org/")


def test_domains_have_all_hosts_below_them() -> None:
    assert inside("http://x.y.a.org/", domains=("a.org",))
    assert inside("http://a.org/", domains=("a.org",))
    assert inside("http://z.sub.a.org/", domains=("sub.a.org",))
    assert not inside("http://aa.org/", domains=("a.org",))
    assert not inside("http://b.org/", domains=("a.org",))


def test_prefixes_are_beginnings_of_urls() -> None:
    assert inside("http://www.a.org/docs/x", prefixes=("http://www.a.org/docs/",))
    assert not inside("http://www.a.org/other", prefixes=("http://www.a.org/docs/",))


def test_expressions_choose_among_them_and_the_one_that_excludes_wins() -> None:
    assert inside("http://b.org/page/1", include=("/page/[0-9]+$",))
    assert not inside("http://b.org/about", include=("/page/[0-9]+$",))
    assert not inside("http://b.org/page/1?print", include=("/page/",), exclude=("[?]print",))


def test_a_hostile_expression_takes_no_time() -> None:
    assert not inside("http://b.org/" + "a" * 3000, include=("(a*)*(a*)*(a*)*b$",))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"include": ("(",)}, r"scope.include: '\(' is no regular expression of RE2"),
        ({"exclude": ("(?=x)",)}, "scope.exclude: .* is no regular expression of RE2"),
        ({"hosts": ("a b",)}, "scope.hosts: 'a b' is not a host"),
        ({"domains": ("http://a.org/",)}, "scope.domains: .* is not a host"),
        (
            {"prefixes": ("",)},
            "scope.prefix: expected from 1 to 1,000 characters in each entry, got 0",
        ),
        ({"hosts": ("a.org",) * 101}, "scope.hosts: at most 100 entries, got 101"),
    ],
)
def test_what_cannot_be_meant_is_told(wish: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CrawlScope.of(ScopeWish(**wish), SEEDS)


def test_many_urls_are_judged_as_each_of_them() -> None:
    scope = CrawlScope.of(
        ScopeWish(include=("/a", r"^http://b[.]org/\Qx."), exclude=("z$",)), SEEDS
    )
    urls = ["http://b.org/a", "http://b.org/x.", "http://b.org/xy", "http://b.org/az", "http://c/a"]
    assert scope.contains_each(urls) == [scope.contains(url) for url in urls]
    assert scope.contains_each(urls) == [True, True, False, False, False]
    assert scope.contains_each([]) == []


def test_several_expressions_mean_what_each_of_them_means() -> None:
    scope = CrawlScope.of(ScopeWish(include=("(?i)/ab$", "^http://b.org/c|d")), SEEDS)
    assert len(scope.include) == 1
    urls = ["http://b.org/AB", "http://b.org/cx", "http://b.org/xd", "http://b.org/x"]
    assert scope.contains_each(urls) == [True, True, True, False]


def test_further_hosts_belong_to_it() -> None:
    scope = CrawlScope.of(ScopeWish(), SEEDS)
    assert scope.is_of_seeds and not scope.contains("http://c.org/")
    assert scope.with_hosts(["c.org"]).contains("http://c.org/")
    assert not CrawlScope.of(ScopeWish(hosts=("a.org",)), SEEDS).is_of_seeds
