"""XML of strangers, event by event: no entity is defined, no DTD is read, no tree is built.

lxml rather than expat because it goes on after a mistake, of which feeds and sitemaps are
full. The text comes decoded, so that no declared encoding can hide anything; its DOCTYPE is
cut out before the parser sees it, which leaves bombs of entities nothing to explode.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from html.entities import html5
from typing import Protocol

from lxml import etree

from crawl.parsing.text.xml_root import root_start

MAX_DEPTH = 200
"""Elements inside each other; deeper ones are no document."""
MAX_ELEMENTS = 1_000_000

_PIECE = 1 << 16
_REFERENCE = re.compile(r"&(?:#?\w{1,31};)?+")
_XML_NAMES = {
    "&lt;": "&#60;",
    "&gt;": "&#62;",
    "&amp;": "&#38;",
    "&quot;": "&#34;",
    "&apos;": "&#39;",
}
"""By number, because after the first mistake of a document the parser leaves out characters that
are called by their name."""
_ESCAPED = str.maketrans({"&": "&#38;", "<": "&#60;", ">": "&#62;"})
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|<(?P<end>/?)(?P<name>[^\s<>/!?&\"'=]{1,200}+)[^<>]*+>",
    re.DOTALL,
)
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


def prepare_xml(text: str, undefined: str | None = None) -> str:
    """The document from its root on, without what only a DTD could explain: HTML's named
    characters are written out, and a lone ampersand means itself. A name that nobody defines
    stays as it is written, or becomes `undefined`."""
    mended = partial(_mended, undefined=undefined)
    text = text[root_start(text) :]
    # the parser takes each end tag for the end of something, and at last for that of the document
    if text.count("</") > text.count("<") - sum(map(text.count, ("</", "<!", "<?", "/>"))):
        text = _without_stray_ends(text)
    if "&" not in text:
        return text
    pieces: list[str] = []
    position = 0
    while (start := text.find("<![CDATA[", position)) >= 0:
        end = text.find("]]>", start)
        end = len(text) if end < 0 else end
        pieces += (_REFERENCE.sub(mended, text[position:start]), text[start:end])
        position = end
    pieces.append(_REFERENCE.sub(mended, text[position:]))
    return "".join(pieces)


def read_xml(text: str, handler: XmlHandler, *, undefined: str | None = None) -> None:
    """Sends the events of a document to the handler; BadXml where it is none. `undefined`
    stands for each named character that nobody defines, which else is left as written."""
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
    data = prepare_xml(text, undefined).encode("utf-8", "replace").translate(_BLANKS)
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


def _without_stray_ends(text: str) -> str:
    """The text without the end tags of what is not open."""
    pieces: list[str] = []
    open_: Counter[str] = Counter()
    position = 0
    for tag in _TAG.finditer(text):
        name = tag["name"]
        if name is None or tag[0].endswith("/>"):
            continue
        if not tag["end"]:
            open_[name] += 1
        elif open_[name]:
            open_[name] -= 1
        else:
            pieces.append(text[position : tag.start()])
            position = tag.end()
    pieces.append(text[position:])
    return "".join(pieces)


def _mended(reference: re.Match[str], undefined: str | None) -> str:
    name = reference[0]
    if name == "&":
        return "&#38;"
    if name.startswith("&#"):
        return name if _is_character(name[2:-1]) else "\ufffd"
    if name in _XML_NAMES:
        return _XML_NAMES[name]
    character = html5.get(name[1:])
    if character is None:
        return f"&#38;{name[1:]}" if undefined is None else undefined
    return character.translate(_ESCAPED)


def _is_character(number: str) -> bool:
    """Whether the number of a reference is one that XML allows."""
    try:
        code = int(number[1:], 16) if number[:1] in ("x", "X") else int(number)
        return not _NOT_IN_XML.match(chr(code))
    except (ValueError, OverflowError):
        return False
