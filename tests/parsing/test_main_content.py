"""The main text that a parse keeps beside the whole, with whatever html parser is the default."""

from __future__ import annotations

from crawl.config import Config
from crawl.parsing.plan import ParsePlan
from tests.parsing.small_parsers import content, parse_batch, settings

PAGE = (
    "<!DOCTYPE html><html><head><title>T</title></head><body><nav><a href='/'>Home</a>"
    "<a href='/a'>About us</a></nav><article><h1>News</h1>"
    + "<p>The story itself is told here at some length, in whole sentences.</p>" * 5
    + "</article><footer>Imprint and cookies</footer></body></html>"
)


def test_the_main_text_is_kept_beside_the_whole() -> None:
    plan = ParsePlan.from_config(Config.of(settings()))
    page = content("http://a.org/", PAGE, content_type="text/html")
    (row,) = parse_batch(plan, [page]).parse_text.to_pylist()
    assert "The story itself" in row["main_text"]
    assert "Imprint" not in row["main_text"]
    (row,) = parse_batch(plan, [content("http://a.org/", "text plain")]).parse_text.to_pylist()
    assert row["main_text"] is None
