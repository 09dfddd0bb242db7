from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.model.content import Content
from crawl.model.datum import SITEMAP_DEPTH_KEY
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.parsing.plan import ParsePlan
from crawl.parsing.sitemap_depth import TOO_DEEP, depth_of
from tests.parsing.small_parsers import parse_batch


def parsed(
    kind: str, metadata: dict[str, str], **settings: object
) -> tuple[dict[str, dict[str, str]], Counters]:
    """The links that go to the CrawlDb, with their metadata; and what was counted."""
    tag = "sitemap" if kind == "sitemapindex" else "url"
    body = f"<{kind}><{tag}><loc>http://a.org/next.xml</loc></{tag}></{kind}>".encode()
    content = Content(
        "http://a.org/index.xml",
        body,
        "application/xml",
        200,
        5,
        status=int(Status.FETCH_SUCCESS),
        metadata=metadata,
    )
    config = Config.of(
        {"urlfilter.order": [], **{k.replace("__", "."): v for k, v in settings.items()}}
    )
    batch = parse_batch(ParsePlan.from_config(config), [content])
    links = {
        url: dict(datum.metadata)
        for url, datum in to_records(batch.crawl_parse)
        if datum.status is Status.LINKED
    }
    return links, batch.counters


def test_an_index_passes_its_depth_on_to_what_it_lists() -> None:
    links, _ = parsed("sitemapindex", {})
    assert links == {"http://a.org/next.xml": {SITEMAP_DEPTH_KEY: "1"}}
    links, _ = parsed("sitemapindex", {SITEMAP_DEPTH_KEY: "2"})
    assert links == {"http://a.org/next.xml": {SITEMAP_DEPTH_KEY: "3"}}


def test_pages_of_a_sitemap_have_none() -> None:
    links, counters = parsed("urlset", {SITEMAP_DEPTH_KEY: "9"})
    assert links == {"http://a.org/next.xml": {}}
    assert not counters[TOO_DEEP]


def test_an_index_that_is_too_deep_leads_nowhere_and_is_counted() -> None:
    assert parsed("sitemapindex", {SITEMAP_DEPTH_KEY: "3"})[0] == {}
    assert parsed("sitemapindex", {SITEMAP_DEPTH_KEY: "3"})[1][TOO_DEEP] == 1
    links, _ = parsed("sitemapindex", {SITEMAP_DEPTH_KEY: "3"}, parser__sitemap__max__depth=4)
    assert len(links) == 1


@pytest.mark.parametrize("value", ["", "-1", "x", "²", "9999999999", "1.5"])
def test_what_is_no_depth_is_none(value: str) -> None:
    assert depth_of({SITEMAP_DEPTH_KEY: value}) == 0
