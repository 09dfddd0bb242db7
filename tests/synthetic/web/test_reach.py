from __future__ import annotations

from crawl.synthetic.web import RobotsKind, Settings, Web
from tests.synthetic.web.reach import reachable

WEB = Web(Settings(sites=14, pages=1400, port=8080))


def test_a_plain_web_is_reached_whole() -> None:
    web = Web(Settings.plain(5, 500))
    reach = reachable(web, "nutria")
    assert reach.pages == set(web.urls())
    assert not reach.disallowed


def test_one_seed_reaches_other_sites() -> None:
    web = Web(Settings.plain(5, 500))
    assert reachable(web, "nutria", web.seeds()[:1]).pages == set(web.urls())


def test_what_is_reached_is_allowed_and_what_is_not_is_not() -> None:
    reach = reachable(WEB, "nutria")
    assert all(WEB.allowed(url, "nutria") for url in reach.codes)
    assert not any(WEB.allowed(url, "nutria") for url in reach.disallowed)
    assert all(WEB.expected(url).code == code for url, code in reach.codes.items())
    assert {200, 301, 302, 404, 503} <= set(reach.codes.values())


def test_every_link_and_target_was_looked_at() -> None:
    reach = reachable(WEB, "nutria")
    known = set(reach.codes) | reach.disallowed
    for url in reach.codes:
        found = WEB.expected(url)
        assert set(found.links) <= known
        assert not found.target or found.target in known


def test_agents_and_time_matter() -> None:
    mine, bad, good = (reachable(WEB, agent) for agent in ("nutria", "badbot", "goodbot"))
    assert len(bad.codes) < len(mine.codes) < len(good.codes)
    later = reachable(WEB, "nutria", time=WEB.settings.repair)
    assert set(mine.pages) < set(later.pages)


def test_closed_sites_are_found_but_never_entered() -> None:
    reach = reachable(WEB, "nutria")
    closed = [host for host in WEB.hosts() if WEB.robots(host) is RobotsKind.CLOSED]
    assert closed
    for host in closed:
        assert f"http://{host}:8080/" in reach.disallowed
        assert not any(f"//{host}:" in url for url in reach.codes)
