"""A feed made well-formed and small enough for a reader that is neither quick nor careful:
mistakes are mended, entities are gone, and what is beyond the bounds is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from lxml import etree

from crawl.parsing.formats.safe_xml import BadXml, read_xml
from crawl.parsing.text.mime import feed_type
from crawl.parsing.text.xml_root import local_name, root_name

MAX_ELEMENTS = 50_000
"""feedparser takes some 40 µs for each."""

_ENTRIES = frozenset({"item", "entry"})
_HEAD = 8192
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*+")
_NAMELESS = "x"


def is_feed(text: str) -> bool:
    """Whether the root element is that of RSS, Atom or RDF with RSS in it."""
    return bool(feed_type(root_name(text[: _HEAD * 8]), text[:_HEAD]))


@dataclass(frozen=True, slots=True)
class BoundedFeed:
    """A feed that can be read quickly and safely."""

    data: bytes
    """In UTF-8 and well-formed."""
    entries_left_out: int
    """How many entries the feed has beyond those in the data."""


def bounded_feed(text: str, most_entries: int) -> BoundedFeed:
    """The feed with its first entries; BadXml where it is no XML."""
    builder = _FeedBuilder(most_entries)
    try:
        read_xml(text, builder)
    except BadXml:
        if not builder.entries:
            raise
    return BoundedFeed(builder.written(), builder.entries_left_out)


class _FeedBuilder:
    """Builds the bounded tree."""

    def __init__(self, most_entries: int) -> None:
        self._tree = etree.TreeBuilder()
        self._most_entries = most_entries
        self.entries = 0
        self.entries_left_out = 0
        self._elements = 0
        self._open: list[str] = []
        self._skipped = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        is_entry = local_name(name) in _ENTRIES
        if self._skipped or self._is_too_much(is_entry):
            self.entries_left_out += is_entry
            self._skipped += 1
            return
        self.entries += is_entry
        self._elements += 1
        bound = _valid_name(name) or _NAMELESS
        valid = {
            valid_name: value
            for key, value in attributes.items()
            if (valid_name := _valid_name(key))
        }
        self._tree.start(bound, valid)
        self._open.append(bound)

    def _is_too_much(self, is_entry: bool) -> bool:
        return self._elements >= MAX_ELEMENTS or (is_entry and self.entries >= self._most_entries)

    def data(self, text: str) -> None:
        if not self._skipped:
            self._tree.data(text)

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif self._open:
            self._tree.end(self._open.pop())

    def written(self) -> bytes:
        try:
            while self._open:
                self._tree.end(self._open.pop())
            written: bytes = etree.tostring(self._tree.close(), encoding="utf-8")
        except (etree.LxmlError, AssertionError, ValueError) as error:
            raise BadXml(f"no XML: {error}") from None
        return written


def _valid_name(name: str) -> str:
    """The name as it stands, or without a namespace that is none; empty for what is no name
    at all."""
    namespace, _, local = name.rpartition("}")
    local = local.rpartition(":")[2]
    if not _NAME.fullmatch(local):
        return ""
    return f"{namespace}}}{local}" if namespace and _is_namespace(namespace[1:]) else local


@lru_cache(maxsize=100)
def _is_namespace(uri: str) -> bool:
    """Whether lxml takes it for one."""
    try:
        etree.SubElement(etree.Element("x"), f"{{{uri}}}x")
    except ValueError:
        return False
    return True
