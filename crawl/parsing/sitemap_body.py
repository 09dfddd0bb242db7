"""From the bytes of an answer to the sitemap in it. What the server calls it does not matter:
packed or not, XML, feed or lines, the bytes tell."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

from crawl.html.encoding import decode
from crawl.parsing.formats.feed_entries import read_feed
from crawl.parsing.formats.feeds import is_feed
from crawl.parsing.formats.safe_xml import BadXml
from crawl.parsing.formats.sitemaps import Sitemap, read_sitemap
from crawl.parsing.text.charset import charset_of

_GZIP = b"\x1f\x8b"
_LAYERS = 2
"""A packed file that the server packs again, and says so once."""
_PIECE = 1 << 16


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
        if body.startswith(_GZIP):
            body, is_whole = _unpacked(body, max_bytes)
            is_cut |= not is_whole
    if not body.strip():
        return NoSitemap("bad_gzip" if is_cut else "empty")
    text = decode(body, charset_of(body, content_type)).removeprefix("\ufeff")
    try:
        found = read_feed(url, text, most) if is_feed(text) else read_sitemap(url, text, most)
    except BadXml:
        return NoSitemap("bad_xml")
    if found is None:
        return NoSitemap("not_a_sitemap")
    return replace(found, cut=found.cut or is_cut)


def _unpacked(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
    """The content of a gzip file, of several members perhaps, and whether it is all of it."""
    pieces: list[bytes] = []
    size = 0
    while body.startswith(_GZIP):
        unpacker = zlib.decompressobj(wbits=31)
        rest = body
        try:
            while not unpacker.eof:
                piece = unpacker.decompress(rest, min(_PIECE, max_bytes - size + 1))
                rest = unpacker.unconsumed_tail
                size += len(piece)
                pieces.append(piece)
                if size > max_bytes:
                    return b"".join(pieces)[:max_bytes], False
                if not piece and not rest and not unpacker.eof:
                    return b"".join(pieces), False
        except zlib.error:
            return b"".join(pieces), False
        body = unpacker.unused_data
    return b"".join(pieces), True
