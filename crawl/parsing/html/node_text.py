"""The text of an element of lexbor's tree."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from crawl.parsing.html.text import HIDDEN_TAGS, LINE_BREAKS, to_lines

TEXT = "-text"
"""The tag of a node that is text."""
_MAX_NODES = 20_000


def node_text(element: LexborNode, most_nodes: int = _MAX_NODES) -> str:
    """The text that its readers see, line by line; of an element that is not shown, such as a
    script, what it holds. No more of its nodes are looked at than that: elements that are looked
    for may lie in each other."""
    pieces: list[str] = []
    open_elements: list[LexborNode] = []
    node: LexborNode | None = element
    while node is not None and most_nodes > 0:
        most_nodes -= 1
        tag = node.tag or ""
        if tag == TEXT:
            pieces.append(node.text_content or "")
            following = node.next if open_elements else None
        elif open_elements and tag in HIDDEN_TAGS:
            following = node.next
        else:
            pieces.append(LINE_BREAKS.get(tag, ""))
            open_elements.append(node)
            following = node.first_child
        while following is None and open_elements:
            ended = open_elements.pop()
            pieces.append(LINE_BREAKS.get(ended.tag or "", ""))
            following = ended.next if open_elements else None
        node = following
    return to_lines("".join(pieces))
