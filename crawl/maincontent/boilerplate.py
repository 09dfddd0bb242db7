"""Where the main content of a page is: which container it lies in, and what of that stays.

As readability and boilerpipe do it: running text with few links is content, short texts full of
links are not; what elements say of themselves counts where the text does not contradict it.
"""

from __future__ import annotations

from dataclasses import dataclass

from crawl.maincontent.blocks import Block, Container, Kind, Outline
from crawl.maincontent.names import Role

_LONG_PARAGRAPH = 80
"""Characters of running text."""
_LONG_ITEM = 60
_MANY_LINKS = 0.5
"""Share of a container's characters that are in links."""
_SOME_LINKS = 0.33
_MOST = 0.5
_NEARLY_ALL = 0.8
_ENOUGH = 200
"""Characters of a main content that is believed."""


@dataclass(frozen=True, slots=True)
class _Weights:
    """Of each container, with all that is in it."""

    length: list[int]
    links: list[int]
    good: list[int]
    """Characters of what looks like running text, code or data."""


def main_blocks(outline: Outline) -> list[Block]:
    """The blocks of the main content; of a page that has none, all that is no boilerplate by
    its own account."""
    if not outline.blocks:
        return []
    weights = _weigh(outline)
    dropped = _dropped(outline, weights)
    root = _root(outline, weights, dropped)
    found = _blocks_below(outline, root, dropped)
    if sum(len(block.text) for block in found) < _ENOUGH and root:
        found = _blocks_below(outline, 0, dropped)
    if not found:
        return list(outline.blocks)
    return _with_title(outline, found, dropped)


def _weigh(outline: Outline) -> _Weights:
    count = len(outline.containers)
    length, links, good = [0] * count, [0] * count, [0] * count
    for block in outline.blocks:
        size, at = len(block.text), block.container
        length[at] += size
        links[at] += block.link_length
        if _is_good(block, size):
            good[at] += size
    for at in range(count - 1, 0, -1):
        parent = outline.containers[at].parent
        length[parent] += length[at]
        links[parent] += links[at]
        good[parent] += good[at]
    return _Weights(length, links, good)


def _is_good(block: Block, size: int) -> bool:
    kind = block.kind
    if kind is Kind.CODE:
        return True
    if kind is Kind.HEADING or block.link_length > _SOME_LINKS * size:
        return False
    if kind is Kind.PARAGRAPH:
        return size >= _LONG_PARAGRAPH
    return size >= _LONG_ITEM


def _dropped(outline: Outline, weights: _Weights) -> list[bool]:
    """Of each container whether it is left out, by itself or with the one around it."""
    containers = outline.containers
    dropped = [False] * len(containers)
    total = weights.good[0]
    for at in range(1, len(containers)):
        container = containers[at]
        if dropped[container.parent]:
            dropped[at] = True
            continue
        size = weights.length[at]
        if not size or (weights.good[at] > _MOST * total and total >= _ENOUGH):
            continue  # most of the page is no menu, whatever it is called
        dense = weights.links[at] > _MANY_LINKS * size
        if container.role is Role.AROUND:
            dropped[at] = True
        elif container.role is Role.HEADER:
            dropped[at] = not container.has_h1 or weights.links[at] > _SOME_LINKS * size
        else:
            dropped[at] = dense and not container.has_h1
    return dropped


def _root(outline: Outline, weights: _Weights, dropped: list[bool]) -> int:
    """The container of the main content: one that says so and has most of the running text,
    else the innermost that has nearly all of it."""
    containers = outline.containers
    good = list(weights.good)
    for at in range(len(containers) - 1, 0, -1):
        if dropped[at] and not dropped[containers[at].parent]:
            above = containers[at].parent
            lost = weights.good[at]
            while above >= 0:
                good[above] -= lost
                above = containers[above].parent
    total = good[0]
    if not total:
        return 0
    root = 0
    for at in range(1, len(containers)):
        if dropped[at] or containers[at].role is not Role.MAIN:
            continue
        share = _MOST if root == 0 else _NEARLY_ALL
        if good[at] >= share * good[root] and _is_below(containers, at, root):
            root = at
    if root:
        return root
    for at in range(1, len(containers)):
        if (
            not dropped[at]
            and containers[at].parent == root
            and good[at] >= _NEARLY_ALL * good[root]
        ):
            root = at  # children come after their parents: one pass goes all the way down
    return root


def _is_below(containers: list[Container], at: int, root: int) -> bool:
    if root == 0:
        return True
    while at > root:
        at = containers[at].parent
    return at == root


def _blocks_below(outline: Outline, root: int, dropped: list[bool]) -> list[Block]:
    inside = [False] * len(outline.containers)
    inside[root] = True
    for at in range(root + 1, len(inside)):
        inside[at] = inside[outline.containers[at].parent] and not dropped[at]
    return [
        block for block in outline.blocks if inside[block.container] and not _is_only_link(block)
    ]


def _is_only_link(block: Block) -> bool:
    """`Read more`, `Next`, `Edit`."""
    size = len(block.text)
    return (
        block.kind is Kind.PARAGRAPH and size < _LONG_ITEM and block.link_length >= 0.8 * size > 0
    )


def _with_title(outline: Outline, found: list[Block], dropped: list[bool]) -> list[Block]:
    """With the page's first heading, where it stands before the container that was chosen."""
    if any(block.level == 1 for block in found):
        return found
    for block in outline.blocks:
        if block is found[0]:
            break
        if block.level == 1 and not dropped[block.container]:
            return [block, *found]
    return found
