from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.model.parse import Outlink, ParseStatus
from crawl.plugins.parser.feed import FeedParser
from crawl.testing.parser_contract import ParserContract
from tests.examples import scaled
from tests.parsing.formats.test_safe_xml import LAUGHS, QUADRATIC
from tests.plugins.parser.pages import only, page, refusal, targets

PARSER = FeedParser(Config.of())
RSS_TYPE, ATOM_TYPE = "application/rss+xml", "application/atom+xml"
URL = "http://www.example.com/feeds/rss"

RSS = """<?xml version="1.0" encoding="ISO-8859-1"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
  <title>News &amp; more</title><link>http://www.example.com/</link><language>en-GB</language>
  <description>All the &lt;b&gt;news&lt;/b&gt;</description>
  <item><title>First &amp; foremost</title><link>http://www.example.com/1?a=1&b=2</link>
    <description>&lt;p&gt;Hello &lt;i&gt;world&lt;/i&gt;&lt;script&gt;x()&lt;/script&gt;
    </description>
    <pubDate>Mon, 06 Sep 2010 00:01:00 +0000</pubDate><dc:creator>Ann</dc:creator>
    <category>sport</category><category>art</category>
    <enclosure url="/a.mp3" type="audio/mpeg" length="1"/></item>
  <item><title>Second</title><link>/2</link></item>
  <item><title>No link</title></item>
  <item><title>Elsewhere</title><link>http://other.org/3</link></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>An Atom</title>
  <link rel="self" href="/self"/><link href="http://www.example.com/"/>
  <updated>2003-12-13T18:30:02Z</updated>
  <entry><title type="html">&lt;b&gt;E&lt;/b&gt;1</title><link href="/e1"/>
    <author><name>Bob</name></author><updated>2003-12-13T18:30:02Z</updated>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Deep <b>text</b></p></div>
    </content></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns="http://purl.org/rss/1.0/"><channel rdf:about="x"><title>R</title></channel>
  <item rdf:about="y"><title>I</title><link>http://www.example.com/r</link></item></rdf:RDF>"""


class TestContract(ParserContract):
    plugin_class = FeedParser

    def samples(self) -> list[bytes]:
        return [RSS.encode(), ATOM.encode(), RDF.encode(), RSS.encode()[:900]]


class TestDocumentsContract(TestContract):
    def config(self) -> Config:
        return Config.of({"parser.feed.entries.as.documents": True})


def test_rss_entries_become_links_with_titles_as_anchors() -> None:
    parse = only(PARSER, page(RSS, RSS_TYPE, URL))
    assert parse.title == "News & more"
    assert parse.language == "en"
    assert parse.outlinks == (
        Outlink("http://www.example.com/", "News & more", "", "feed"),
        Outlink("http://www.example.com/1?a=1&b=2", "First & foremost", "", "entry"),
        Outlink("http://www.example.com/a.mp3", "First & foremost", "enclosure", "entry"),
        Outlink("http://www.example.com/2", "Second", "", "entry"),
        Outlink("http://other.org/3", "Elsewhere", "", "entry"),
    )
    assert parse.text.split("\n") == [
        *("All the news", "First & foremost", "Second", "No link", "Elsewhere")
    ]
    assert parse.metadata["feed.version"] == "rss20"
    assert parse.metadata["feed.entries"] == "4"
    assert parse.metadata["description"] == "All the news"


def test_atom() -> None:
    parse = only(PARSER, page(ATOM, ATOM_TYPE, URL))
    assert parse.title == "An Atom"
    assert parse.metadata["updated"] == "2003-12-13T18:30:02Z"
    assert targets(parse)[-1] == "http://www.example.com/e1"
    assert parse.outlinks[-1].anchor == "E1"


@pytest.mark.parametrize("mime", ["application/rdf+xml", "text/xml", "application/xml"])
def test_rdf_with_rss_in_it(mime: str) -> None:
    assert targets(only(PARSER, page(RDF, mime, URL))) == ["http://www.example.com/r"]


def test_entries_of_the_same_domain_may_be_documents_of_their_own() -> None:
    parser = FeedParser(Config.of({"parser.feed.entries.as.documents": True}))
    parses = parser.parse(page(RSS, RSS_TYPE, URL))
    assert parses is not None
    assert [parse.url for parse in parses] == [
        *(URL, "http://www.example.com/1?a=1&b=2", "http://www.example.com/2")
    ]
    first = parses[1]
    assert (first.title, first.text) == ("First & foremost", "Hello world")
    assert first.metadata == {
        "author": "Ann",
        "tags": "sport, art",
        "published": "Mon, 06 Sep 2010 00:01:00 +0000",
        "feed": URL,
    }
    (atom,) = list(parser.parse(page(ATOM, ATOM_TYPE, URL)) or ())[1:]
    assert (atom.text, atom.metadata["author"]) == ("Deep text", "Bob")


@pytest.mark.parametrize(
    "body",
    [
        "<html/>",
        "<urlset/>",
        "",
        "text",
        "<feed xmlns='urn:mine'/>",
        "<rdf:RDF xmlns:rdf='urn:r'/>",
    ],
)
def test_other_xml_is_for_other_parsers(body: str) -> None:
    assert PARSER.parse(page(body, "text/xml")) is None


def test_a_feed_by_type_that_is_none_is_reported() -> None:
    assert refusal(PARSER, page("<html><body>Error</body></html>", RSS_TYPE))


def test_nothing_is_opened_that_looks_like_a_file_or_url() -> None:
    for body in ("/etc/passwd", "http://127.0.0.1:9/", "file:///etc/passwd"):
        assert refusal(PARSER, page(body, RSS_TYPE))


@pytest.mark.parametrize("bomb", [LAUGHS, QUADRATIC])
def test_bombs_do_not_explode(bomb: str) -> None:
    doctype, _, _ = bomb.rpartition("]>")
    body = f"{doctype}]><rss><channel><title>&l9;{'&e;' * 1000}</title></channel></rss>"
    assert len(only(PARSER, page(body, RSS_TYPE)).title) < 3000


def test_mistakes_are_forgiven() -> None:
    body = (
        "<rss><channel><title>A & B &nbsp; &copy;</title><media:x a:b='1'>t</media:x>"
        "<item><title>T</title><link>http://a.com/1</link></item><item><link>http://a.com/2"
    )
    parse = only(PARSER, page(body, RSS_TYPE))
    assert parse.title == "A & B ©"
    assert targets(parse)[:1] == ["http://a.com/1"]


def test_entries_are_bounded() -> None:
    body = f"<rss><channel>{'<item><link>http://a.com/</link></item>' * 50_000}</channel></rss>"
    parse = only(PARSER, page(body, RSS_TYPE))
    assert parse.metadata["feed.entries"] == "1000"
    few = FeedParser(Config.of({"parser.feed.max.entries": 3}))
    assert len(only(few, page(body, RSS_TYPE)).outlinks) == 3


@pytest.mark.parametrize(
    "body",
    [
        "<category>x</category>" * 100_000,
        "<item>" * 150,
        "<x>" * 150,
        "<item><pubDate>" + "1:" * 100_000 + "</pubDate></item>",
        "<item><author>" + "(a@" * 50_000 + "</author></item>",
        "<item><description>" + "&lt;a " * 100_000 + "</description></item>",
        "<item><title>" + "&lt;b&gt;" * 50_000 + "&lt;/i&gt;" * 50_000 + "</title></item>",
    ],
)
def test_floods(body: str) -> None:
    parses = PARSER.parse(page(f"<rss><channel>{body}</channel></rss>", RSS_TYPE))
    assert parses is not None and parses[0].status is ParseStatus.SUCCESS


TAGS = ("rss", "channel", "item", "title", "link", "entry", "content", "author", "name", "guid")
TEXTS = (
    "x",
    "&",
    "&lt;b",
    "http://a/",
    "<![CDATA[",
    "]]>",
    "<!--",
    "\0",
    "<a:b/>",
    '<link href="x"/>',
)
PIECES = st.one_of(
    st.sampled_from([f"<{tag}>" for tag in TAGS]),
    st.sampled_from([f"</{tag}>" for tag in TAGS]),
    st.sampled_from(TEXTS),
)


@settings(max_examples=scaled(60))
@given(st.lists(PIECES, max_size=25), st.booleans())
def test_any_jumble_is_read_or_refused(pieces: list[str], with_documents: bool) -> None:
    parser = FeedParser(Config.of({"parser.feed.entries.as.documents": with_documents}))
    parses = parser.parse(page("<rss>" + "".join(pieces), RSS_TYPE))
    assert parses
    assert parses[0].status in (ParseStatus.SUCCESS, ParseStatus.INVALID_FORMAT)
