"""The shipped parsers in their shipped order: each type finds the one that is meant."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from crawl.config import Config
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.parsing.plan import ParsePlan
from tests.parsing.small_parsers import parse_batch
from tests.plugins.parser.small_pdf import small_pdf
from tests.plugins.parser.test_feed import ATOM, RDF, RSS
from tests.plugins.parser.test_zip import SITEMAP, archive

PACKED = gzip.compress(SITEMAP.encode(), mtime=0)
PLAN = ParsePlan.from_config(Config.of({"http.agent.name": "test"}))


GZIPPED_AS = ("text/xml", "application/xml", "text/html", "binary/octet-stream", "text/plain")
PLAIN_AS = (
    *("text/html", "binary/octet-stream", "application/rss+xml", "application/atom+xml"),
    *("application/x-xml", "application/x-gzip", "text/plain", "application/bogus", "nonsense"),
)


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        *((PACKED, declared) for declared in GZIPPED_AS),
        *((SITEMAP.encode(), declared) for declared in PLAIN_AS),
        *((b'<?xml version="1.0"?>\n' + SITEMAP.encode(), declared) for declared in PLAIN_AS),
    ],
)
@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap.xml.gz", "download?id=7"])
def test_sitemaps_are_read_whatever_they_are_called(name: str, body: bytes, declared: str) -> None:
    url = f"http://www.example.com/{name}"
    content = Content(url, body, declared, 200, status=int(Status.FETCH_SUCCESS))
    found = parse_batch(PLAN, [content])
    (row,) = found.parse_data.to_pylist()
    assert (row["status"], found.counters["outlinks_kept"]) == ("success", 2)
    assert dict(row["metadata"])["sitemap.kind"] == "urlset"


@pytest.mark.parametrize("body", [b"<!DOCTYPE html><a href=/x>y</a>", b"<html><a href=/x>y</a>"])
def test_html_that_is_declared_packed_is_html(body: bytes) -> None:
    content = Content("http://www.example.com/", body, "application/x-gzip", 200)
    found = parse_batch(PLAN, [replace(content, status=int(Status.FETCH_SUCCESS))])
    assert found.counters["parsed_by.html"] == found.counters["outlinks_kept"] == 1


@pytest.mark.parametrize(
    ("name", "body", "mime_type", "parser", "links"),
    [
        ("a.txt", b"hello http://a.com/1", "text/plain", "text", 1),
        ("sitemap.txt", b"http://a.com/1\nhttp://a.com/2", "text/plain", "sitemap", 2),
        ("c.css", b"a { background: url(http://c.com/) }", "text/css", "text", 1),
        ("sitemap.xml", SITEMAP.encode(), "application/xml", "sitemap", 2),
        ("sitemap.xml.gz", PACKED, "application/x-gzip", "zip", 2),
        ("rss", RSS.encode(), "application/rss+xml", "feed", 5),
        ("rss", RSS.encode(), "text/xml", "feed", 5),
        ("atom", ATOM.encode(), "application/atom+xml", "feed", 2),
        ("rdf", RDF.encode(), "application/rdf+xml", "feed", 1),
        ("x", b"<doc><a href='/1'/>hi</doc>", "application/xml", "xml", 1),
        ("x", b"<svg xmlns='http://www.w3.org/2000/svg'><title>t</title></svg>", "image/svg+xml",
         "xml", 0),
        ("p.pdf", small_pdf(), "application/pdf", "pdf", 1),
        ("j", b'{"url": "http://j.com/"}', "application/json", "json", 1),
        ("x", b"<doc><a href='/1'/>hi</doc>", "application/vnd.mine+xml", "xml", 1),
        ("j", b'{"url": "http://j.com/"}', "application/vnd.mine+json", "json", 1),
        ("z.zip", archive({"a.html": "<a href=http://h.com/>x</a>"}), "application/zip", "zip", 1),
        ("s.js", b"go('/x/y')", "text/javascript", "js", 1),
        ("i.png", b"\x89PNG\r\n\x1a\n", "image/png", "metadata", 0),
        ("bin", b"\0\1\2", "application/octet-stream", "metadata", 0),
    ],
)  # fmt: skip
def test_each_type_finds_its_parser(
    name: str, body: bytes, mime_type: str, parser: str, links: int
) -> None:
    url = f"http://www.example.com/{name}"
    content = Content(url, body, mime_type, 200, status=int(Status.FETCH_SUCCESS))
    found = parse_batch(PLAN, [content])
    assert found.counters[f"parsed_by.{parser}"] == 1
    assert found.counters["outlinks"] == links
    assert found.parse_data.column("status").to_pylist() == ["success"]


LOCS = "".join(f"<url><loc>http://www.example.com/{n}</loc></url>" for n in range(1000))
ITEMS = "".join(f"<item><link>http://www.example.com/{n}</link></item>" for n in range(1000))
THOUSAND = f"<urlset>{LOCS}</urlset>".encode()
FEED = f"<rss version='2.0'><channel>{ITEMS}</channel></rss>".encode()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("body", "bound", "reason"),
    [
        (THOUSAND, "parser.sitemap.max.urls", "sitemap_limit"),
        (FEED, "parser.feed.max.entries", "feed_limit"),
    ],
)
def test_links_of_sitemaps_and_feeds_have_their_own_bound_and_reason(
    body: bytes, bound: str, reason: str, packed: bool
) -> None:
    body = gzip.compress(body) if packed else body
    content = Content("http://www.example.com/x", body, "text/xml", 200)
    content = replace(content, status=int(Status.FETCH_SUCCESS))
    found = parse_batch(PLAN, [content])
    assert found.counters["outlinks"] == found.counters["outlinks_kept"] == 1000
    small = ParsePlan.from_config(Config.of({"http.agent.name": "test", bound: 300}))
    found = parse_batch(small, [content])
    assert found.counters["outlinks"] == 1000
    assert found.counters["outlinks_kept"] == 300
    assert found.counters[f"outlinks_dropped.{reason}"] == 700
    assert found.counters["outlinks_dropped.limit"] == 0


def test_links_of_feeds_that_are_none_or_too_many_are_counted() -> None:
    links = "".join(f"<link href='http://a.com/{n}'/>" for n in range(30))
    entry = f"<entry><title>t</title>{links}</entry><entry><link href='http://a:port/'/></entry>"
    body = f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry}</feed>".encode()
    content = Content("http://www.example.com/x", body, "text/xml", 200)
    counters = parse_batch(PLAN, [replace(content, status=int(Status.FETCH_SUCCESS))]).counters
    assert counters["outlinks_dropped.feed_limit"] == 9
    assert counters["outlinks_dropped.malformed"] == 1
    assert counters["outlinks"] == 31 and counters["outlinks_kept"] == 21


@pytest.mark.parametrize(
    ("parser", "body", "mime_type", "over_limit"),
    [
        ("json", b'["http://a.com/1", "http://a.com/1", "see http://a.com/2 http://a.com/3"]',
         "application/json", 2),
        ("js", b"f('http://a.com/1', 'http://a.com/1', '/two', '/three', '/two')",
         "text/javascript", 2),
        ("pdf", small_pdf(3), "application/pdf", 2),
    ],
)  # fmt: skip
def test_links_beyond_what_is_read_of_a_document_are_counted(
    parser: str, body: bytes, mime_type: str, over_limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "crawl.parsing.formats.pdf" if parser == "pdf" else f"crawl.plugins.parser.{parser}"
    monkeypatch.setattr(f"{where}.MAX_LINKS", 1)
    content = Content("http://www.example.com/x", body, mime_type, 200)
    found = parse_batch(PLAN, [replace(content, status=int(Status.FETCH_SUCCESS))])
    assert found.counters[f"parsed_by.{parser}"] == found.counters["outlinks_kept"] == 1
    assert found.counters["outlinks_dropped.parser_limit"] == over_limit
    assert found.counters["outlinks"] == 1 + over_limit


def test_links_beyond_what_is_read_of_a_text_are_counted() -> None:
    body = "\n".join(f"http://a.com/{number}" for number in range(100_007)).encode()
    content = Content("http://www.example.com/x.txt", body, "text/plain", 200)
    found = parse_batch(PLAN, [replace(content, status=int(Status.FETCH_SUCCESS))])
    assert found.counters["outlinks_dropped.parser_limit"] == 7


@pytest.mark.parametrize("declared", ["text/xml", "binary/octet-stream", "text/html", "nonsense"])
def test_a_bomb_is_refused_whatever_it_is_called(declared: str) -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * (8 << 20), 9)
    content = Content("http://www.example.com/sitemap.xml.gz", bomb, declared, 200)
    found = parse_batch(PLAN, [replace(content, status=int(Status.FETCH_SUCCESS))])
    (row,) = found.parse_data.to_pylist()
    assert found.counters["parse_empty.unreadable"] == 1
    assert "times its size" in row["message"]
