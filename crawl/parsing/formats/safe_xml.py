"""XML of strangers, event by event: no entity is defined, no DTD is read, no tree is built.

lxml rather than expat because it goes on after a mistake, of which feeds and sitemaps are
full. The text comes decoded, so that no declared encoding can hide anything; its DOCTYPE is
cut out before the parser sees it, which leaves bombs of entities nothing to explode.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.entities import html5
from typing import Protocol

from lxml import etree

from crawl.parsing.text.xml_root import root_start

MAX_DEPTH = 200
"""Elements inside each other; deeper ones are no document."""
MAX_ELEMENTS = 1_000_000

_PIECE = 1 << 16
_REFERENCE = re.compile(r"&(?:#?\w{1,31};)?+")
_XML_NAMES = frozenset({"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"})
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_BLANKS = bytes(octet if octet >= 0x20 or octet in b"\t\n\r" else 0x20 for octet in range(256))
"""For control characters, which XML has not."""
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class BadXml(Exception):
    """The text is no XML, or more of it than can be read safely."""


class XmlHandler(Protocol):
    """Receives the events of a document; names are `{namespace}name` as lxml writes them."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...

    def data(self, text: str) -> None:
        """A piece of text; one text may come in several."""
        ...

    def end(self, name: str) -> None: ...


def prepare_xml(text: str) -> str:
    """The document from its root on, without what only a DTD could explain: HTML's named
    characters are written out, and a lone ampersand means itself."""
    text = text[root_start(text) :]
    if "&" not in text:
        return text
    pieces: list[str] = []
    position = 0
    while (start := text.find("<![CDATA[", position)) >= 0:
        end = text.find("]]>", start)
        end = len(text) if end < 0 else end
        pieces += (_REFERENCE.sub(_mended, text[position:start]), text[start:end])
        position = end
    pieces.append(_REFERENCE.sub(_mended, text[position:]))
    return "".join(pieces)


def read_xml(text: str, handler: XmlHandler) -> None:
    """Sends the events of a document to the handler; BadXml where it is none."""
    target = _EventTarget(handler)
    parser = etree.XMLParser(
        target=target,
        encoding="utf-8",
        recover=True,
        resolve_entities="internal",  # none is left but &lt; and its like
        load_dtd=False,
        no_network=True,
        huge_tree=False,
    )
    data = prepare_xml(text).encode("utf-8", "replace").translate(_BLANKS)
    data = data.replace(b"\xef\xbf\xbe", b" ").replace(b"\xef\xbf\xbf", b" ")
    try:
        for start in range(0, len(data), _PIECE):
            parser.feed(data[start : start + _PIECE])
        parser.close()
    except (etree.LxmlError, UnicodeError) as error:
        raise BadXml(f"no XML: {error}") from None
    if not target.elements:
        raise BadXml("no XML: it has no element")


class _EventTarget:
    """Counts the depth on the way to the handler."""

    def __init__(self, handler: XmlHandler) -> None:
        self.start_, self.data, self.end_ = handler.start, handler.data, handler.end
        self.depth = 0
        self.elements = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        self.elements += 1
        if self.depth > MAX_DEPTH:
            raise BadXml(f"more than {MAX_DEPTH} elements inside each other")
        if self.elements > MAX_ELEMENTS:
            raise BadXml(f"more than {MAX_ELEMENTS} elements")
        self.start_(name, attributes)

    def end(self, name: str) -> None:
        self.depth -= 1
        self.end_(name)

    def close(self) -> None:
        """Required by lxml."""


def _mended(reference: re.Match[str]) -> str:
    name = reference[0]
    if name == "&":
        return "&amp;"
    if name.startswith("&#"):
        return name if _is_character(name[2:-1]) else "\ufffd"
    if name in _XML_NAMES:
        return name
    character = html5.get(name[1:])
    return f"&amp;{name[1:]}" if character is None else character.translate(_ESCAPED)


def _is_character(number: str) -> bool:
    """Whether the number of a reference is one that XML allows."""
    try:
        code = int(number[1:], 16) if number[:1] in ("x", "X") else int(number)
        return not _NOT_IN_XML.match(chr(code))
    except (ValueError, OverflowError):
        return False
