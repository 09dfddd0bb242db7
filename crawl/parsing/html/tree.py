"""Walks lexbor's tree of a page for an HtmlReader, past whatever that does not care for.

selectolax's nodes are cheap (0.05 µs a step), attributes are not: only elements that the
reader looks into are asked for theirs.
"""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl.html.tokens import VOID, feed
from crawl.interfaces.page import Page
from crawl.parsing.html.node_text import TEXT
from crawl.parsing.html.reader import ACTIONS, ElementAction, HtmlReader


def read_html(page: Page, reader: HtmlReader) -> None:
    """Feeds a page to the reader; one made to harm parsers without a tree, tag by tag."""
    if page.tree is not None:
        _walk(page.tree, reader)
    else:
        feed(page.utf_8.decode("utf-8"), reader)


def _walk(tree: LexborHTMLParser, reader: HtmlReader) -> None:
    """Without recursion: a page may be deeper than Python's stack."""
    hidden = {node.mem_id for node in tree.css("[hidden]") if node.tag not in VOID}
    text, action_of = reader.text, ACTIONS.get
    above: list[tuple[LexborNode, ElementAction | None]] = []
    node = tree.root
    while node is not None:
        tag = node.tag
        if tag == TEXT:
            text(node.text_content or "")
            following = node.next
        else:
            action = action_of(tag or "")
            if hidden and node.mem_id in hidden:
                reader.hide()
            if action is not None:
                around, start, _ = action
                if around is not None:
                    text(around)
                if start is not None:
                    start(reader, node.attributes)
            above.append((node, action))
            following = node.first_child
        while following is None and above:
            node, action = above.pop()
            if action is not None:
                around, _, end = action
                if end is not None:
                    end(reader)
                if around is not None:
                    text(around)
            if hidden and node.mem_id in hidden:
                reader.show()
                if action is not None and action.text is not None:
                    text(action.text)  # those around it were inside
            following = node.next if above else None
        node = following
