"""Microdata of a page, in the JSON form of the HTML standard: `{"type": […], "id": …, "properties":
{"name": ["Chair"]}}`.

A walk of our own over lexbor's tree: a hundred lines, bounded in every direction, where extruct
brings rdflib along and reads a page several times.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl.interfaces.page import Page
from crawl.model.parse import Parse
from crawl.parsing.html.links import links_of_page
from crawl.parsing.html.node_text import node_text
from crawl.parsing.text.plain import one_line

METADATA_KEY = "microdata"
_MARKS = (b"itemscope", b"itemScope", b"ITEMSCOPE")
_URLS = {
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    **dict.fromkeys(("a", "area", "link"), "href"),
    "object": "data",
}
_VALUES = {"meta": "content", "data": "value", "meter": "value"}
"""Elements whose value is an attribute: a URL, or a text."""

_MAX_ITEMS = 200
_MAX_PROPERTIES = 2_000
_MAX_DEPTH = 10
_MAX_STEPS = 100_000
_MAX_CHARACTERS = 65_536
_NODES_PER_TEXT = 2_000
_LONGEST_NAME = 200
_MAX_NAMES = 10

Item = dict[str, Any]


def with_microdata(parse: Parse, page: Page) -> Parse:
    """The parse with the page's items as metadata `microdata`, a JSON array; those that are over
    the limits are counted."""
    if not any(mark in page.utf_8 for mark in _MARKS) or page.tree is None:
        return parse
    reader = _MicrodataReader(page.tree, page.url, page.charset)
    items = [item for item in map(reader.item, reader.tops()) if item["properties"]]
    dropped = reader.dropped
    """How many more items and properties there are than are read."""
    texts: list[str] = []
    room = _MAX_CHARACTERS
    for item in items:
        written = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
        if len(written) < room:
            texts.append(written)
            room -= len(written) + 1
        else:
            dropped += 1
    counts = {**parse.counts, "structured.microdata_dropped": dropped} if dropped else parse.counts
    if not texts:
        return replace(parse, counts=counts)
    metadata = {**parse.metadata, METADATA_KEY: f"[{','.join(texts)}]"}
    return replace(parse, metadata=metadata, counts=counts)


class _MicrodataReader:
    def __init__(self, tree: LexborHTMLParser, url: str, charset: str) -> None:
        self._tree = tree
        base = tree.css_first("base[href]")
        href = None if base is None else base.attributes.get("href")
        self._links = links_of_page(url, href, charset)
        self._steps = _MAX_STEPS
        self._properties = _MAX_PROPERTIES
        self.dropped = 0

    def tops(self) -> list[LexborNode]:
        tops = [
            node
            for node in self._tree.css("[itemscope]")
            if not (node.attributes.get("itemprop") or "").strip()
        ]
        self.dropped += max(0, len(tops) - _MAX_ITEMS)
        return tops[:_MAX_ITEMS]

    def item(self, node: LexborNode, depth: int = 1) -> Item:
        attributes = node.attributes
        item: Item = {}
        if types := _words(attributes.get("itemtype")):
            item["type"] = types
        if identifier := (attributes.get("itemid") or "").strip():
            item["id"] = self._links[identifier] or one_line(identifier)
        properties: dict[str, list[Any]] = {}
        item["properties"] = properties
        roots = [node.first_child, *map(self._by_id, _words(attributes.get("itemref")))]
        for number, root in enumerate(roots):
            self._read(root, properties, depth, siblings=number == 0)
        return item

    def _by_id(self, name: str) -> LexborNode | None:
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        return self._tree.css_first(f'[id="{quoted}"]')

    def _read(
        self,
        start: LexborNode | None,
        properties: dict[str, list[Any]],
        depth: int,
        *,
        siblings: bool,
    ) -> None:
        """Reads the properties of one item; those of items inside it are theirs."""
        waiting: list[LexborNode] = []
        node = start
        while node is not None and self._steps > 0:
            self._steps -= 1
            is_start = node is start
            attributes = node.attributes if not (node.tag or "-").startswith("-") else {}
            names = _words(attributes.get("itemprop"))
            is_scope = "itemscope" in attributes
            if names and (self._properties <= 0 or (is_scope and depth >= _MAX_DEPTH)):
                self.dropped += 1
            elif names:
                self._properties -= 1
                value = self.item(node, depth + 1) if is_scope else self._value(node, attributes)
                for name in names:
                    properties.setdefault(name, []).append(value)
            if (siblings or not is_start) and node.next is not None:
                waiting.append(node.next)
            node = None if is_scope else node.first_child
            if node is None and waiting:
                node = waiting.pop()
        self.dropped += node is not None

    def _value(self, node: LexborNode, attributes: dict[str, str | None]) -> str:
        tag = node.tag or ""
        if tag in _URLS:
            return self._links[(attributes.get(_URLS[tag]) or "").strip()]
        if tag in _VALUES:
            return one_line(attributes.get(_VALUES[tag]) or "")
        moment = attributes.get("datetime") if tag == "time" else None
        text = moment or attributes.get("content")  # as RDFa has it, and as many write
        return one_line(text or node_text(node, _NODES_PER_TEXT))


def _words(text: str | None) -> list[str]:
    if not text:
        return []
    return [one_line(word, _LONGEST_NAME) for word in text[:4_000].split()[:_MAX_NAMES]]
