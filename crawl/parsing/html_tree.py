"""Walks lexbor's tree of a page for an HtmlReader, past whatever that does not care for.

selectolax's nodes are cheap (0.05 µs a step), attributes are not: only elements that the
reader looks into are asked for theirs.
"""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl.interfaces.html_guard import is_tame
from crawl.interfaces.html_tokens import VOID, feed
from crawl.parsing.html_reader import HtmlReader
from crawl.parsing.html_text import BREAKS

_TEXT = "-text"


def read(markup: str, reader: HtmlReader) -> None:
    """Gives the page to the reader; one made to harm parsers without building its tree."""
    data = markup.encode("utf-8", "replace")
    if is_tame(data):
        _walk(LexborHTMLParser(data), reader)
    else:
        feed(data.decode(), reader)


def _walk(tree: LexborHTMLParser, reader: HtmlReader) -> None:
    """Without recursion: a page may be deeper than Python's stack."""
    hidden = {node.mem_id for node in tree.css("[hidden]") if node.tag not in VOID}
    text, starts, ends, breaks = reader.text, reader.starts, reader.ends, BREAKS
    node = tree.root
    above: list[tuple[LexborNode, str]] = []
    while node is not None:
        tag = node.tag or ""
        if tag == _TEXT:
            text(node.text_content)  # type: ignore[arg-type]  # None only for other nodes
            following = node.next
        else:
            if tag in breaks:
                text(breaks[tag])
            if hidden and node.mem_id in hidden:
                reader.hide()
            if tag in starts:
                starts[tag](node.attributes)
            above.append((node, tag))
            following = node.first_child
        while following is None and above:
            node, tag = above.pop()
            if tag in ends:
                ends[tag]()
            if hidden and node.mem_id in hidden:
                reader.show()
            if tag in breaks:
                text(breaks[tag])
            following = node.next if above else None
        node = following
