"""One MIME type for a page, from what its server declares and what its bytes look like.

xtractmime follows the WHATWG standard of sniffing, as browsers do: what is declared as text
is never taken for a script. Then comes what a crawler must know beyond it: what is packed by
gzip is that whatever it is called, what is called so and is not was unpacked on the way, and
sitemaps and feeds are known by their root element. A file name is the last hint, where neither
says anything.
"""

from __future__ import annotations

import codecs
import re
from mimetypes import MimeTypes

from xtractmime import extract_mime  # type: ignore[import-untyped]

from crawl.html.tokens import names_in
from crawl.model.content import Content
from crawl.parsing.text.xml_root import root_name
from crawl.urls.parse import parse

UNKNOWN = "application/octet-stream"

_TYPE = re.compile(r"\s*([a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100})\s*(?:;|$)", re.I)
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head")
_SNIFFED = 1445
"""Bytes that the standard looks at."""
_HEAD = 8192
"""Bytes in which a root element must begin."""
_VAGUE = names_in(
    "application/octet-stream unknown/unknown application/unknown */* binary/octet-stream",
    "application/x-octet-stream application/binary application/x-binary application/download",
    "application/x-download application/force-download application/x-force-download",
    "application/x-unknown content/unknown",
) | {""}
"""Types that servers give to whatever they know nothing about."""
_GZIP = "application/gzip"
_GZIP_START = b"\x1f\x8b\x08"
_GZIP_TYPES = names_in(
    "application/gzip application/x-gzip application/x-gunzip application/gzipped",
    "application/gzip-compressed application/x-gzip-compressed gzip/document",
)
_XML = "application/xml"
_XHTML = "application/xhtml+xml"
_RSS = "application/rss+xml"
_ATOM = "application/atom+xml"
_RDF = "application/rdf+xml"
_FEEDS = (_RSS, _ATOM, _RDF)
_XML_TYPES = ("text/xml", _XML)
_ATOM_NAMES = ("http://www.w3.org/2005/Atom", "http://purl.org/atom/ns")
_RSS_1_NAMES = (
    *("http://purl.org/rss/1.0", "http://my.netscape.com/rdf/simple/0.9", "channel.netscape"),
)
_HTML_DOCTYPE = re.compile(
    r"\s*+(?:<\?[^>]*+>\s*+|<!--(?:(?!-->).)*+-->\s*+)*+<!doctype\s++html", re.I | re.S
)
_ONLY_LINKS = re.compile(rb"\s*+https?://[^<]*+\Z", re.I)
_ALIASES = {
    **dict.fromkeys(_GZIP_TYPES, _GZIP),
    "application/x-zip-compressed": "application/zip",
    "application/x-pdf": "application/pdf",
    "application/x-xml": _XML,
    "text/x-xml": "text/xml",
    "text/json": "application/json",
}
_by_suffix = MimeTypes(filenames=())  # what the machine has configured must not matter


def mime_type(content: Content, *, magic: bool = True) -> str:
    """Lower-case and without parameters; `application/octet-stream` where nothing is known."""
    declared = essence(content.content_type)
    if magic:
        start = content.body[:_SNIFFED]
        if declared in _HTML_TYPES and start.lstrip()[:14].lower().startswith(_HTML_STARTS):
            return declared
        if start.startswith(_GZIP_START):
            return _GZIP
        if declared in _GZIP_TYPES:
            declared = ""  # a server that packs its answers calls them so too
        kind = _type_of_bytes(content, start, declared)
    else:
        kind = declared
    if kind in _VAGUE or (kind == "text/plain" and declared in _VAGUE):
        kind = _type_by_suffix(content.url, is_text=kind == "text/plain") or kind or UNKNOWN
    return _ALIASES.get(kind, kind)


def is_packed_or_vague(declared: str) -> bool:
    """Whether a Content-Type says nothing of what is inside a packed file."""
    return essence(declared) in _GZIP_TYPES | _VAGUE


def feed_type(root: str, head: str) -> str:
    """The type of a feed whose root element is called so and which begins so; empty for what
    is no feed."""
    match root:
        case "rss" | "channel":
            return _RSS
        case "feed" if any(name in head for name in _ATOM_NAMES):
            return _ATOM
        case "rdf" if any(name in head for name in _RSS_1_NAMES):
            return _RDF
    return ""


def essence(declared: str) -> str:
    """The type in a Content-Type header; empty where there is none."""
    match = _TYPE.match(declared)
    return match.group(1).lower() if match else ""


def _type_of_bytes(content: Content, start: bytes, declared: str) -> str:
    """By the standard, and then by the root element of what looks like XML."""
    head = _readable(content.body[:_HEAD])
    if declared in _VAGUE:
        # a byte order mark would make text of anything
        kind = _sniffed(head[:_SNIFFED], "", declared)
    else:
        kind = _sniffed(start, content.content_type, declared)
    if head.lstrip()[:1] == b"<":
        return _type_by_root(kind, declared, head.decode("utf-8", "replace"))
    if kind in _HTML_TYPES and _ONLY_LINKS.match(head):
        return "text/plain"  # a list of links without any markup
    return kind


def _type_by_root(kind: str, declared: str, head: str) -> str:
    kind = _ALIASES.get(kind, kind)
    root = root_name(head)
    if root in ("urlset", "sitemapindex"):
        return kind if kind in _XML_TYPES else _XML
    is_xml = kind in _XML_TYPES or kind.endswith("+xml")
    feed = feed_type(root, head)
    if feed:
        return kind if kind in _XML_TYPES or kind in _FEEDS else feed
    if kind in _FEEDS and declared in _HTML_TYPES:
        return declared  # the standard looks at the first letters of the root alone
    if is_xml and kind not in _HTML_TYPES and (root == "html" or _HTML_DOCTYPE.match(head)):
        return _XHTML
    return kind


def _readable(head: bytes) -> bytes:
    """The bytes without a byte order mark, and in UTF-8 where they are clearly in UTF-16."""
    if head[:3] == codecs.BOM_UTF8:
        return head[3:]
    if head[:2] == codecs.BOM_UTF16_LE or head[:4] in (b"<\0?\0", b"<\0!\0"):
        charset = "utf-16-le"
    elif head[:2] == codecs.BOM_UTF16_BE or head[:4] in (b"\0<\0?", b"\0<\0!"):
        charset = "utf-16-be"
    else:
        return head
    text = head.decode(charset, "replace").removeprefix("\ufeff")
    return text.encode("utf-8", "replace")


def _sniffed(start: bytes, raw: str, declared: str) -> str:
    # the standard knows some headers by their exact bytes, as a well-known server's mistake
    types = (raw.encode("latin-1", "replace"),) if declared not in _VAGUE else None
    try:
        kind = extract_mime(start, content_types=types)
    except Exception:
        return declared  # it is made for well-formed headers
    return essence(kind.decode("latin-1")) if kind else declared


def _type_by_suffix(url: str, *, is_text: bool) -> str:
    """What the file name in the URL says."""
    parts = parse(url)
    if parts is None:
        return ""
    name = parts.path.rpartition("/")[2].lower()
    if is_text:
        name = name.removesuffix(".gz")  # it was unpacked on the way
    if "." not in name:
        return ""
    kind, packed = _by_suffix.guess_type("x." + name.rpartition(".")[2])
    if packed:
        return f"application/{packed}"
    return kind or ""
