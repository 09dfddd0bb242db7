"""What every parser of HTML must find in a page; subclass it in your own tests:

class TestMine(HtmlContract):
    plugin_class = MyHtmlParser
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.model.content import Content
from crawl.model.parse import Outlink, Parse, ParseStatus
from crawl.testing.inputs import html_cases
from crawl.testing.inputs.html_cases import HERE, PAGE
from crawl.testing.parser_contract import ParserContract


class HtmlContract(ParserContract):
    """Tests for pytest. Words and links in their order are what counts, not how a parser
    builds its tree."""

    def read(
        self, markup: str | bytes, settings: Mapping[str, Any] | None = None, charset: str = "utf-8"
    ) -> Parse:
        body = markup if isinstance(markup, bytes) else markup.encode()
        plugin = self.plugin_class(Config.of({"http.agent.name": "MyBot/1.0", **(settings or {})}))
        parses = plugin.parse(Page(Content(PAGE, body, "text/html"), "text/html", charset))
        assert parses is not None and len(parses) == 1
        parse: Parse = parses[0]
        return parse

    def links(self, markup: str, settings: Mapping[str, Any] | None = None) -> list[str]:
        """Each link as `tag url`, the page's own host left out."""
        outlinks = self.read(markup, settings).outlinks
        return [f"{link.tag} {link.url.removeprefix(HERE)}" for link in outlinks]

    # ---- title and text

    def test_title(self) -> None:
        for markup, title in html_cases.TITLES.items():
            assert self.read(markup).title == title, markup

    def test_text(self) -> None:
        for markup, text in html_cases.TEXTS.items():
            assert self.read(markup).text == text, markup

    def test_adjacent_links_do_not_glue_their_anchors_together(self) -> None:
        for markup, text in html_cases.ADJACENT_LINKS.items():
            assert self.read(markup).text == text, markup

    def test_a_title_and_an_anchor_are_bounded_and_the_text_is_not(self) -> None:
        words = "word " * 20_000
        parse = self.read(f"<title>{words}</title><p>{words}</p><a href=/x>{words}</a>")
        assert len(parse.title) <= 2000
        assert len(parse.outlinks[0].anchor) <= 1000
        assert len(parse.text) > 190_000

    # ---- links

    def test_links(self) -> None:
        for markup, links in html_cases.LINKS.items():
            assert self.links(markup) == links, markup

    def test_what_leads_nowhere_is_no_link(self) -> None:
        for reference in html_cases.NO_LINKS:
            assert self.links(f'<a href="{reference}">x</a>') == [], reference

    def test_references_are_resolved_as_browsers_do(self) -> None:
        for reference, url in html_cases.RESOLVED.items():
            assert self.links(f'<a href="{reference}">x</a>') == [f"a {url}"], reference

    def test_base(self) -> None:
        for base, url in html_cases.BASES.items():
            markup = f"<a href=before>x</a><base href='{base}'><base href=/second/>"
            assert self.links(markup) == [f"a {url}"], base

    def test_the_query_of_a_link_is_encoded_in_the_charset_of_the_page(self) -> None:
        for (charset, reference), url in html_cases.CHARSET_QUERIES.items():
            markup = (
                f"<link rel=canonical href='{reference}'><a href='{reference}'>x</a>"
                f"<img srcset='{reference} 1x'><form action='{reference}'></form>"
                f"<meta http-equiv=refresh content='0; url={reference}'>"
            )
            body = markup.encode(charset)
            parse = self.read(body, {"parser.html.form.use_action": True}, charset)
            assert {link.tag for link in parse.outlinks} == {"link", "a", "img", "form"}
            assert {link.url for link in parse.outlinks} == {HERE + url}, (charset, reference)
            assert parse.canonical == HERE + url
            assert parse.refresh is not None and parse.refresh.url == HERE + url

    def test_the_query_of_a_base_is_encoded_in_the_charset_of_the_page(self) -> None:
        body = "<base href='/x?q=ü'><a href='#!y'>x</a>".encode("windows-1252")
        assert self.read(body, charset="windows-1252").outlinks[0].url == f"{HERE}/x?q=%FC#!y"

    def test_anchors(self) -> None:
        for markup, anchor in html_cases.ANCHORS.items():
            assert self.read(markup).outlinks[0].anchor == anchor, markup

    def test_rel_is_told_and_the_link_kept(self) -> None:
        parse = self.read("<a rel='UGC  NoFollow\nsponsored' href=/x>x</a><a href=/y>y</a>")
        assert parse.outlinks == (
            Outlink(f"{HERE}/x", "x", "ugc nofollow sponsored", "a"),
            Outlink(f"{HERE}/y", "y", "", "a"),
        )

    def test_every_occurrence_of_a_link_is_told(self) -> None:
        markup = "<a href=/x>one</a><a href=/x>two</a><a href=/x>one</a>"
        assert [link.anchor for link in self.read(markup).outlinks] == ["one", "two", "one"]

    def test_forms_only_if_asked_for_and_not_if_they_post(self) -> None:
        markup = "<form action=/get></form><form method=' POST ' action=/post></form><form></form>"
        assert self.links(markup) == []
        assert self.links(markup, {"parser.html.form.use_action": True}) == ["form /get"]

    def test_ignored_elements(self) -> None:
        markup = (
            "<link href=l><a href=a><img src=i alt=pic></a><script src=s></script>"
            "<map><area href=r></map><iframe src=f></iframe>"
        )
        ignored = {"parser.html.outlinks.ignore_tags": ["IMG", "script", "link"]}
        assert self.links(markup, ignored) == ["a /dir/a", "area /dir/r", "iframe /dir/f"]
        assert self.links(markup, {"parser.html.outlinks.ignore_tags": ["a", "area"]}) == [
            *("link /dir/l", "img /dir/i", "script /dir/s", "iframe /dir/f")
        ]

    def test_a_page_of_links_ends_somewhere(self) -> None:
        markup = "<a href=/x>y</a> " * 500
        settings = {"parser.html.outlinks.max": 10}
        assert len(self.links(markup, settings)) == 10
        assert self.read(markup, settings).text == " ".join(["y"] * 500)
        assert self.read(markup, settings).outlinks_over_limit == 490
        assert self.read(markup).outlinks_over_limit == 0
        assert self.links(markup, {"parser.html.outlinks.max": 0}) == []

    # ---- what the page says of itself

    def test_language(self) -> None:
        for markup, language in html_cases.LANGUAGES.items():
            assert self.read(markup).language == language, markup

    def test_refresh(self) -> None:
        for content, refresh in html_cases.REFRESHES.items():
            parse = self.read(f"<meta http-equiv=Refresh content='{content}'>text")
            assert parse.refresh == refresh, content
            redirected = ParseStatus.SUCCESS if refresh is None else ParseStatus.REDIRECT
            assert parse.status is redirected, content
            assert parse.text == "text"

    def test_a_refresh_for_readers_without_scripts_is_passed_over(self) -> None:
        refresh = "<meta http-equiv=refresh content='0;url=/no-scripts'>"
        assert self.read(f"<head><noscript>{refresh}</noscript></head>x").refresh is None

    def test_robots(self) -> None:
        for tags, directives in html_cases.ROBOTS.items():
            assert self.read(tags + "<p>text</p>").directives == directives, tags

    def test_canonical(self) -> None:
        for markup, url in html_cases.CANONICALS.items():
            assert self.read(markup).canonical == url, markup

    def test_metadata(self) -> None:
        for markup, metadata in html_cases.METADATA.items():
            assert dict(self.read(markup).metadata) == metadata, markup

    def test_metadata_is_bounded(self) -> None:
        markup = "".join(
            f"<meta property='og:x{n}' content='{'y' * 9000}'>"
            f"<link rel=alternate hreflang=x{n} href=/{n}>"
            f"<link rel=alternate type=application/rss+xml href=/{n}>"
            f'<script type="application/ld+json">{json.dumps({"@type": f"T{n}", "x": "y" * 999})}'
            "</script>"
            for n in range(300)
        )
        metadata = self.read(markup).metadata
        assert len(metadata) <= 250
        assert all(len(value) <= 2000 for key, value in metadata.items() if key != "json-ld")
        assert 50_000 < len(metadata["json-ld"]) < 70_000
        assert len(json.loads(metadata["json-ld"])) > 50
        assert len(metadata["feeds"].split()) <= 20

    # ---- harm

    def test_deep_pages_keep_their_words_and_links(self) -> None:
        for tag in ("div", "x", "b", "span", "ul><li", "font color=red", "table", "blockquote"):
            markup = f"<title>t</title><a href=/a>one</a>{f'<{tag}>' * 30_000}two<a href=/b>three"
            parse = self.read(markup)
            assert parse.title == "t", tag
            assert "one" in parse.text and "two" in parse.text and "three" in parse.text, tag
            assert {f"{HERE}/a", f"{HERE}/b"} == {link.url for link in parse.outlinks}, tag

    def test_formatting_bombs_keep_their_words_and_links(self) -> None:
        bomb = "<p>" + "".join(f"<font size={n}>" for n in range(5_000)) + "<p>word" * 5_000
        parse = self.read(f"<a href=/a>one</a>{bomb}<a href=/b>two</a>")
        assert parse.text.count("word") == 5_000
        assert [link.anchor for link in parse.outlinks] == ["one", "two"]

    def test_a_million_attributes(self) -> None:
        crowd = " ".join(f"a{n}=1" for n in range(1_000_000))
        parse = self.read(f"<a href=/a {crowd}>one</a><p {crowd}>two</p>")
        assert parse.text == "one\ntwo"
        assert parse.outlinks == (Outlink(f"{HERE}/a", "one", "", "a"),)

    def test_long_texts(self) -> None:
        parse = self.read("<p>" + "word \n" * 500_000 + "<!--" + "x" * 1_000_000)
        assert len(parse.text) == 500_000 * 5 - 1

    def test_nested_anchors_share_no_text_without_bound(self) -> None:
        nest = "".join(f"<table><td><a href=/{n}>" for n in range(300))
        parse = self.read(nest + "word " * 100_000)
        assert len(parse.outlinks) == 300
        assert all(len(link.anchor) <= 1000 for link in parse.outlinks)
