from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.plugins.parser.sitemap import SitemapParser
from crawl.synthetic.web.plan import WebPlan
from crawl.synthetic.web.settings import Settings
from crawl.synthetic.web.sitemap import entries, sitemap
from crawl.testing.parser_contract import ParserContract
from tests.parsing.formats.test_safe_xml import LAUGHS, QUADRATIC
from tests.plugins.parser.pages import only, page, refusal, targets

PARSER = SitemapParser(Config.of())


def urls(*entries: str) -> str:
    return "<urlset>" + "".join(f"<url>{entry}</url>" for entry in entries) + "</urlset>"


class TestContract(ParserContract):
    plugin_class = SitemapParser

    def samples(self) -> list[bytes]:
        return [urls("<loc>http://a/1</loc>", "<loc>/b</loc>").encode(), b"<urlset><url><loc>x"]


def test_entries_become_links_and_their_facts_a_summary() -> None:
    body = urls(
        "<loc>http://a/1</loc><lastmod>2024-05-02</lastmod><changefreq>daily</changefreq>",
        "<loc>http://a/2</loc><lastmod>2023-01-01</lastmod><changefreq>Daily</changefreq>",
        "<loc>http://a/3</loc><changefreq>never</changefreq><priority>0.5</priority>",
        "<loc>http://[</loc>",
    )
    parse = only(PARSER, page(body, "application/xml"))
    assert targets(parse) == ["http://a/1", "http://a/2", "http://a/3"]
    assert {link.tag for link in parse.outlinks} == {"url"}
    assert parse.metadata == {
        "sitemap.kind": "urlset",
        "sitemap.entries": "3",
        "sitemap.bad": "1",
        "sitemap.lastmod.first": "2023-01-01",
        "sitemap.lastmod.last": "2024-05-02",
        "sitemap.changefreq": "daily 2, never 1",
        "sitemap.priority": "0.5 1",
    }


def test_links_of_an_index_are_marked() -> None:
    body = "<sitemapindex><sitemap><loc>http://a/1.xml</loc></sitemap></sitemapindex>"
    parse = only(PARSER, page(body, "text/xml"))
    assert [(link.url, link.tag) for link in parse.outlinks] == [("http://a/1.xml", "sitemap")]


@pytest.mark.parametrize("body", ["<rss/>", "<html>", "", "text", "http://a/ b"])
def test_other_pages_are_for_other_parsers(body: str) -> None:
    assert PARSER.parse(page(body, "text/xml")) is None


def test_a_list_of_links_must_be_called_a_sitemap() -> None:
    body = "http://a/1\nhttp://a/2\n"
    assert PARSER.parse(page(body, "text/plain", "http://a/links.txt")) is None
    assert targets(only(PARSER, page(body, "text/plain", "http://a/x/Sitemap-1.txt"))) == [
        *("http://a/1", "http://a/2")
    ]


def test_no_more_than_so_many() -> None:
    few = SitemapParser(Config.of({"parser.sitemap.max.urls": 2}))
    parse = only(few, page(urls(*["<loc>http://a/</loc>"] * 9), "text/xml"))
    assert len(parse.outlinks) == 2
    assert parse.outlinks_dropped == {"sitemap_limit": 7}
    assert parse.metadata["sitemap.cut"] == "true"


def test_pages_come_before_images_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("crawl.plugins.parser.sitemap.MAX_LINKS", 4)
    images = "".join(f"<image><loc>http://i/{number}</loc></image>" for number in range(3))
    body = urls(f"<loc>http://a/1</loc>{images}", f"<loc>http://a/2</loc>{images}")
    parse = only(PARSER, page(body, "text/xml"))
    assert targets(parse) == ["http://a/1", "http://i/0", "http://i/1", "http://a/2"]
    assert parse.outlinks_dropped == {"sitemap_limit": 4}


@pytest.mark.parametrize("bomb", [LAUGHS, QUADRATIC])
def test_bombs_do_not_explode(bomb: str) -> None:
    doctype, _, rest = bomb.rpartition("]>")
    reference = "&l9;" if "l9" in rest else "&e;" * 1000
    body = f"{doctype}]><urlset><url><loc>http://a/{reference}</loc></url></urlset>"
    parse = only(PARSER, page(body, "text/xml"))
    assert targets(parse) == []  # a link with such a name in it would be junk
    assert parse.outlinks_dropped == {"malformed": 1}


def test_depth_is_refused() -> None:
    assert "inside each other" in refusal(PARSER, page("<urlset>" * 5000, "text/xml"))


def test_the_sitemaps_of_the_synthetic_web() -> None:
    plan = WebPlan(Settings(sites=2, pages=40))
    for site in range(2):
        file = sitemap(plan, site, "/sitemap.xml")
        assert file is not None
        assert targets(only(PARSER, page(file.body, file.content_type))) == [
            url for url, _ in entries(plan, site)
        ]
