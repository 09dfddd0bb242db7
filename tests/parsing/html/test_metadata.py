from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.html.links import AbsoluteLinks
from crawl.parsing.html.metadata import HtmlMetadata, language_code, refresh_of

URL = "http://example.com/a/b"


def test_language_codes() -> None:
    for text, code in {
        "en": "en",
        "EN-us": "en",
        "zh_Hant": "zh",
        "de, en": "de",
        "de;q=1": "de",
        "gsw": "gsw",
        "": "",
        "x": "",
        "english": "",
        "und": "",
        "日本": "",
        "en\x00": "",
        "1": "",
    }.items():
        assert language_code(text) == code, text


def test_refreshes() -> None:
    for content, expected in {
        "0;url=/x": (0, "/x"),
        "0;/x": (0, "/x"),
        "7.9 ; URL='a b' c": (7, "a b"),
        "0;url='never ends": (0, "never ends"),
        "0;url=url=x": (0, "url=x"),
        "0;urlx": (0, "urlx"),
        "5": None,
        "5;": None,
        "5; ''": None,
        "x": None,
        "": None,
        "0;url=#x": None,
    }.items():
        assert refresh_of(content) == expected, content


def test_no_url_is_without_bound() -> None:
    facts, long = HtmlMetadata(), "/" + "x" * 5_000
    facts.base({"href": f"http://example.org{long}/"})
    facts.base({"href": "http://example.org/"})
    absolute = facts.absolute_links(URL)
    assert absolute["x"] == "http://example.org/x"
    feed = {"type": "application/rss+xml"}
    for target in (long, "/short"):
        facts.link({"href": target, "hreflang": f"de-{len(target)}"}, "alternate", is_head=True)
        facts.link({"href": target, **feed}, "alternate", is_head=True)
        facts.link({"href": target}, "image_src", is_head=True)
    short = "http://example.org/short"
    assert facts.metadata(absolute) == {"hreflang.de-6": short, "feeds": short}


NAMES = st.sampled_from(
    ("name", "property", "http-equiv", "content", "rel", "href", "hreflang", "type", "lang")
)
VALUES = st.text(max_size=30) | st.sampled_from(
    (
        *("robots", "refresh", "0;url=/x", "og:image", "canonical", "alternate", "image_src"),
        *("application/rss+xml", "http://[", "/x", "none", "content-language", "de"),
    )
)


@given(st.lists(st.dictionaries(NAMES, VALUES | st.none(), max_size=4), max_size=8))
def test_any_attributes_are_read(elements: list[dict[str, str | None]]) -> None:
    facts = HtmlMetadata()
    for attributes in elements:
        facts.html(attributes)
        facts.meta(attributes, is_noscript=False)
        facts.link(attributes, (attributes.get("rel") or "").lower(), is_head=True)
        facts.json_ld(attributes.get("content") or "")
    absolute = AbsoluteLinks(URL)
    metadata = facts.metadata(absolute)
    assert all(isinstance(value, str) and value for value in metadata.values())
    assert all(isinstance(directive, str) for directive in facts.directives("mybot"))
    for url in (facts.canonical(absolute), metadata.get("image", "")):
        assert url == "" or absolute[url] == url
    refresh = facts.refresh(absolute, URL)
    assert refresh is None or refresh.url.startswith(("http", "ftp", "file"))


@given(st.recursive(st.none() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_any_json_ld_is_read(found: object) -> None:
    import json

    facts = HtmlMetadata()
    text = json.dumps(found)
    facts.json_ld(text)
    facts.json_ld("[" * 100_000)
    facts.json_ld("1" * 5_000)
    assert json.loads(facts.metadata(AbsoluteLinks(URL))["json-ld"])[0] == found
