from __future__ import annotations

import pytest
from hypothesis import assume, given

from crawl.urls.parse import (
    URL,
    canonical,
    host_of,
    parse,
    resolve,
    resolver,
    scheme_of,
    serialize,
)
from tests.urls.texts import texts

WICKED = (
    "",
    "\0",
    "http://\ud800/",
    "http://[",
    "http://%zz/",
    "http://a:99999999999999999999/",
    "x" * 1_000_000,
    "http://" + "ü" * 100_000 + "/",
    "http://a/" + "../" * 300_000,
    "http://" + "@" * 1_000_000,
)


def test_all_the_parts() -> None:
    assert parse("HTTPS://u:p@Müller.DE:8443/a/../b?x=1#top") == URL(
        "https", "u", "p", "xn--mller-kva.de", 8443, "/b", "x=1", "top"
    )


def test_the_schemes_own_port_is_no_port() -> None:
    assert parse("http://a:80/") == parse("http://a/")
    assert parse("https://a:443/") == parse("https://a/")
    assert str(parse("https://a:80/")) == "https://a:80/"


def test_an_empty_query_is_not_a_missing_one() -> None:
    empty, missing = parse("http://a/?"), parse("http://a/")
    assert empty is not None and empty.query == ""
    assert missing is not None and missing.query is None


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http:\\\\evil.com\\x", "evil.com"),
        ("http://good.com\\@evil.com/", "good.com"),
        ("http://good.com@evil.com/", "evil.com"),
        ("http:///a.com/", "a.com"),
        (" \thttp://a\n.com/", "a.com"),
        ("http://[0:0::1]:80/", "[::1]"),
        ("http://例え.jp/", "xn--r8jz45g.jp"),
        ("file:///etc/passwd", None),
        ("mailto:a@b.com", None),
        ("www.example.com", None),
    ],
)
def test_hosts_as_a_browser_reads_them(text: str, host: str | None) -> None:
    assert host_of(text) == host


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://xn--a/", "xn--a"),
        ("HTTP://WWW.XN--A.Example/", "www.xn--a.example"),
        ("http://xn--/", "xn--"),
        ("https://xn--a:8443/?q", "xn--a"),
        ("http://u:p@xn--1ch.xn--mller-kva.de/", "xn--1ch.xn--mller-kva.de"),
        (" http://x\tn--a\n.com/ ", "xn--a.com"),
        ("http://%78%6E%2d-a%2Ecom/", "xn--a.com"),
        ("http:\\\\xn--a\\x", "xn--a"),
        ("http:xn--a", "xn--a"),
        ("http://q--.qq--b.xn--a/", "q--.qq--b.xn--a"),
        ("http://xn--a.1.2.3.4/", None),
        ("http://xn--a b/", None),
        ("http://xn--a /", None),
        ("http://xn--a \0", "xn--a"),
        ("http://xn--a%00/", None),
        ("http://xn--a:99999/", None),
        ("http://ü.xn--a/", None),
        ("http://%c3%bc.xn--a/", None),
        ("http://xn--a.\u00ad/", None),
        ("http://a..xn--/", "a..xn--"),
        ("http://\u200d/", None),
        ("//xn--a/", None),
    ],
)
def test_a_label_that_cannot_be_decoded_is_kept(text: str, host: str | None) -> None:
    found = parse(text)
    assert host_of(text) == host == (found and found.host)
    if found is not None:
        assert canonical(text) == str(found) and parse(str(found)) == found
        assert scheme_of(text) == found.scheme


def test_links_of_and_to_a_host_that_cannot_be_decoded() -> None:
    base = "http://u@xn--a.com:8080/b/c?d"
    for page in (base, "http://b.org/"):
        assert resolve(page, "HTTP://XN--b/ü") == "http://xn--b/%C3%BC"
        assert resolve(page, "//xn--b") == resolve(page, "\\/\\xn--b") == "http://xn--b/"
        assert resolve(page, "///qq--b.xn--b") == "http://qq--b.xn--b/"
        assert resolve(page, "//ü.xn--b") is None
    assert resolve(base, "../xn--x/xn--y?xn--a#xn--b") == (
        "http://u@xn--a.com:8080/xn--x/xn--y?xn--a#xn--b"
    )
    assert resolve(base, "//b.org") == "http://b.org/"
    assert resolve(base, "http://[") is None
    assert resolver(base, "windows-1252")("?ü") == "http://u@xn--a.com:8080/b/c?%FC"
    assert resolve("http://xn--a b/", "x") is None


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("///host/path", "http://host/path"),
        ("////host/path?q#f", "http://host/path?q#f"),
        ("http:///host/path", "http://host/path"),
        ("https:////host", "https://host/"),
        ("\\\\host\\path", "http://host/path"),
        ("\\\\\\host", "http://host/"),
        ("/\\/host", "http://host/"),
        ("//\\host", "http://host/"),
        (" \n/\t//host:8080/ ", "http://host:8080/"),
        ("///user@host", "http://user@host/"),
        ("http:/host", "http://a.com/host"),
        ("///", None),
        ("///?q", None),
        ("http://@/x//y", None),
        ("x///y", "http://a.com/b/x///y"),
    ],
)
def test_three_slashes_and_a_host_resolve_as_in_a_browser(
    reference: str, target: str | None
) -> None:
    assert resolve("http://a.com/b/c?d", reference) == target
    assert resolver("http://a.com/b/c?d")(reference) == target


def test_only_the_query_is_in_the_charset_of_the_page() -> None:
    resolved = resolver("http://a.com/b?c", "shift_jis")
    assert resolved("日?日#日") == "http://a.com/%E6%97%A5?%93%FA#%E6%97%A5"
    assert resolved("///日本.jp/?日") == "http://xn--wgv71a.jp/?%93%FA"
    assert resolved("?a=b") == "http://a.com/b?a=b"
    assert resolved("?\ud800") is None
    assert resolved("http://[?日") is None
    assert resolver("http://a.com/", "utf-16le")("?日") == "http://a.com/?%E6%97%A5"
    assert resolver("http://a.com/", "cp932")("?日") == "http://a.com/?%E6%97%A5"


def test_three_slashes_on_a_file_system_are_no_host() -> None:
    assert resolve("file:///d/e", "///host/path") == "file:///host/path"


def test_resolution() -> None:
    base = "http://a.com/b/c?d"
    assert resolve(base, "../e#f") == "http://a.com/e#f"
    assert resolve(base, "//x.org") == "http://x.org/"
    assert resolve(base, "/\\evil.com") == "http://evil.com/"
    assert resolve(base, "javascript:alert(1)") == "javascript:alert(1)"
    assert resolve(base, "http://[") is None
    assert resolve("mailto:a@b.com", "x") is None
    assert resolve("no url", "http://a/") is None


def test_no_path_turns_into_a_host() -> None:
    assert str(parse("web+demo:/.//not-a-host/")) == "web+demo:/.//not-a-host/"


@pytest.mark.parametrize("text", WICKED)
def test_wicked_texts_are_answered(text: str) -> None:
    assert (parse(text) is None) == (canonical(text) is None) == (scheme_of(text) is None)
    assert resolve("http://a.com/", text) is None or resolve("http://a.com/", text)


@given(texts)
def test_the_parts_put_together_are_the_canonical_url(text: str) -> None:
    """Of schemes that nobody fetches, parts do not tell an empty authority (`q://`) from none."""
    found, written = parse(text), canonical(text)
    if found is not None and not found.host and found.scheme != "file":
        assume(not str(written).startswith(f"{found.scheme}://"))
    assert (None if found is None else serialize(found)) == written


@given(texts)
def test_canonical_is_idempotent_and_the_accessors_agree(text: str) -> None:
    found, written = parse(text), canonical(text)
    assert scheme_of(text) == (found and found.scheme)
    assert host_of(text) == ((found and found.host) or None)
    if written is not None:
        assert canonical(written) == written


@given(texts, texts)
def test_resolution_gives_an_absolute_url_or_none(base: str, reference: str) -> None:
    found = resolve(base, reference)
    assert found is None or canonical(found) == found


@given(texts, texts)
def test_many_links_of_one_page_are_resolved_as_each_alone(base: str, reference: str) -> None:
    for page in (base, "http://a.com/b/c?d"):
        assert resolver(page)(reference) == resolve(page, reference)
