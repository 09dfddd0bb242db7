"""Pages made to do harm: their cards are bounded, and tell what is left out."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.model.parse import Parse
from crawl.parsing.card import read
from crawl.parsing.card.card import MAX_CARD, Card, from_json, to_json
from crawl.parsing.card.read import read_card
from crawl.parsing.card.stored import CARD_KEY, card_of, card_text
from tests.examples import scaled
from tests.parsing.card.card_pages import card, json_ld, meta, page_of, parsed

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
LONG = "x" * 5_000
WIDE = '\U0001f600"\\' * 3_000


def checked(found: Card) -> Card:
    """What holds of every card."""
    written = to_json(found)
    assert len(written) <= MAX_CARD
    assert from_json(written) == found == card_of({CARD_KEY: card_text(found)})
    for text in _texts(json.loads(written)):
        assert CONTROLS.search(text) is None, text[:200]
    urls = [found.canonical]
    urls.extend(feed.url for feed in found.feeds)
    urls.extend(icon.url for icon in found.icons)
    urls.extend(oembed.url for oembed in found.oembed)
    urls.append(found.image.url if found.image else "")
    assert all(url.startswith(("http://", "https://")) for url in urls if url)
    return found


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for each in value.values() for text in _texts(each))]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def test_a_hundred_thousand_meta_tags() -> None:
    many = "".join(f'<meta property="og:x{n}" content="{n}">' for n in range(100_000))
    found = checked(card(meta(og__title="T") + many))
    assert found.title == "T"
    assert len(found.open_graph) == 60
    assert found.left_out == {"meta.limit": 99_001, "open_graph.limit": 940}


def test_ten_megabytes_of_description() -> None:
    found = checked(card(meta(description="words " * 1_800_000, og__title="x" * 1_000_000)))
    assert len(found.description) == 1_000 and len(found.title) == 500


@pytest.mark.parametrize(
    "script",
    [
        "[" * 50_000,
        '{"@graph":[' * 2_000 + "]}" * 2_000,
        '{"author":' * 900 + "1" + "}" * 900,
        json.dumps({"@type": "Article", "author": [{"name": f"n{n}"} for n in range(3_000)]}),
        json.dumps({"@type": "Article", "headline": 1 << 4_000, "image": [[[["x"]]]]}),
        json.dumps(
            {"@type": "Article", "@id": "#a", "author": {"@id": "#a"}, "image": {"@id": "#a"}}
        ),
        json.dumps({"@type": {"a": 1}, "@graph": {"@graph": {"@graph": {}}}, "image": {"url": {}}}),
        '{"@type": "Article", "headline": 1e999, "image": {"url": "/x", "width": 1e999}}',
        '{"@type": "Article", "headline": "\\ud800\\u0000\\u202e", "image": "\\ud800"}',
        json.dumps({f"p{n}": "v" * 900 for n in range(70)} | {"@type": "Thing"}),
        "null",
        "[[[[1]]]]",
    ],
)
def test_json_ld_that_does_harm(script: str) -> None:
    found = checked(card(f"<title>T</title><script type=application/ld+json>{script}</script>"))
    assert not any(reason.startswith("failed") for reason in found.left_out)
    assert found.title
    assert len(found.authors) <= 10


@pytest.mark.parametrize(
    "reference",
    [
        *("javascript:alert(1)", " JavaScript:alert(1)", "data:image/png;base64,AAAA", "file:///x"),
        *("ftp://a.test/x", "blob:https://a.test/1", "vbscript:x", "http://", "http://[::1", "//"),
        *("https://a.test/" + "x" * 3_000, "mailto:a@b.test", "java\nscript:alert(1)"),
    ],
)
def test_only_web_addresses_are_kept(reference: str) -> None:
    markup = (
        meta(og__image=reference, og__url=reference, twitter__image=reference)
        + meta(twitter__player=reference, og__x=reference)
        + f'<link rel=icon href="{reference}"><link rel=image_src href="{reference}">'
        + f'<link rel=alternate type=application/rss+xml href="{reference}">'
        + f'<link rel=alternate type=application/json+oembed href="{reference}">'
        + json_ld({"@type": "Article", "image": reference, "url": reference})
        + f'<img src="{reference}" width=400 height=300>'
    )
    found = checked(card(markup))
    assert found.image is None and not found.canonical
    assert not (found.icons or found.feeds or found.oembed)
    for reason in ("image.address", "canonical.address", "icons.address", "feeds.address"):
        assert found.left_out[reason] >= 1
    for text in _texts(json.loads(to_json(found))):
        assert not re.match(r"\s*(javascript|data|vbscript|blob|file):", text, re.I)


def test_control_characters_go_and_words_stay() -> None:
    text = "a\x00\x1b[31mb\u202e\u2066c\x85d\x07\u200d e\r\nf"
    found = checked(card(meta(og__title=text, author=text, og__site_name=text)))
    assert found.title.replace("\ufffd", "") == "a[31mbc d\u200d e f"
    assert found.authors == (found.site_name,) == (found.title,)


@pytest.mark.parametrize("charset", ["utf-8", "shift_jis", "utf-16le", "gb18030", "x-user-defined"])
def test_charsets_that_are_not_the_page_s(charset: str) -> None:
    body = (meta(og__title="Grüße 日本") + LONG).encode() + bytes(range(256)) * 4
    assert checked(card(body, charset=charset)).charset == charset


def test_a_card_whose_parts_are_all_full_leaves_out_what_can_be_done_without() -> None:
    names = "".join(meta(**{f"og__n{n}": WIDE}) for n in range(50))
    many = "".join(
        f'<link rel=icon href="/i{n}{"%41" * 600}"><link rel=alternate type=application/rss+xml'
        f' title="{LONG}" href="/f{n}{"%41" * 600}">'
        for n in range(40)
    )
    article = {"@type": "Article", "author": [WIDE[:300] + str(n) for n in range(3)]}
    article |= {f"p{n}": WIDE[:900] for n in range(9)}
    wide = WIDE.replace('"', "&quot;")
    found = checked(
        card(
            meta(og__title=wide, og__description=wide, og__site_name=wide, og__image__alt=wide)
            + meta(og__image="/p" + "%41" * 600, twitter__a=wide)
            + names.replace(WIDE, wide)
            + many
            + json_ld(article)
        )
    )
    assert found.left_out["json_ld.size"] == 1
    assert len(found.title) == 500 and len(found.description) == 1_000
    assert found.left_out["icons.limit"] == 20 and found.left_out["feeds.limit"] == 30


def test_a_reader_that_fails_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> Card:
        raise RecursionError("too deep")

    monkeypatch.setattr(read, "html_card", failing)
    page = page_of("<title>T</title>")
    assert checked(read_card(page, parsed(page))) == Card(
        charset="utf-8", mime_type="text/html", left_out={"failed.RecursionError": 1}
    )


def test_a_parse_full_of_rubbish() -> None:
    rubbish = dict.fromkeys(("json-ld", "microdata", "opengraph", "date", "card"), LONG + "\x00[{")
    for kind in ("text/html", "image/png", "application/pdf", "", "x" * 10_000, "text/\x1b"):
        page = page_of(b"\x89PNG\r\n\x1a\n", kind)
        checked(read_card(page, Parse(page.url, title="\ud800", canonical="::", metadata=rubbish)))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"title": 5}', '"x"', "{}" + " " * 40_000, "\ud800"]
)
def test_what_is_no_card_is_none(text: str) -> None:
    assert card_of({CARD_KEY: text}) is None
    assert card_of({}) is None


PIECES = st.sampled_from(
    [
        *("<title>", "</title>", "<meta ", "property=og:image ", "content=", "name=author ", ">"),
        *("<link rel=icon href=", "<base href=", "<script type=application/ld+json>", "</script>"),
        *('{"@type":"Article","headline":', '"@graph":[', "]", "}", ",", '"x"', "1", "null", "/a"),
        *("<img width=400 height=300 src=", "<h1>", "<time itemprop=datePublished>", "2026-01-02"),
        *("property=og:title ", "property=og:image:width ", "javascript:x", "//a.test/", "&#0;"),
    ]
)
TEXTS = st.text(max_size=30)


@given(
    st.lists(PIECES | TEXTS, max_size=40), st.sampled_from(["utf-8", "windows-1252", "utf-16le"])
)
@settings(max_examples=scaled(300), deadline=None)
def test_every_page_has_a_card_that_is_bounded_json(pieces: list[str], charset: str) -> None:
    body = "".join(pieces).encode("utf-8", "surrogatepass")
    found = checked(card(body, charset=charset))
    assert not any(reason.startswith("failed") for reason in found.left_out), found.left_out


@given(
    st.lists(st.tuples(st.sampled_from(["og:image", "og:title", "twitter:a"]), TEXTS), max_size=30)
)
@settings(max_examples=scaled(200), deadline=None)
def test_every_value_of_a_tag_is_bounded_json(pairs: list[tuple[str, str]]) -> None:
    markup = "".join(
        f'<meta property="{name}" content="{text.replace(chr(34), "")}">' for name, text in pairs
    )
    checked(card(markup))
