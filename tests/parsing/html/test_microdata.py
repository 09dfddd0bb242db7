from __future__ import annotations

import json
from typing import Any

import pytest

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.plugins.parser.html import HtmlParser
from crawl.plugins.parser.html_soup import SoupHtmlParser

URL = "http://shop.example.org/p/1"
PRODUCT = """<!DOCTYPE html><base href="/x/"><p id=more itemprop=color>blue</p>
<div itemscope itemtype="https://schema.org/Product" itemid="urn:1" itemref="more gone">
  <h1 itemprop="name alternateName">Blue <b>chair</b></h1>
  <img itemprop=image src="a.jpg"><a itemprop=url href="b">b</a>
  <div itemprop=offers itemscope itemtype="https://schema.org/Offer">
    <span itemprop=price content="12.50">12,50</span><meta itemprop=priceCurrency content=EUR>
    <time itemprop=validFrom datetime=2026-11-18>today</time><data itemprop=sku value=7>seven</data>
  </div>
  <div itemscope><i itemprop=name>of its own</i></div>
</div>"""


def parsed(markup: str, parser: Any = HtmlParser) -> Parse:
    content = Content(URL, markup.encode("utf-8", "surrogatepass"))
    (parse,) = parser(Config.of()).parse(Page(content, "text/html"))
    assert isinstance(parse, Parse)
    return parse


@pytest.mark.parametrize("parser", [HtmlParser, SoupHtmlParser])
def test_items_are_json_in_the_form_of_the_standard(parser: Any) -> None:
    found = json.loads(parsed(PRODUCT, parser).metadata["microdata"])
    assert found == [
        {
            "type": ["https://schema.org/Product"],
            "id": "urn:1",
            "properties": {
                "name": ["Blue chair"],
                "alternateName": ["Blue chair"],
                "image": ["http://shop.example.org/x/a.jpg"],
                "url": ["http://shop.example.org/x/b"],
                "offers": [
                    {
                        "type": ["https://schema.org/Offer"],
                        "properties": {
                            "price": ["12.50"],
                            "priceCurrency": ["EUR"],
                            "validFrom": ["2026-11-18"],
                            "sku": ["7"],
                        },
                    }
                ],
                "color": ["blue"],
            },
        },
        {"properties": {"name": ["of its own"]}},
    ]


@pytest.mark.parametrize(
    "markup",
    [
        "<div itemscope itemref=a id=a itemprop=x><div itemscope itemref=a id=b></div></div>",
        "<b id=a itemprop=x itemscope itemref=a></b><i itemscope itemref=a></i>",
        "<div itemscope itemprop=x>" * 400 + "t",
        "<div itemscope>" + "<div itemprop=x>" * 450 + "t",
        "<div itemscope><b itemprop=x>y</b></div>" * 3_000,
        "<div itemscope>" + "<b itemprop=x>y</b>" * 30_000,
        '<div itemscope itemref=\'"] \\ ,\'><b itemprop="\x00\ud800">\x00\ud800</b>',
        f"<div itemscope><b itemprop=x>{'z' * 100_000}</b></div>" * 50,
    ],
)
def test_hostile_pages_are_bounded(markup: str) -> None:
    metadata = parsed(markup).metadata
    written = metadata.get("microdata", "[]")
    assert isinstance(json.loads(written), list) and len(written) <= 65_600


def test_what_is_left_out_is_counted() -> None:
    parse = parsed("<div itemscope><b itemprop=x>y</b></div>" * 201)
    assert parse.counts == {"structured.microdata_dropped": 1}
    scripts = '<script type="application/ld+json">%s</script>'
    parse = parsed(scripts % "{" + scripts % f'"{"x" * 70_000}"' + scripts % '{"@type": "A"}')
    assert parse.counts == {
        "structured.json_ld_malformed": 1,
        "structured.json_ld_too_long": 1,
    }
    assert parse.metadata["json-ld"] == '[{"@type": "A"}]'


def test_a_page_without_items_has_none() -> None:
    assert "microdata" not in parsed("<p itemprop=x>itemscope</p>").metadata
    assert parsed("<p>x").counts == {}
