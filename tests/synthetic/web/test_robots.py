"""The truth about robots.txt is decided, not parsed: here it is compared with a parser."""

from __future__ import annotations

from crawl.robots.read import read_rules
from crawl.synthetic.web import RobotsKind, Settings, Web

WEB = Web(Settings(sites=28, pages=2800, port=8080))
HOST = {WEB.robots(host): host for host in WEB.hosts()}
AGENTS = ("nutria", "badbot", "goodbot", "GoodBot")
PATHS = (
    "/",
    "/p1",
    "/private/p1",
    "/private/p2",
    "/private/p21",
    "/private",
    "/p1?a=b",
    "/moved/p3",
)
REPAIRED = 3600.0


def url(kind: RobotsKind, path: str) -> str:
    return f"http://{HOST[kind]}:8080{path}"


def robots_body(kind: RobotsKind) -> tuple[int, bytes]:
    """The robots.txt at the end of its redirects, after every repair."""
    found = WEB.expected(url(kind, "/robots.txt"), REPAIRED)
    while found.target:
        found = WEB.expected(found.target, REPAIRED)
    return found.code, found.body


def test_the_truth_is_what_the_files_say() -> None:
    for kind in RobotsKind:
        code, body = robots_body(kind)
        for agent in AGENTS:
            rules = read_rules(body if code == 200 else b"", [agent.lower()])
            for path in PATHS:
                allowed = WEB.allowed(url(kind, path), agent, REPAIRED)
                assert allowed == rules.allows(url(kind, path)), (kind, agent, path)


def test_each_kind_by_hand() -> None:
    def allowed(kind: RobotsKind, path: str, agent: str = "nutria", time: float = 0.0) -> bool:
        return WEB.allowed(url(kind, path), agent, time)

    everything = (RobotsKind.OPEN, RobotsKind.MISSING, RobotsKind.FORBIDDEN, RobotsKind.SOFT)
    assert all(allowed(kind, "/private/p2") for kind in everything)
    for kind in set(RobotsKind) - set(everything):
        assert not allowed(kind, "/private/p2", time=REPAIRED)
    assert not allowed(RobotsKind.CLOSED, "/")
    assert allowed(RobotsKind.CLOSED, "/robots.txt")
    assert not allowed(RobotsKind.AGENTS, "/", "badbot")
    assert allowed(RobotsKind.AGENTS, "/private/p2", "goodbot")
    assert allowed(RobotsKind.PATTERNS, "/private/p1")
    assert not allowed(RobotsKind.PATTERNS, "/p2?a=b")


def test_a_broken_robots_txt_closes_until_it_is_repaired() -> None:
    for kind, code in ((RobotsKind.UNAVAILABLE, 503), (RobotsKind.THROTTLED, 429)):
        broken = WEB.expected(url(kind, "/robots.txt"))
        assert (broken.code, broken.retry_after) == (code, 1)
        assert not WEB.allowed(url(kind, "/"), "nutria")
        assert WEB.expected(url(kind, "/robots.txt"), REPAIRED).code == 200
        assert WEB.allowed(url(kind, "/"), "nutria", REPAIRED)


def test_codes_redirects_and_size() -> None:
    codes = {kind: WEB.expected(url(kind, "/robots.txt")).code for kind in RobotsKind}
    assert (codes[RobotsKind.MISSING], codes[RobotsKind.FORBIDDEN]) == (404, 403)
    assert (codes[RobotsKind.MOVED], codes[RobotsKind.AWAY]) == (301, 302)
    away = WEB.expected(url(RobotsKind.AWAY, "/robots.txt")).target
    assert HOST[RobotsKind.AWAY] not in away.split("/")[2]
    assert len(WEB.expected(url(RobotsKind.HUGE, "/robots.txt")).body) > 500 * 1024


def test_nobody_has_the_robots_txt_of_another() -> None:
    assert WEB.expected(url(RobotsKind.OPEN, "/robots-moved.txt")).code == 404
    assert WEB.expected(url(RobotsKind.OPEN, "/robots-of-site5.test.txt")).code == 404


def test_the_crawl_delay() -> None:
    assert WEB.crawl_delay(HOST[RobotsKind.DELAY]) == 1.0
    assert WEB.crawl_delay(HOST[RobotsKind.OPEN]) is None
    rules = read_rules(robots_body(RobotsKind.DELAY)[1], ["nutria"])
    assert rules.crawl_delay_s == 1.0


def test_sitemap_lines_lead_to_a_sitemap() -> None:
    rules = read_rules(robots_body(RobotsKind.PATTERNS)[1], ["nutria"])
    (line,) = rules.sitemaps
    assert WEB.expected(line).content_type == "application/atom+xml"
