from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.parse import Outlink
from crawl.parsing.text.links import MAX_URL, link_of, links_in_text
from crawl.urls.parse import canonical
from tests.urls.texts import texts


def found(text: str) -> list[str]:
    return [link.url for link in links_in_text(text).links]


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("", []),
        ("no link, http: nor http:// nor www.example.com", []),
        ("see http://example.com.", ["http://example.com/"]),
        ("HTTP://EXAMPLE.COM/A", ["http://example.com/A"]),
        ("ftp://h/x, https://h/y;z!", ["ftp://h/x", "https://h/y;z"]),
        ("<http://a.com/b>", ["http://a.com/b"]),
        ('"http://a.com/b"', ["http://a.com/b"]),
        ("(http://a.com/b)", ["http://a.com/b"]),
        ("(see http://a.com/b_(c))", ["http://a.com/b_(c)"]),
        ("[http://a.com/[1]]", ["http://a.com/[1]"]),
        ("请看http://a.cn/x。好", ["http://a.cn/x"]),
        ("«http://a.fr/x»", ["http://a.fr/x"]),
        ("http://müller.de/ä", ["http://xn--mller-kva.de/%C3%A4"]),
        ("http://a.com http://a.com/ http://b.com", ["http://a.com/", "http://b.com/"]),
        ("javascript:alert(1) mailto:a@b.c shttp://a.com", []),
        ("http://[::1 http://999.999.999.999/", []),
    ],
)
def test_links_of_a_sentence(text: str, links: list[str]) -> None:
    assert found(text) == links


def test_what_never_ends_is_no_link() -> None:
    assert found("http://a.com/" + "x" * (MAX_URL * 3) + " http://b.com/") == ["http://b.com/"]


def test_links_are_bounded() -> None:
    text = " ".join(f"http://a.com/{number}" for number in range(100))
    found = links_in_text(f"{text} {text}", most=3)
    assert [link.url for link in found.links] == [
        *("http://a.com/0", "http://a.com/1", "http://a.com/2")
    ]
    assert found.over_limit == 97


def test_what_is_too_far_behind_to_be_looked_at_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawl.parsing.text.links.MAX_LOOKED_AT", 10)
    assert links_in_text("http://a.com/ " * 25) == ((Outlink("http://a.com/"),), 15)


@pytest.mark.parametrize(
    "text",
    ["http://" * 200_000, "http://a" * 200_000, "h" * 2_000_000, ("http://a/" + ".)" * 1900) * 200],
)
def test_floods_of_beginnings(text: str) -> None:
    assert len(links_in_text(text).links) <= 1


@given(texts, texts)
def test_each_link_is_a_url_in_its_standard_form(before: str, after: str) -> None:
    for link in links_in_text(f"{before} http://example.com/{after}").links:
        assert canonical(link.url) == link.url


@given(st.one_of(texts, texts.map(lambda text: "http://example.com/" + text)))
def test_a_whole_link_is_one_without_blanks(text: str) -> None:
    link = link_of(text)
    assert link is None or (canonical(text) == link and " " not in text)
