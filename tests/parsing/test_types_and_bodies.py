"""Whatever the headers say: a page, a feed or a sitemap that a browser would show is parsed, and
no parse ends as a success with nothing and no reason."""

from __future__ import annotations

import codecs
import gzip
from dataclasses import dataclass

from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.counters import Counters
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.parsing.plan import ParsePlan
from tests.examples import scaled
from tests.parsing.small_parsers import parse_batch

PLAN = ParsePlan.from_config(Config.of({"http.agent.name": "test"}), filter_urls=False)
TYPES = (
    *("text/html", "application/xhtml+xml", "text/xml", "application/xml", "application/x-xml"),
    *("application/rss+xml", "application/atom+xml", "application/rdf+xml", "image/svg+xml"),
    *("application/octet-stream", "binary/octet-stream", "application/x-gzip", "application/gzip"),
    *("application/x-gunzip", "text/plain", "", "nonsense", "*/*", "application/force-download"),
)
FIELDS = st.tuples(
    st.sampled_from(TYPES),
    st.sampled_from(["", ";", "; charset=utf-8", "; charset=UTF-8; x=y", ";charset=bogus"]),
).map("".join)
PATHS = st.sampled_from(
    ["", "x", "sitemap.xml", "sitemap.xml.gz", "sitemap.txt", "feed.html", "a.php?x=1", "a.json"]
)
PROLOGS = st.sampled_from(
    ["", "\n", "<?xml version='1.0'?>\n", "<?xml version='1.0'>", "<!-- c -->\n", " <?xml ?> "]
)
LINKS = ("http://www.example.com/one", "http://www.example.com/two?x=1&y=2")


@dataclass(frozen=True)
class Body:
    """A body that browsers show, and what its links are."""

    text: str
    is_page: bool = False


ONE, TWO = (link.replace("&", "&amp;") for link in LINKS)
BODIES = (
    Body(f"<!DOCTYPE html><title>t</title><a href='{ONE}'>1</a><a href='{TWO}'>2</a>", True),
    Body(f"<html><head></head><a href='{ONE}'>1</a><a href='{TWO}'>2</a></html>", True),
    Body(f"<urlset><url><loc>{ONE}</loc></url><url><loc>{TWO}</loc></url></urlset>"),
    Body(f"<sitemapindex><sitemap><loc>{ONE}</loc><loc>{TWO}</loc></sitemap></sitemapindex>"),
    Body(f"<rss><channel><item><link>{ONE}</link></item><item><link>{TWO}</link></item></channel>"),
    Body(
        "<feed xmlns='http://www.w3.org/2005/Atom'>"
        f"<entry><link href='{ONE}'/></entry><entry><link href='{TWO}'/></entry></feed>"
    ),
    Body(
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
        f" xmlns='http://purl.org/rss/1.0/'><item><link>{ONE}</link></item>"
        f"<item><link>{TWO}</link></item></rdf:RDF>"
    ),
)
CHARSETS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])


def encoded(text: str, charset: str) -> bytes:
    if charset == "utf-16-le":
        return codecs.BOM_UTF16_LE + text.encode(charset)
    if charset == "utf-16-be":
        return codecs.BOM_UTF16_BE + text.encode(charset)
    return text.encode(charset)


def parsed(url: str, body: bytes, declared: str) -> tuple[dict[str, object], Counters]:
    content = Content(url, body, declared, 200, status=int(Status.FETCH_SUCCESS))
    found = parse_batch(PLAN, [content])
    (row,) = found.parse_data.to_pylist()
    if row["status"].startswith("success"):
        says = found.parse_text["text"][0].as_py().strip() or row["title"]
        reasons = sum(
            count for name, count in found.counters.items() if name.startswith("parse_empty.")
        )
        assert not body or says or found.counters["outlinks"] or reasons == 1
    else:
        assert row["message"]
    return row, found.counters


@settings(max_examples=scaled(600), deadline=None)
@given(FIELDS, PATHS, PROLOGS, st.sampled_from(BODIES), CHARSETS, st.integers(0, 2))
@example("text/xml", "sitemap.xml", "", BODIES[2], "utf-8", 1)
@example("application/x-gzip", "", "", BODIES[0], "utf-8", 0)
def test_what_a_browser_shows_is_parsed_whatever_the_headers_say(
    declared: str, path: str, prolog: str, body: Body, charset: str, packed: int
) -> None:
    data = encoded(prolog + body.text, charset)
    for _ in range(packed):
        data = gzip.compress(data, 1, mtime=0)
    row, counters = parsed(f"http://www.example.com/{path}", data, declared)
    assert row["status"] == "success"
    if body.is_page and declared.startswith("text/plain"):
        return  # shown as it stands
    kept = {link["url"] for link in row["outlinks"]}  # type: ignore[attr-defined]
    assert kept == set(LINKS)
    assert counters["outlinks"] == 2


@settings(max_examples=scaled(600), deadline=None)
@given(
    FIELDS,
    PATHS,
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")),
        st.sampled_from(BODIES).map(lambda body: body.text.encode()),
    ),
    st.integers(0, 80),
    st.booleans(),
)
def test_no_success_without_anything_or_a_reason(
    declared: str, path: str, body: bytes, end: int, packed: bool
) -> None:
    data = gzip.compress(body, mtime=0)[: end + 20] if packed else body[:end]
    parsed(f"http://www.example.com/{path}", data, declared)
