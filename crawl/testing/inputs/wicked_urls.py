"""URLs and texts that break plugins: those that once did, and a fixed jumble of the
pieces they are made of."""

from __future__ import annotations

import random

WICKED: tuple[str, ...] = (
    *("", " ", "\0", "\n", "x", "http:", "http://", "http:///", "http:////", "//host/path"),
    *("www.example.com", "/path", "?query", "#fragment", "mailto:a@example.com"),
    *("javascript:alert(1)", "data:text/plain,x", "tel:+1", "about:blank", "urn:isbn:0"),
    *("HTTP://EXAMPLE.COM", "http://example.com?a=1", "http://example.com#!state=1"),
    *("http://user:secret@example.com/", "https://example.com:443/", "http://example.com:8080/a"),
    *("http://example.com:99999/", "http://example.com:/", "http://example.com./a/../b/./c//d"),
    *("http://[::1]/", "http://[::1]:8080/x?y#z", "http://[fe80::1%25eth0]/", "http://[/"),
    *("http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://256.256.256.256/"),
    *("http://müller.de/ä?ö=ü#ß", "http://xn--mller-kva.de/", "http://xn--a/", "http://日本.jp/"),
    *("http://a.com/%", "http://a.com/%zz%4", "http://a.com/%41%7e%c3%bc", "http://%61.com/"),
    *("http://a.com/\ud800", "http://\udfff.com/", "http://a.com/\ufeff\u200d\u2028"),
    *("http://a.com/a b\tc\nd", "http://a.com/x\n", "http://a.com\\@b.com/", "http:\\\\a.com\\b"),
    *("http://a.com/<>\"'`{}|^[]", "http://a.com/?q='x'&&b=1&a=2&", "http://a.com/..;/x"),
    *("http://a.com/?_escaped_fragment_=x%26y&z=1", "http://a.com/x;jsessionid=1?PHPSESSID=2"),
    *("http://sid=1/x", "http://a&&b.com//x", "http://a.com/?&", "http://a.com/x..."),
    *("ftp://u:p@host:21/x", "file:///etc/passwd", "file://host//x", "file:/x", "file:C|/x"),
    *("http://a.com/" + "a/b/" * 30, "http://a.com/" + "x/" * 3, "http://a.com/1/1/1/1"),
    *("http://a.com/2024/01/2024/02/2024/03/2024/04/", "http://a.com/cal/2999/12/31"),
    *("http://a.com/?year=1066", "http://a.com/?" + "&".join(f"p{i}={i}" for i in range(40))),
    *("http://a.com/" + "%c3%28" * 2000, "http://" + "a." * 2000 + "com/", "http://a.com/" * 900),
    *("x" * 100_000, "http://a.com/" + "/" * 100_000, "http://a.com/?" + "&" * 100_000),
    *("http://" + "ü" * 5000 + ".com/", "http://" + "@" * 50_000, "http://a.com/#" + "#!" * 5000),
)

_PIECES: tuple[str, ...] = (
    *("http://", "https://", "ftp://", "file:", "//", "/", "\\", "..", ".", "%2e", "%", "%41"),
    *("%c3%bc", " ", "\t", "\n", "@", ":", "[::1]", "1.2.3.4", "?", "&", "=", "#", "#!", "a"),
    *("B", "example.com", "www.example.co.uk", "xn--mnchen-3ya", "ü", "ß", "İ", "K", ":80"),
    *(":8080", "user@", "|", "^", "`", "{", "<", '"', "'", "-", "_", "~", "+", "*", ";", "sid=1"),
    *("index.html", ".gif", ".JPG", "a/a/a/", "2024/01/", "2099-12-31", "year=", "\u2028", "😀"),
)


def wicked_urls(jumbled: int = 500) -> list[str]:
    """The wicked texts, and as many jumbled ones; the same every time."""
    chance = random.Random(9309)
    beginnings = ("http://", "https://example.com/", "http://www.example.org/a?", "")
    return [
        *WICKED,
        *(
            chance.choice(beginnings) + "".join(chance.choices(_PIECES, k=chance.randint(1, 8)))
            for _ in range(jumbled)
        ),
    ]


def storable(urls: list[str]) -> list[str]:
    """Those that a column can hold: no lone surrogates."""
    return [url for url in urls if url.isascii() or _has_bytes(url)]


def _has_bytes(url: str) -> bool:
    try:
        url.encode()
    except UnicodeEncodeError:
        return False
    return True
