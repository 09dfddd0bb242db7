"""Where the main content of a page is: which container it lies in, and which of its blocks stay."""

from __future__ import annotations

from collections import Counter

from crawl.maincontent.blocks import Block, Container, Kind, Outline
from crawl.maincontent.boilerplate import dropped_containers
from crawl.maincontent.names import Role
from crawl.maincontent.weights import (
    ENOUGH,
    FEW_LINKS,
    LONG_ITEM,
    MOST,
    NEARLY_ALL,
    Weights,
    has_running_text,
    weigh,
)

_LONG_LINK = 120
"""Of a link that is a paragraph of its own: longer ones are sentences."""


def main_blocks(outline: Outline) -> list[Block]:
    """The blocks of the main content; of a page that has none, all that is no boilerplate by
    its own account."""
    if not outline.blocks:
        return []
    weights = weigh(outline)
    dropped = dropped_containers(outline, weights)
    root = _root(outline, weights, dropped)
    blocks = _blocks_below(outline, root, dropped)
    if sum(len(block.text) for block in blocks) < ENOUGH and root:
        blocks = _blocks_below(outline, 0, dropped)
    if not has_running_text(blocks):
        listed = _link_article(outline, weights, root)
        if sum(len(block.text) for block in listed) > sum(len(block.text) for block in blocks):
            return listed
    if not blocks:
        return list(outline.blocks)
    return _without_vain_headings(outline, _with_beginning(outline, blocks, dropped))


def _root(outline: Outline, weights: Weights, dropped: list[bool]) -> int:
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
        share = MOST if root == 0 else NEARLY_ALL
        if good[at] >= share * good[root] and _is_below(containers, at, root):
            root = at
    if root:
        return root
    sections: frozenset[int] | None = None
    for at in range(1, len(containers)):
        if (
            not dropped[at]
            and containers[at].parent == root
            and good[at] >= NEARLY_ALL * good[root]
        ):
            if sections is None:
                sections = _sections(outline, dropped)
            if at in sections:
                break
            root = at  # children come after their parents: one pass goes all the way down
    return root


def _sections(outline: Outline, dropped: list[bool]) -> frozenset[int]:
    """Containers that are sections of the text that the one around them is, however short the
    others are: they are like that one, or like another in it, and so are their headings."""
    containers = outline.containers
    levels = _heading_levels(outline)
    looks = [
        (each.parent, each.tag, each.names, level)
        for each, level in zip(containers, levels, strict=True)
    ]
    counts = Counter(
        look for look, is_dropped in zip(looks, dropped, strict=True) if not is_dropped
    )
    sections = []
    for at in range(1, len(containers)):
        parent, *look, level = looks[at]
        around, above = looks[parent][1:3], levels[parent]
        if level and (counts[looks[at]] > 1 or (tuple(look) == around and 0 < above < level)):
            sections.append(at)
    return frozenset(sections)


def _heading_levels(outline: Outline) -> list[int]:
    """Of each container the level of the heading that it begins with; 0 where it begins with
    something else."""
    levels = [-1] * len(outline.containers)
    for block in outline.blocks:
        at = block.container
        while at >= 0 and levels[at] < 0:
            levels[at] = block.level
            at = outline.containers[at].parent
    return [max(0, level) for level in levels]


def _is_below(containers: list[Container], at: int, root: int) -> bool:
    if root == 0:
        return True
    while at > root:
        at = containers[at].parent
    return at == root


def _blocks_below(
    outline: Outline, root: int, dropped: list[bool], *, with_links: bool = False
) -> list[Block]:
    inside = [False] * len(outline.containers)
    inside[root] = True
    for at in range(root + 1, len(inside)):
        inside[at] = inside[outline.containers[at].parent] and not dropped[at]
    return [
        block
        for block in outline.blocks
        if inside[block.container]
        and (with_links or not _is_only_link(block, outline.containers[block.container].tag))
    ]


def _link_article(outline: Outline, weights: Weights, root: int) -> list[Block]:
    """The blocks of an article that is a list of links: what is in the container that says it is
    the main content, or around the page's first heading. None where there is neither."""
    containers = outline.containers
    if containers[root].role is not Role.MAIN:
        root = next(
            (
                at
                for at, each in enumerate(containers)
                if each.role is Role.MAIN and _is_long(weights, at)
            ),
            -1,
        )
    if root < 0:
        heading = next((block for block in outline.blocks if block.level == 1), None)
        root = -1 if heading is None else heading.container
        while root > 0 and not _is_long(weights, root):
            root = containers[root].parent
    if root <= 0:
        return []
    dropped = [False] * len(containers)
    for at in range(root + 1, len(containers)):
        role = containers[at].role
        is_around = role in (Role.AROUND, Role.COMMENTS) or (
            role is Role.HEADER and not containers[at].has_h1
        )
        dropped[at] = is_around or dropped[containers[at].parent]
    return _blocks_below(outline, root, dropped, with_links=True)


def _is_long(weights: Weights, at: int) -> bool:
    return weights.length[at] >= ENOUGH


def _is_only_link(block: Block, around: str) -> bool:
    """`Read more`, `Next`, `Edit`, `Read also: Another article`; but lists of definitions tell
    where things are."""
    size = len(block.text)
    return (
        block.kind is Kind.PARAGRAPH
        and size < (LONG_ITEM if around == "dl" else _LONG_LINK)
        and block.link_length >= NEARLY_ALL * size > 0
    )


def _with_beginning(outline: Outline, blocks: list[Block], dropped: list[bool]) -> list[Block]:
    """With the page's first heading, and the lead behind it, where they stand before the container
    that was chosen; and with the sections that stand in a header with that heading."""
    if any(block.level == 1 for block in blocks):
        return blocks
    containers = outline.containers
    beginning: list[Block] = []
    header: list[Block] = []
    """Behind the first heading, in its own container or one in that."""
    for block in outline.blocks:
        if block is blocks[0]:
            break
        at = block.container
        if dropped[at]:
            continue
        if block.level == 1:
            beginning, header = [block], []
        elif beginning:
            if beginning[0].container in (at, containers[at].parent):
                header.append(block)
            if _is_lead(block):
                beginning.append(block)
    if any(block.level for block in header) and not _is_below(
        containers, blocks[0].container, beginning[0].container
    ):
        return [beginning[0], *header, *blocks]
    return beginning + blocks


def _is_lead(block: Block) -> bool:
    size = len(block.text)
    return (
        block.kind in (Kind.PARAGRAPH, Kind.HEADING)
        and size >= LONG_ITEM
        and block.link_length <= FEW_LINKS * size
    )


def _without_vain_headings(outline: Outline, blocks: list[Block]) -> list[Block]:
    """Without headings of which all that stood below them was left out: `Read also`."""
    places = {id(block): place for place, block in enumerate(outline.blocks)}
    result: list[Block] = []
    following = len(outline.blocks)
    """The place of the next block that stays."""
    for block in reversed(blocks):
        place = places[id(block)]
        if place + 1 == following or not _is_vain(block, result):
            result.append(block)
            following = place
    result.reverse()
    return result if has_running_text(result) else blocks


def _is_vain(block: Block, following: list[Block]) -> bool:
    """Whether a block, behind which something was left out, only announced that; `following` are
    those that stay, the next one last."""
    if block.kind is Kind.HEADING and block.level > 1:
        return not following or 0 < following[-1].level <= block.level
    return block.kind is Kind.PARAGRAPH and len(block.text) < LONG_ITEM and block.text[-1] == ":"
