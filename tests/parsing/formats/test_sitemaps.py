from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.model.parse import Outlink
from crawl.parsing.formats.safe_xml import BadXml
from crawl.parsing.formats.sitemaps import SitemapEntry, SitemapKind, read_sitemap
from tests.examples import scaled

URL = "http://www.example.com/sitemap.xml"
PIECES = (
    *("<url>", "</url>", "<sitemap>", "</sitemap>", "<loc>", "</loc>", "<b>", "</b>"),
    *("<loc>http://a/1</loc>", "<url><loc> http://a/2?x=1&amp;y=2 </loc></url>", "<url>http://a/1"),
    *("\n", "<image:image>", "</image:image>", "</urlset>", "<!-- x -->", "&foo;"),
    *("<lastmod>2024</lastmod>", "<loc>http://a/1", "<loc>\n"),
)
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


def urls_of(text: str, most: int = 100) -> list[str]:
    found = read_sitemap(URL, text, most)
    assert found is not None
    return [entry.url for entry in found.entries]


def test_several_locs_in_an_entry_are_entries_each_with_its_own_facts() -> None:
    found = read_sitemap(
        URL,
        """<sitemapindex><sitemap><loc>http://a/1</loc><lastmod>2004</lastmod>
        <loc>http://a/2</loc><loc>http://a/3</loc><lastmod>2005</lastmod></sitemap>
        </sitemapindex>""",
        10,
    )
    assert found is not None and (found.bad, found.cut) == (0, False)
    assert [(entry.url, entry.lastmod) for entry in found.entries] == [
        ("http://a/1", "2004"),
        ("http://a/2", ""),
        ("http://a/3", "2005"),
    ]


@pytest.mark.parametrize("inner", ["<url>{}</url>", "<b><i>{}</i></b>", "<![CDATA[ {} ]]>", "{}"])
def test_a_link_inside_other_elements_of_loc(inner: str) -> None:
    loc = inner.format("http://a/1")
    text = f"<urlset><url><loc>{loc}</loc><lastmod>2015</lastmod></url></urlset>"
    found = read_sitemap(URL, text, 10)
    assert found is not None
    assert found.entries == (SitemapEntry("http://a/1", "2015"),)


def test_an_index_of_bare_lines() -> None:
    entries = "".join(f"<sitemap>\nhttp://a/?c={n}&amp;l=en\n</sitemap>\n" for n in range(3))
    expected = [f"http://a/?c={n}&l=en" for n in range(3)]
    assert urls_of(f"<sitemapindex>{entries}</sitemapindex>") == expected
    lines = "\n".join(f"http://a/?c={n}&amp;l=en" for n in range(3))
    assert urls_of(f"<sitemapindex>{lines}</sitemapindex>") == expected
    assert urls_of(f"<sitemapindex><sitemap>{lines}\n words </sitemap></sitemapindex>") == expected
    many = "\n".join(f"http://a/{n:06}" for n in range(20_000))
    assert len(urls_of(f"<sitemapindex>\n{many}\n</sitemapindex>", 50_000)) == 20_000


def test_a_link_without_an_end_goes_no_further_than_the_next_tag() -> None:
    text = "<urlset><url><loc>http://a/1<lastmod>2024</lastmod></url><url><loc>http://a/2</urlset>"
    found = read_sitemap(URL, text, 10)
    assert found is not None
    assert found.entries == (SitemapEntry("http://a/1", "2024"), SitemapEntry("http://a/2"))


def test_locs_without_an_entry_and_entries_without_an_end() -> None:
    locs = "<loc>http://a/1</loc><loc>http://a/2</loc>"
    assert urls_of(f"<urlset>{locs}</urlset>") == ["http://a/1", "http://a/2"]
    unclosed = "".join(f"<url><loc>http://a/{n}</loc><lastmod>{n}</lastmod>" for n in range(9))
    found = read_sitemap(URL, f"<urlset>{unclosed}</urlset>", 10)
    assert found is not None
    assert [(entry.url, entry.lastmod) for entry in found.entries] == [
        (f"http://a/{n}", str(n)) for n in range(9)
    ]
    many = "<url><loc>http://a/</loc>" * 1000  # more than may stand inside each other
    found = read_sitemap(URL, f"<urlset>{many}</urlset>", 5000)
    assert found is not None and found.cut and len(found.entries) > 100


WHOLE = (
    "<urlset><url><loc>http://a/first</loc></url>\n"
    "<url><loc>http://a/second/page one</loc><lastmod>2024</lastmod></url>\n"
    "<url><loc><![CDATA[http://a/third?x=1&y=2]]></loc></url></urlset>"
)


def test_a_file_that_is_cut_off_anywhere_has_no_half_links() -> None:
    whole = urls_of(WHOLE)
    assert len(whole) == 3
    for end in range(len("<urlset>"), len(WHOLE) - 1):
        found = read_sitemap(URL, WHOLE[:end], 10)
        assert found is not None and found.cut
        links = [entry.url for entry in found.entries]
        assert links == whole[: len(links)]
        # all that is followed by the beginning of a tag is there
        closed = sum(WHOLE.index(f"{link}</loc") + len(link) < end for link in ENDS)
        assert len(links) >= closed, WHOLE[:end]


ENDS = ("first", "page one", "y=2]]>")


def test_a_file_that_is_whole_is_not_cut() -> None:
    for text in ("<urlset/>", "<urlset></urlset>", "<urlset></urlset >\n<!-- by us -->"):
        found = read_sitemap(URL, text, 10)
        assert found is not None and not found.cut


@pytest.mark.parametrize("reference", ["&foo;", "&l9;", "&#0;", "&#xD800;", "\ufffd"])
def test_what_nobody_defines_makes_no_junk_url(reference: str) -> None:
    found = read_sitemap(
        URL,
        f"<urlset><url><loc>http://a/{reference}x</loc><xhtml:link href='http://b/{reference}'/>"
        "</url><url><loc>http://a/?q=&eacute;&amp;y</loc></url></urlset>",
        10,
    )
    assert found is not None and found.bad == 2
    assert [entry.url for entry in found.entries] == ["http://a/?q=%C3%A9&y"]


def test_what_is_left_out_is_counted() -> None:
    entry = "<url><loc>http://a/</loc>" + "<image><loc>http://i/</loc></image>" * 1003 + "</url>"
    found = read_sitemap(URL, f"<urlset>{entry * 2}<url><loc>/</loc></url></urlset>", 1)
    assert found is not None and found.cut
    assert found.over_limit == 3 + 1003 + 1 + 1
    found = read_sitemap(URL, "http://a/1\rhttp://a/2\nhttp://a/3", 2)
    assert found is not None and (found.cut, found.over_limit) == (True, 1)


def test_an_xml_declaration_without_its_question_mark() -> None:
    assert urls_of("<?xml version='1.0'><urlset><url><loc>/1</loc></url></urlset>") == [
        "http://www.example.com/1"
    ]


@settings(max_examples=scaled(2000))
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(["urlset", "sitemapindex"]))
def test_whatever_is_written_no_link_is_made_up(pieces: list[str], root: str) -> None:
    text = f"<{root}>" + "".join(pieces)
    try:
        found = read_sitemap(URL, text, 10)
    except BadXml:
        return
    assert found is not None
    for entry in found.entries:
        assert entry.url in ("http://a/1", "http://a/2?x=1&y=2")


def test_end_tags_of_nothing_do_not_end_the_sitemap() -> None:
    entry = "<url><loc>http://a/{}?x=1&amp;y=2</loc></url>"
    text = f"<urlset></url>{entry.format(1)}</url></b>{entry.format(2)}</urlset>"
    assert urls_of(text) == ["http://a/1?x=1&y=2", "http://a/2?x=1&y=2"]
