"""One MIME type for a page, from what its server declares and what its bytes look like.

xtractmime follows the WHATWG standard of sniffing, as browsers do: what is declared as text
is never taken for a script. A file name is the last hint, where neither says anything.
"""

from __future__ import annotations

import re
from mimetypes import MimeTypes

from xtractmime import extract_mime  # type: ignore[import-untyped]

from crawl.model.content import Content
from crawl.urls.parse import parse

UNKNOWN = "application/octet-stream"

_TYPE = re.compile(r"\s*([a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100})\s*(?:;|$)", re.I)
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head")
_SNIFFED = 1445
"""Bytes that the standard looks at."""
_VAGUE = frozenset(("", UNKNOWN, "unknown/unknown", "application/unknown", "*/*"))
_ALIASES = {
    "application/x-gzip": "application/gzip",
    "application/x-zip-compressed": "application/zip",
    "application/x-pdf": "application/pdf",
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
        found = _sniffed(start, content.content_type, declared)
    else:
        found = declared
    if found in _VAGUE or (found == "text/plain" and declared in _VAGUE):
        found = _type_by_suffix(content.url) or found or UNKNOWN
    return _ALIASES.get(found, found)


def essence(declared: str) -> str:
    """The type in a Content-Type header; empty where there is none."""
    match = _TYPE.match(declared)
    return match.group(1).lower() if match else ""


def _sniffed(start: bytes, raw: str, declared: str) -> str:
    # the standard knows some headers by their exact bytes, as a well-known server's mistake
    types = (raw.encode("latin-1", "replace"),) if declared not in _VAGUE else None
    try:
        found = extract_mime(start, content_types=types)
    except Exception:
        return declared  # it is made for well-formed headers
    return essence(found.decode("latin-1")) if found else declared


def _type_by_suffix(url: str) -> str:
    """What the file name in the URL says."""
    parts = parse(url)
    if parts is None:
        return ""
    name = parts.path.rpartition("/")[2]
    if "." not in name:
        return ""
    kind, packed = _by_suffix.guess_type("x." + name.rpartition(".")[2].lower())
    if packed:
        return f"application/{packed}"
    return kind or ""
