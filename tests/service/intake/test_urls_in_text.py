from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.errors import UsageError
from crawl.service.intake.urls_in_text import (
    MAX_TEXT_BYTES,
    MAX_URL_CHARACTERS,
    TextURLs,
    urls_in_text,
)
from crawl.urls.parse import canonical
from tests.examples import scaled

A, B = "http://a.example/", "http://b.example/"

CASES: list[tuple[str, list[str]]] = [
    # alone, and in a sentence
    ("http://a.example/", [A]),
    ("http://a.example", [A]),
    ("HTTP://A.Example/X", ["http://a.example/X"]),
    ("see http://a.example.", [A]),
    ("see http://a.example/x. And", ["http://a.example/x"]),
    ("see http://a.example/x...", ["http://a.example/x"]),
    ("http://a.example/x, http://b.example/y; more", ["http://a.example/x", "http://b.example/y"]),
    ("Really http://a.example/x?!", ["http://a.example/x"]),
    ("http://a.example/x?q=1!", ["http://a.example/x?q=1"]),
    ("so: http://a.example/x: it is", ["http://a.example/x"]),
    ("http://a.example/x\nhttp://b.example/y", ["http://a.example/x", "http://b.example/y"]),
    ("http://a.example/v1.2/x.tar.gz.", ["http://a.example/v1.2/x.tar.gz"]),
    ("http://a.example/it's", ["http://a.example/it's"]),
    ("http://a.example/~user/", ["http://a.example/~user/"]),
    ("http://a.example/a;b=1,2", ["http://a.example/a;b=1,2"]),
    ("http://a.example/@user!", ["http://a.example/@user"]),
    ("http://a.example:8080/x", ["http://a.example:8080/x"]),
    ("http://a.example:80 is up", [A]),
    ("http://a.example:see below", [A]),
    ("http://user:pass@a.example/x", ["http://user:pass@a.example/x"]),
    ("http://192.0.2.1/x.", ["http://192.0.2.1/x"]),
    ("http://[2001:db8::1]:81/x]", ["http://[2001:db8::1]:81/x"]),
    ("http://localhost:9000/x", ["http://localhost:9000/x"]),
    ("http://a.example?q=1", ["http://a.example/?q=1"]),
    ("http://a.example#part.", ["http://a.example/#part"]),
    # lists without blanks
    ("http://a.example,http://b.example", [A, B]),
    ("http://a.example/x,http://b.example/", ["http://a.example/x", B]),
    ("http://a.example/x;https://b.example/y", ["http://a.example/x", "https://b.example/y"]),
    ("|http://a.example/|http://b.example/|", [A, B]),
    ("http://a.example/ http://a.example http://a.example/", [A]),
    # one URL inside another
    (
        "https://archive.example/2020/http://a.example/x",
        ["https://archive.example/2020/http://a.example/x"],
    ),
    ("https://b.example/?u=http://a.example/", ["https://b.example/?u=http://a.example/"]),
    # brackets and quotation marks
    ("(http://a.example/)", [A]),
    ("(see http://a.example/x_(y))", ["http://a.example/x_(y)"]),
    ("http://a.example/x_(y)_z.", ["http://a.example/x_(y)_z"]),
    ("(http://a.example/x).", ["http://a.example/x"]),
    ("[http://a.example/x]", ["http://a.example/x"]),
    ("http://a.example/?a[]=1&b[0]=2", ["http://a.example/?a[]=1&b[0]=2"]),
    ("{http://a.example/x}", ["http://a.example/x"]),
    ("http://a.example/x(", ["http://a.example/x"]),
    ('"http://a.example/x."', ["http://a.example/x"]),
    ("'http://a.example/x','http://b.example/y'", ["http://a.example/x", "http://b.example/y"]),
    ("“http://a.example/x”", ["http://a.example/x"]),
    ("«http://a.example/x»", ["http://a.example/x"]),
    ("『http://a.example/x』", ["http://a.example/x"]),
    # angle brackets, as mails have them
    ("<http://a.example/x>", ["http://a.example/x"]),
    ("<URL:http://a.example/x>", ["http://a.example/x"]),
    ("<http://a.example/x,y.>", ["http://a.example/x,y."]),
    ("> http://a.example/x", ["http://a.example/x"]),
    ("http://a.example/x>", ["http://a.example/x"]),
    # Markdown
    ("[text](http://a.example/x)", ["http://a.example/x"]),
    ('[text](http://a.example/x "title")', ["http://a.example/x"]),
    ("[a](http://a.example/x_(y)) and", ["http://a.example/x_(y)"]),
    ("[http://a.example/](http://b.example/)", [A, B]),
    ("![](http://a.example/x.png)", ["http://a.example/x.png"]),
    ("[1]: http://a.example/x", ["http://a.example/x"]),
    ("**http://a.example/x**", ["http://a.example/x"]),
    ("_http://a.example/x_", ["http://a.example/x"]),
    ("~~http://a.example/x~~", ["http://a.example/x"]),
    ("`http://a.example/x`", ["http://a.example/x"]),
    # HTML
    ('<a href="http://a.example/?x=1&amp;y=2">', ["http://a.example/?x=1&y=2"]),
    ("<a href='http://a.example/x.'>", ["http://a.example/x."]),
    ("<a href=http://a.example/x>text</a>", ["http://a.example/x"]),
    ("<p>http://a.example/x</p>", ["http://a.example/x"]),
    ("&lt;http://a.example/x&gt;", ["http://a.example/x"]),
    ("&quot;http://a.example/x&quot;", ["http://a.example/x"]),
    ("http://a.example/?x=1&#38;y=2&nbsp;z", ["http://a.example/?x=1&y=2"]),
    ('<img srcset="http://a.example/1 1x, http://b.example/2 2x">', [A + "1", B + "2"]),
    ('{"url":"http://a.example/x","n":1}', ["http://a.example/x"]),
    ('"http://a.example/x\\nmore"', ["http://a.example/x"]),
    # without a scheme
    ("www.a.example", ["http://www.a.example/"]),
    ("go to www.a.example/x.", ["http://www.a.example/x"]),
    ("(www.a.example)", ["http://www.a.example/"]),
    ("WWW.a.example:8080/x", ["http://www.a.example:8080/x"]),
    ("见www.a.example。", ["http://www.a.example/"]),
    ("me@www.a.example", []),
    ("awww.a.example", []),
    ("www. no", []),
    # text of scripts without blanks right against a URL
    ("请看https://example.com/x这里", ["https://example.com/x"]),
    ("https://example.com/をご覧", ["https://example.com/"]),
    ("https://example.comをご覧", ["https://example.com/"]),
    ("https://example.co.jpです", ["https://example.co.jp/"]),
    ("（https://example.com/x）。", ["https://example.com/x"]),
    ("https://example.com/x，还有", ["https://example.com/x"]),
    ("https://example.com/x입니다", ["https://example.com/x"]),
    ("https://ja.example/wiki/日本", ["https://ja.example/wiki/%E6%97%A5%E6%9C%AC"]),
    ("https://ja.example/?q=日本 で", ["https://ja.example/?q=%E6%97%A5%E6%9C%AC"]),
    ("[語](https://ja.example/日)", ["https://ja.example/%E6%97%A5"]),
    # other scripts, and hosts in them
    ("https://ru.example/wiki/Мир.", ["https://ru.example/wiki/%D0%9C%D0%B8%D1%80"]),
    (
        "https://hi.example/नमस्ते",
        ["https://hi.example/%E0%A4%A8%E0%A4%AE%E0%A4%B8%E0%A5%8D%E0%A4%A4%E0%A5%87"],
    ),
    ("https://bücher.example/x", ["https://xn--bcher-kva.example/x"]),
    ("https://例え.jp/x", ["https://xn--r8jz45g.jp/x"]),
    ("https://日本語.jpです", ["https://xn--wgv71a119e.jp/"]),
    ("https://пример.испытание/", ["https://xn--e1afmkfd.xn--80akhbyknj4f/"]),
    # percent signs
    ("http://a.example/%E6%97%A5?x=%20", ["http://a.example/%E6%97%A5?x=%20"]),
    ("http://a.example/100%", ["http://a.example/100%"]),
    # what cannot be seen, and pictures
    ("http://a.example/x\u200bmore", ["http://a.example/x"]),
    ("http://a.example/x\u202emore", ["http://a.example/x"]),
    ("http://a.example/x\u00a0more", ["http://a.example/x"]),
    ("http://a.example/x\x00more", ["http://a.example/x"]),
    ("http://a.example/x🎉", ["http://a.example/x"]),
    # no URLs
    ("", []),
    ("http://", []),
    ("http:// a.example", []),
    ("https://.", []),
    ("http://...", []),
    ("xhttp://a.example", []),
    ("ftp://a.example/ mailto:me@a.example", []),
    ("http:a.example", []),
    ("http://a.example/lon…", []),
    ("http://999.999.999.999/", []),
]


@pytest.mark.parametrize(("text", "urls"), CASES)
def test_the_urls_of_a_text(text: str, urls: list[str]) -> None:
    assert list(urls_in_text(text).urls) == urls


def test_there_are_enough_cases() -> None:
    assert len({text for text, _ in CASES}) == len(CASES) >= 60


def test_what_is_no_url_is_counted() -> None:
    text = f"http:// http://a.example http://a.example/lon… {A} http://b.example/{'x' * 5000} {A}"
    assert urls_in_text(text) == TextURLs((A,), duplicates=2, malformed=1, elided=1, too_long=1)


def test_no_more_urls_than_asked_for() -> None:
    text = " ".join(f"http://a.example/{number}" for number in range(5))
    found = urls_in_text(text, most=3)
    assert found.urls == tuple(f"http://a.example/{number}" for number in range(3))
    assert found.is_cut
    assert not urls_in_text(text, most=5).is_cut


def test_a_text_that_is_too_long_is_refused() -> None:
    assert urls_in_text("x" * MAX_TEXT_BYTES).urls == ()
    for text in ("x" * (MAX_TEXT_BYTES + 1), "日" * (MAX_TEXT_BYTES // 3 + 1)):
        with pytest.raises(UsageError, match="at most 1,048,576"):
            urls_in_text(text)


@pytest.mark.parametrize(
    "piece",
    [
        "http://", "http://a", "www.a", '"http://a', "'http://a", "<http://a", "](http://a",
        "http://a/(", "http://a/,", "http://a@", "http://a:b@", "http://[", "&amp;", "http://a/&",
        "日http://a.b日", "http://a.example/日",
    ],
)  # fmt: skip
def test_hostile_texts_end(piece: str) -> None:
    """With time that grew by the square of the length, each would take hours."""
    found = urls_in_text((piece * MAX_TEXT_BYTES)[: MAX_TEXT_BYTES // 4])
    assert all(len(url) <= 10 * MAX_URL_CHARACTERS for url in found.urls)


_SIGNS = [
    "http://",
    "https://",
    "www.",
    "a.example",
    "&amp;",
    "&gt;",
    "](",
    *"/?#()[]<>'日….,:@% _",
]
_PIECES = st.lists(
    st.one_of(
        st.sampled_from(_SIGNS),
        st.text(max_size=4),
    ),
    max_size=40,
).map("".join)


@settings(max_examples=scaled(500))
@given(_PIECES)
def test_of_any_text_only_urls_are_found(text: str) -> None:
    found = urls_in_text(text)
    assert len(set(found.urls)) == len(found.urls)
    for url in found.urls:
        assert canonical(url) == url
        assert re.match(r"https?://[^/?#]", url)
        assert not re.search(r"[\x00-\x20\x7f-\U0010ffff<>]", url.partition("#")[0])


_NAMES = st.text("abcxyz0189", min_size=1, max_size=8)
_URLS = st.builds(
    lambda host, path, query: f"https://{host}.example/{'/'.join(path)}{query}",
    _NAMES,
    st.lists(_NAMES, max_size=3),
    st.sampled_from(["", "?a=1", "?a=1&b=2", "#x"]),
)


@settings(max_examples=scaled(300))
@given(
    st.lists(
        st.tuples(
            _URLS,
            st.sampled_from([(" ", " "), ("(", ") "), ("<", ">"), ('"', '"'), ("[x](", ")")]),
            st.sampled_from(["", ". ", ", and ", "\n", "。", "、そして"]),
        ),
        max_size=10,
    )
)
def test_urls_among_words_are_found_in_their_order(
    pieces: list[tuple[str, tuple[str, str], str]],
) -> None:
    text = "".join(f"{before}{url}{after}{words}" for url, (before, after), words in pieces)
    assert urls_in_text(text).urls == tuple(dict.fromkeys(url for url, _, _ in pieces))


@settings(max_examples=scaled(200))
@given(_URLS, st.sampled_from([".", ",", "!", "?", ")", "]", ">", '"', "、", "。", "”", "』"]))
def test_a_sign_at_the_end_changes_nothing(url: str, sign: str) -> None:
    assert urls_in_text(url + sign).urls == (url,)
