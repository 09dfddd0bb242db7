"""Licence hints: links, Creative Commons, metadata; bounded, whatever the markup."""

from __future__ import annotations

from crawl.phases.export.tasks.licences import licence_hints

URL = "https://a.com/dir/page"


def test_hints_of_links_meta_tags_and_metadata() -> None:
    markup = (
        b'<LINK REL="License" HREF="/terms">'
        b"<a class=x rel='license noopener' href=\"cc.html\">l</a>"
        b'<meta name="dc.license" content="mine"><p>the license of license plates</p>'
        b'<a href="//creativecommons.org/licenses/by-sa/4.0/deed.de">CC</a>'
    )
    metadata = {"copyright": " (c)  me ", "json-ld": '[{"license": "https://l.org/x"}]'}
    assert licence_hints(markup, URL, metadata) == [
        "https://a.com/terms",
        "https://a.com/dir/cc.html",
        "mine",
        "https://creativecommons.org/licenses/by-sa/4.0/deed.de",
        "(c) me",
        "https://l.org/x",
    ]
    assert licence_hints(b"<p>nothing</p>", URL, {}) == []


def test_hints_are_few_and_short() -> None:
    many = b"".join(b'<a rel=license href="/%d">' % number for number in range(1000))
    assert len(licence_hints(many, URL, {})) == 10
    long = b'<a rel=license href="/' + b"x" * 1_500 + b'">'
    assert all(len(hint) <= 500 for hint in licence_hints(long, URL, {}))
    assert licence_hints(b"<a rel=license " * 50_000, URL, {}) == []
    assert licence_hints(b"license" * 100_000, URL, {"copyright": "x" * 9_999}) == ["x" * 500]
    assert licence_hints(b'<a rel=license href="http://[bad">', URL, {}) == []
