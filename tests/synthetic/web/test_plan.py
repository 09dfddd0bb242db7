from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawl.synthetic.web.kinds import PageKind
from crawl.synthetic.web.plan import PagePosition, WebPlan
from crawl.synthetic.web.settings import Settings

SHAPES = st.integers(1, 40).flatmap(
    lambda sites: st.builds(
        Settings,
        sites=st.just(sites),
        pages=st.integers(sites, sites + 3000),
        seed=st.integers(0, 9),
        skew=st.floats(0, 2),
        fanout=st.integers(1, 12),
    )
)


@given(SHAPES)
def test_the_sites_have_exactly_the_pages(settings: Settings) -> None:
    sizes = WebPlan(settings).sizes
    assert (len(sizes), sum(sizes)) == (settings.sites, settings.pages)
    assert min(sizes) >= 1


def test_sizes_are_a_power_law_or_equal() -> None:
    skewed = sorted(WebPlan(Settings(sites=100, pages=100_000)).sizes, reverse=True)
    assert 1.8 < skewed[0] / skewed[1] < 2.2
    assert 8 < skewed[0] / skewed[9] < 12
    equal = WebPlan(Settings.plain(100, 100_000)).sizes
    assert set(equal) == {1000}


@given(SHAPES, st.integers(0, 10_000))
def test_a_path_leads_back_to_its_page(settings: Settings, number: int) -> None:
    plan = WebPlan(settings)
    site, page = plan.anywhere(number)
    assert 0 <= page < plan.sizes[site]
    assert plan.position(site, plan.path(site, page)) == PagePosition(site, page)


def test_no_other_path_is_a_page() -> None:
    plan = WebPlan(Settings())
    for path in (
        "/p0",
        "/p01",
        "/page/p1",
        "/p999999",
        "/p1/1",
        "/p1/",
        "//",
        "/p1?x=1",
        "/p\u0661",
    ):
        assert plan.position(2, path) is None


def test_hosts_have_one_spelling() -> None:
    plan = WebPlan(Settings(sites=20))
    assert [plan.site(plan.host(site)) for site in range(20)] == list(range(20))
    assert [plan.site(host) for host in ("site20.test", "site03.test", "site.test", "x")] == [
        None
    ] * 4


@given(SHAPES)
def test_only_leaves_are_odd(settings: Settings) -> None:
    plan = WebPlan(settings)
    for site in range(min(5, settings.sites)):
        for number in range(min(200, plan.sizes[site])):
            if plan.children(site, number):
                assert plan.kind(site, number) in (PageKind.PAGE, PageKind.PRIVATE)


def test_out_degrees_are_a_power_law_about_their_mean() -> None:
    plan = WebPlan(Settings.plain(10, 100_000, fanout=1))
    degrees = [len(plan.links(1, n, plan.draws(1, n))) - 2 for n in range(5000)]
    assert 7 < sum(degrees) / len(degrees) < 11
    assert max(degrees) > 50
    assert sorted(degrees)[2500] < 10


def test_links_are_mostly_internal_and_each_once() -> None:
    plan = WebPlan(Settings(sites=20, pages=20_000))
    links = [link for n in range(200) for link in plan.links(3, n, plan.draws(3, n))]
    assert 0.02 < sum(site != 3 for site, _ in links) / len(links) < 0.12
    for n in range(200):
        found = plan.links(3, n, plan.draws(3, n))
        assert len(found) == len(set(found))
