"""Pages with odd metadata, and links to odd URLs, for the contract suites."""

from __future__ import annotations

from collections.abc import Iterable

from crawl.interfaces.scoring import SCORE_KEY, Target
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Outlink, Parse, ParseStatus
from crawl.model.status import Status

PAGE_URL = "http://www.example.com/page?a=b"
ODD_TEXTS = ("1", "0", "-3", "0.25", "1e300", "1e999", "nan", "-inf", "", " 7", "٣", "x" * 500)
"""What may stand in metadata where a number is expected."""

_URLS = (
    *(PAGE_URL, "http://www.example.com/", "https://other.example.com:8443/x"),
    *("http://example.org/", "http://192.0.2.7/", "http://[2001:db8::1]/"),
    *("http://xn--bcher-kva.example/", "ftp://files.example.net/a", "file:///etc/hosts"),
    *("no URL at all", "", "http://www.example.com/"),
)


def odd_metadata(keys: Iterable[str]) -> list[dict[str, str]]:
    """None, each odd text under every key, and keys that nobody knows."""
    all_keys = (SCORE_KEY, *keys)
    return [{}, {"": "", "key": "value"}, *(dict.fromkeys(all_keys, text) for text in ODD_TEXTS)]


def odd_contents(keys: Iterable[str]) -> list[Content]:
    """Contents with odd metadata."""
    return [
        Content(PAGE_URL, b"body", headers={"content-type": "text/html"}, metadata=metadata)
        for metadata in odd_metadata(keys)
    ]


def odd_parses(keys: Iterable[str]) -> list[Parse]:
    """Parses with odd metadata, without text or URL, and failed ones."""
    link = Outlink("http://example.org/", "anchor")
    return [
        *(
            Parse(PAGE_URL, title="A title", text="some text " * 9, outlinks=(link,), metadata=odd)
            for odd in odd_metadata(keys)
        ),
        Parse(PAGE_URL, text="\0\ud800 \N{ZERO WIDTH JOINER} ٣"),
        Parse("", ParseStatus.EXCEPTION, "broken"),
    ]


def odd_targets() -> list[Target]:
    """Links to odd URLs, many of which share a record."""
    plain = CrawlDatum(Status.LINKED, 5, fetch_interval=60)
    other = CrawlDatum(Status.LINKED, 5, score=0.5, metadata={"key": "value"})
    return [(url, other if number % 3 == 2 else plain) for number, url in enumerate(_URLS)]
