"""What selectors find in a page.

CSS selectors are lexbor's, whose tree is the one that browsers make. XPath is lxml's, on a copy of
that same tree and not on lxml's own reading of the markup, so that both find the same elements, and
an expression that a browser's developer tools have written is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from crawl.parsing.html.node_text import TEXT, node_text
from crawl.parsing.html.text import LINE, to_lines

SelectorMatch = LexborNode | str
"""An element, or a text that XPath has taken out of one."""

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_UNNAMED = "unknown"


@dataclass(frozen=True, slots=True)
class Selector:
    """A CSS selector or an XPath expression."""

    text: str
    is_xpath: bool = False

    def problem(self) -> str:
        """Why it is none; empty where it is one."""
        try:
            _EXAMPLE.find(self)
        except SelectolaxError:
            hint = "" if "::" not in self.text else " (the text is taken without ::text)"
            return f"{self.text!r} is no CSS selector{hint}"
        except (etree.XPathError, ValueError) as error:  # ValueError: characters that XML has not
            return f"{self.text!r} is no XPath expression: {' '.join(str(error).split())}"
        return ""


class PageTree:
    """lexbor's tree of a page, in which selectors find what they describe."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree

    def find(self, selector: Selector) -> list[SelectorMatch]:
        """All that the selector finds, in document order."""
        if not selector.is_xpath:
            return list(self._tree.css(selector.text))
        result = _compiled(selector.text)(self._xml_root)
        if not isinstance(result, list):
            return [_scalar(result)]
        return [
            self._nodes[each] if etree.iselement(each) else _scalar(each)
            for each in result
            if not etree.iselement(each) or each in self._nodes
        ]

    @property
    def base(self) -> str:
        """The reference that the page's links begin from; empty where it names none."""
        element = self._tree.css_first("base[href]")
        return "" if element is None else element.attributes.get("href") or ""

    @cached_property
    def _nodes(self) -> dict[Any, LexborNode]:
        """The elements of the copy, in document order, with those that they are copies of."""
        return _copied(self._tree.root)

    @cached_property
    def _xml_root(self) -> Any:
        root = next(iter(self._nodes), None)
        return etree.ElementTree(etree.Element("html") if root is None else root)


def text_of(match: SelectorMatch) -> str:
    """The text that its readers see, line by line; of an element that is not shown, such as a
    script, what it holds."""
    if isinstance(match, str):
        return to_lines(match.replace("\n", LINE))
    return node_text(match)


@lru_cache(maxsize=1000)
def _compiled(expression: str) -> Any:
    return etree.XPath(expression, regexp=False, smart_strings=False)


def _scalar(result: object) -> str:
    if isinstance(result, bool):
        return "true" if result else "false"
    if isinstance(result, float) and result.is_integer():
        return str(int(result))
    return str(result)


def _copied(root: LexborNode | None) -> dict[Any, LexborNode]:
    """A copy of the tree for lxml. Without recursion: a page may be deeper than Python's stack."""
    nodes: dict[Any, LexborNode] = {}
    above: list[tuple[LexborNode, Any]] = []
    node = root
    while node is not None:
        tag = node.tag or ""
        following = None
        if tag == TEXT:
            _append_text(above[-1][1], node.text_content or "")
        elif not tag.startswith(("-", "!")):
            element = _element(tag, above[-1][1] if above else None)
            for name, value in node.attributes.items():
                if _NAME.fullmatch(name):
                    element.set(name, _NOT_IN_XML.sub("", value or ""))
            nodes[element] = node
            above.append((node, element))
            following = node.first_child
            if following is None:
                above.pop()
        if following is None:
            following = node.next if above else None
        while following is None and above:
            ended, _ = above.pop()
            following = ended.next if above else None
        node = following
    return nodes


def _element(tag: str, parent: Any) -> Any:
    name = tag if _NAME.fullmatch(tag) else _UNNAMED
    return etree.Element(name) if parent is None else etree.SubElement(parent, name)


def _append_text(parent: Any, text: str) -> None:
    text = _NOT_IN_XML.sub("", text)
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


_EXAMPLE = PageTree(LexborHTMLParser("<!DOCTYPE html><title>t</title><p>p</p>"))
