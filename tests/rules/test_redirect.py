from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.rules.redirect import RedirectRules, redirect_target, representative, why_refused

SRC, DST = "source", "target"

#    from                          to                              permanent  temporary
TABLE = [
    # another domain: the target, whatever else is said
    ("http://a.com/", "http://b.com/", DST, DST),
    ("http://a.com/", "http://b.com/x/y", DST, DST),
    ("http://a.co.uk/", "http://b.co.uk/", DST, DST),
    ("http://192.0.2.1/", "http://192.0.2.2/", DST, DST),
    # from the root of a site
    ("http://a.com/", "http://a.com/index.html", SRC, SRC),
    ("http://a.com", "http://www.a.com/x", SRC, SRC),
    ("http://www.a.com/", "http://a.com/x", SRC, SRC),
    ("http://a.com/", "http://a.com/?y=1", SRC, SRC),
    # to the root of a site
    ("http://a.com/x", "http://a.com/", DST, DST),
    ("http://a.com/?y=1", "http://a.com/", DST, DST),
    ("http://a.com/x", "http://www.a.com/", DST, DST),
    # from root to root: a permanent move is not heard there; the shorter name, or the old one
    ("http://www.a.com/", "http://a.com/", SRC, DST),
    ("http://a.com/", "http://www.a.com/", SRC, SRC),
    ("http://a.com/", "https://a.com/", SRC, SRC),
    ("http://x.a.com/", "http://y.a.com/", SRC, SRC),
    # within a host
    ("http://a.com/x", "http://a.com/x/y", DST, SRC),
    ("http://a.com/x/y", "http://a.com/x", DST, DST),
    ("http://a.com/long-name", "http://a.com/x", DST, DST),
    ("http://a.com/x", "http://a.com/long-name", DST, SRC),
    ("http://a.com/abc", "http://a.com/x/", DST, DST),  # one segment either way
    ("http://a.com/aa/b", "http://a.com/long-name", DST, DST),  # segments before length
    ("http://a.com/one", "http://a.com/two", DST, SRC),
    ("http://a.com/one", "http://a.com/one?session=7", DST, SRC),
    ("http://a.com/one", "https://a.com/one", DST, SRC),
    # between hosts of a domain
    ("http://a.com/x/y/z", "http://www.a.com/x", DST, SRC),
    ("http://www.a.com/x", "http://a.com/x/y/z", DST, DST),
    ("http://x.a.com/long", "http://y.a.com/s", DST, SRC),
    # no URL
    ("nonsense", "http://a.com/", DST, DST),
    ("http://a.com/", "nonsense", DST, DST),
    ("http://a.com/", "mailto:someone@a.com", DST, DST),
]


@pytest.mark.parametrize(("source", "target", "permanent", "temporary"), TABLE)
def test_which_url_stands_for_the_page(
    source: str, target: str, permanent: str, temporary: str
) -> None:
    by_word = {SRC: source, DST: target}
    assert representative(source, target, temporary=False) == by_word[permanent]
    assert representative(source, target, temporary=True) == by_word[temporary]


@given(st.text(max_size=30), st.text(max_size=30), st.booleans())
def test_it_is_always_one_of_the_two(source: str, target: str, temporary: bool) -> None:
    for one in (source, f"http://a.com/{source}"):
        for two in (target, f"http://www.a.com/{target}"):
            assert representative(one, two, temporary=temporary) in (one, two)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "FILE:/etc/passwd", "file://h/x"])
def test_no_server_sends_us_to_files(target: str) -> None:
    for rules in (RedirectRules(), RedirectRules(ignore_external=True)):
        assert rules.why_dropped("http://a.org/x", target) == "local_file"
    assert why_refused("ftp://a.org/x", target) == "local_file"
    assert why_refused("file:///x", target) == ""
    assert why_refused("http://a.org/x", "http://b.org/file:///x") == ""


@pytest.mark.parametrize(
    ("settings", "target", "reason"),
    [
        ({}, "http://b.org/", ""),
        ({}, "http://b.org/" + "x" * 5000, "too_long"),
        ({"db.max.outlink.length": 12}, "http://b.org/", "too_long"),
        ({"db.ignore.external.links": True}, "http://b.org/", "external"),
        ({"db.ignore.external.links": True}, "http://www.a.org/", "external"),
        ({"db.ignore.external.links": True}, "http://a.org/y", ""),
        (
            {"db.ignore.external.links": True, "db.ignore.external.links.mode": "byDomain"},
            "http://www.a.org/",
            "",
        ),
        ({"db.ignore.internal.links": True}, "http://a.org/y", "internal"),
        ({"db.ignore.internal.links": True}, "http://b.org/", ""),
        (
            {"db.ignore.external.links": True, "db.ignore.also.redirects": False},
            "http://b.org/",
            "",
        ),
    ],
)
def test_what_is_ignored_as_a_link_is_ignored_as_a_target(
    settings: dict[str, object], target: str, reason: str
) -> None:
    rules = RedirectRules.of(Config.of(settings))
    assert rules.why_dropped("http://a.org/x", target) == reason


@pytest.mark.parametrize(
    ("location", "target"),
    [
        (b"/x", "http://a.com/x"),
        (b"", None),
        (b"  ", None),
        (b"http://", None),
        (b"?q=caf\xc3\xa9", "http://a.com/p?q=caf%C3%A9"),
        (b"/\xe9", "http://a.com/%E9"),
        (b"/%C3%A9 b", "http://a.com/%C3%A9%20b"),
        (b"//b.com/x", "http://b.com/x"),
        ("http://m\u00fcller.de/\u65e5".encode(), "http://xn--mller-kva.de/%E6%97%A5"),
        (b"http://m\xfcller.de/", None),
        (b"/a\x01b\x7f", "http://a.com/a%01b%7F"),
    ],
)
def test_a_location_with_odd_bytes(location: bytes, target: str | None) -> None:
    assert redirect_target("http://a.com/p", location.decode("latin-1")) == target
