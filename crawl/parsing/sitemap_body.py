"""From the bytes of an answer to the sitemap in it. What the server calls it does not matter:
packed or not, XML, feed or lines, the bytes tell."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crawl.html.encoding import decode
from crawl.parsing.formats.feed_entries import read_feed
from crawl.parsing.formats.feeds import is_feed
from crawl.parsing.formats.gunzip import GZIP_START, GzipEnd, gunzip
from crawl.parsing.formats.safe_xml import BadXml
from crawl.parsing.formats.sitemaps import Sitemap, read_sitemap
from crawl.parsing.text.charset import charset_of

_LAYERS = 2
"""A packed file that the server packs again, and says so once."""


@dataclass(frozen=True, slots=True)
class NoSitemap:
    """Why a body is none; a reason to count."""

    reason: str


def sitemap_of_body(
    url: str, body: bytes, content_type: str, *, most: int, max_bytes: int
) -> Sitemap | NoSitemap:
    """The sitemap in a body, with its first `most` entries. A body that breaks off, or unpacks
    to more than `max_bytes`, is read as far as it goes."""
    is_cut = False
    for _ in range(_LAYERS):
        if body.startswith(GZIP_START):
            unpacked = gunzip(body, max_bytes)
            body = unpacked.data
            is_cut |= unpacked.end is not GzipEnd.WHOLE
    if not body.strip():
        return NoSitemap("bad_gzip" if is_cut else "empty")
    text = decode(body, charset_of(body, content_type)).removeprefix("\ufeff")
    try:
        sitemap = read_feed(url, text, most) if is_feed(text) else read_sitemap(url, text, most)
    except BadXml:
        return NoSitemap("bad_xml")
    if sitemap is None:
        return NoSitemap("not_a_sitemap")
    return replace(sitemap, cut=sitemap.cut or is_cut)
