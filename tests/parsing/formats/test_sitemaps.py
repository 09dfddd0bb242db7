from __future__ import annotations

from crawl.model.parse import Outlink
from crawl.parsing.formats.sitemaps import SitemapEntry, SitemapKind, read_sitemap

URL = "http://www.example.com/sitemap.xml"
NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def test_a_urlset_with_all_that_it_may_say() -> None:
    found = read_sitemap(
        URL,
        f"""<?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="{NS}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
            xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
            xmlns:xhtml="http://www.w3.org/1999/xhtml">
          <url><loc> http://www.example.com/a?x=1&amp;y=2 </loc><lastmod>2024-05-01</lastmod>
            <changefreq>weekly</changefreq><priority>0.8</priority>
            <image:image><image:loc>http://img.example.com/1.png</image:loc>
              <image:title>not the page's</image:title></image:image>
            <news:news><news:title>Big News</news:title></news:news>
            <xhtml:link rel="alternate" hreflang="de" href="http://www.example.com/de"/></url>
          <url><loc>/relative</loc></url>
          <url><loc></loc></url>
          <url><lastmod>2024</lastmod></url>
        </urlset>""",
        most=100,
    )
    assert found is not None
    assert (found.kind, found.bad, found.cut) == (SitemapKind.URLSET, 2, False)
    assert found.entries == (
        SitemapEntry(
            "http://www.example.com/a?x=1&y=2",
            "2024-05-01",
            "weekly",
            "0.8",
            "Big News",
            (
                Outlink("http://img.example.com/1.png", "", "", "image"),
                Outlink("http://www.example.com/de", "", "alternate", "link"),
            ),
        ),
        SitemapEntry("http://www.example.com/relative"),
    )


def test_an_index() -> None:
    found = read_sitemap(
        URL, "<sitemapindex><sitemap><loc>http://a/1.xml</loc></sitemap></sitemapindex>", 10
    )
    assert found is not None and found.kind is SitemapKind.INDEX
    assert [entry.url for entry in found.entries] == ["http://a/1.xml"]


def test_ampersands_that_nobody_escaped() -> None:
    found = read_sitemap(URL, "<urlset><url><loc>http://a/?x=1&y=2</loc></url></urlset>", 10)
    assert found is not None and found.entries[0].url == "http://a/?x=1&y=2"


def test_a_list_of_links_is_one_too() -> None:
    found = read_sitemap(URL, "http://a/1\r\n\r\n http://a/2 \nhttp://a/3\n", 2)
    assert found is not None
    assert (found.kind, found.cut) == (SitemapKind.TEXT, True)
    assert [entry.url for entry in found.entries] == ["http://a/1", "http://a/2"]


def test_other_texts_are_none() -> None:
    for text in ("", "Dear reader,\nhttp://a/1", "<rss></rss>", "<html>", "http://a b"):
        assert read_sitemap(URL, text, 10) is None


def test_no_more_is_read_than_was_asked_for() -> None:
    url = "<url><loc>http://a/</loc>" + "<image><loc>http://i/</loc></image>" * 3000 + "</url>"
    found = read_sitemap(URL, f"<urlset>{url * 20}</urlset>", 5)
    assert found is not None and found.cut
    assert len(found.entries) == 5
    assert {len(entry.extras) for entry in found.entries} == {1000}


def test_a_link_without_an_end_is_bad_and_not_kept() -> None:
    found = read_sitemap(URL, f"<urlset><url><loc>http://a/{'x' * 10**6}</loc></url></urlset>", 5)
    assert found is not None and (found.entries, found.bad) == ((), 1)
