"""Where the main content of a page is: which container it lies in, and what of that stays.

As readability and boilerpipe do it: running text with few links is content, short texts full of
links are not; what elements say of themselves counts where the text does not contradict it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from crawl.maincontent.blocks import Block, Container, Kind, Outline
from crawl.maincontent.names import Role

_LONG_PARAGRAPH = 80
"""Characters of running text."""
_LONG_ITEM = 60
_FEW_LINKS = 0.1
_MANY_LINKS = 0.5
"""Share of a container's characters that are in links."""
_SOME_LINKS = 0.33
_MOST = 0.5
_NEARLY_ALL = 0.8
_FAIR_SHARE = 0.2
"""Of the running text that is not in something around the main content: where there is so much, it
is the main content, however much else there is."""
_ENOUGH = 200
"""Characters of a main content that is believed."""
_LONG_LINK = 120
"""Of a link that is a paragraph of its own: longer ones are sentences."""
_LONG_CAPTION = 400
_NEAR = 4
"""So many containers above a caption may hold what it belongs to."""
_UNDECIDED = frozenset((Role.HEADER, Role.LINKS, Role.LEAD, Role.CAPTION, Role.FORM))
"""Roles that are settled by what is in the container."""
_FEWEST_LINES = 4
_SHORTEST_VERSE = 120
"""Short lines beside each other, and their characters, that are a poem or the like."""


@dataclass(frozen=True, slots=True)
class _Weights:
    """Of each container, with all that is in it."""

    length: list[int]
    links: list[int]
    good: list[int]
    """Characters of what looks like running text, verse, code or data."""
    shown: list[int]
    """Characters of code, tables, items and quotations."""


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
    if not _has_running_text(found):
        listed = _link_article(outline, weights, root)
        if sum(len(block.text) for block in listed) > sum(len(block.text) for block in found):
            return listed
    if not found:
        return list(outline.blocks)
    return _without_vain_headings(outline, _with_beginning(outline, found, dropped))


# --- weights ---------------------------------------------------------------------------
def _weigh(outline: Outline) -> _Weights:
    containers = outline.containers
    count = len(containers)
    length, links, good, shown = [0] * count, [0] * count, [0] * count, [0] * count
    lines, verse = [0] * count, [0] * count
    """Short lines that lie in a container, and their characters."""
    for block in outline.blocks:
        size, at = len(block.text), block.container
        length[at] += size
        links[at] += block.link_length
        if block.kind >= Kind.ITEM or block.enclosure is not None:
            shown[at] += size
        if _is_good(block, size):
            good[at] += size
        elif not block.level and not block.link_length:
            lines[at] += 1
            verse[at] += size
    for at in range(count - 1, 0, -1):
        parent = containers[at].parent
        if lines[at] == 1 and length[at] == verse[at]:  # a line in an element of its own
            lines[parent] += 1
            verse[parent] += verse[at]
        elif lines[at] >= _FEWEST_LINES and verse[at] >= _SHORTEST_VERSE:
            good[at] += verse[at]
        length[parent] += length[at]
        links[parent] += links[at]
        good[parent] += good[at]
        shown[parent] += shown[at]
    if lines[0] >= _FEWEST_LINES and verse[0] >= _SHORTEST_VERSE:
        good[0] += verse[0]
    return _Weights(length, links, good, shown)


def _is_good(block: Block, size: int) -> bool:
    kind = block.kind
    if kind is Kind.CODE:
        return True
    if kind is Kind.HEADING or block.link_length > _SOME_LINKS * size:
        return False
    if kind is Kind.PARAGRAPH:
        return size >= _LONG_PARAGRAPH
    return size >= _LONG_ITEM


def _has_running_text(blocks: list[Block]) -> bool:
    """Whether enough of them looks like running text."""
    length = 0
    for block in blocks:
        if _is_good(block, len(block.text)):
            length += len(block.text)
            if length >= _ENOUGH:
                return True
    return False


# --- what is left out ------------------------------------------------------------------
def _roles(outline: Outline, weights: _Weights) -> list[Role]:
    """What containers are by their own account, where it may be this or that, after a look at
    what is in them."""
    containers = outline.containers
    roles = [container.role for container in containers]
    inside_main = [False] * len(containers)
    pictures: list[bool] = []
    for at in range(1, len(containers)):
        role, parent = roles[at], containers[at].parent
        inside_main[at] = inside_main[parent] or role is Role.MAIN
        if role not in _UNDECIDED:
            continue
        good, links, size = weights.good[at], weights.links[at], weights.length[at]
        if role is Role.HEADER:
            begins = containers[at].has_h1 or (inside_main[at] and good > 0)
            around = not begins or links > _SOME_LINKS * size
        elif role is Role.CAPTION:
            pictures = pictures or _pictures(outline)
            place = _captioned(outline, pictures, at)
            around = size < _LONG_CAPTION and place is not None and not weights.shown[place]
        elif role is Role.FORM:
            around = good < _FAIR_SHARE * weights.good[0]
        else:
            around = links > _FEW_LINKS * size
        roles[at] = Role.AROUND if around else Role.NONE
    return roles


def _captioned(outline: Outline, pictures: list[bool], at: int) -> int | None:
    """The figure, or the caption itself, that belongs to a picture in it or beside it; None where
    there is none."""
    above = at
    for _ in range(_NEAR):
        if outline.containers[above].tag == "figure":
            return above if pictures[above] else None
        if pictures[above]:
            return at
        above = outline.containers[above].parent
        if above <= 0:
            break
    return None


def _pictures(outline: Outline) -> list[bool]:
    """Of each container whether there is a picture in it."""
    containers = outline.containers
    pictures = [each.has_picture for each in containers]
    for at in range(len(containers) - 1, 0, -1):
        if pictures[at]:
            pictures[containers[at].parent] = True
    return pictures


def _dropped(outline: Outline, weights: _Weights) -> list[bool]:
    """Of each container whether it is left out, by itself or with the one around it."""
    containers = outline.containers
    roles = _roles(outline, weights)
    dropped = [False] * len(containers)
    total = weights.good[0]
    article: tuple[bool, bool] | None = None
    """Whether there is one beside what is around it, and beside comments; seldom asked for."""
    for at in range(1, len(containers)):
        container = containers[at]
        if dropped[container.parent]:
            dropped[at] = True
            continue
        size = weights.length[at]
        if not size:
            continue
        role = roles[at]
        if role is Role.COMMENTS:
            article = article or _has_article(outline, weights, roles)
            dropped[at] = article[1]
            continue
        if weights.good[at] > _MOST * total and total >= _ENOUGH:
            # most of the page is no menu, whatever it is called, unless there is an article
            if role is Role.AROUND:
                article = article or _has_article(outline, weights, roles)
                dropped[at] = article[0]
        elif role is Role.AROUND:
            dropped[at] = True
        else:
            dense = weights.links[at] > _MANY_LINKS * size
            dropped[at] = dense and not container.has_h1
    return dropped


def _has_article(outline: Outline, weights: _Weights, roles: list[Role]) -> tuple[bool, bool]:
    """Whether enough running text is neither around the main content by its own account nor what
    readers say of it, for all else to be left out; and the same of comments alone."""
    containers = outline.containers
    outside = [Role.NONE] * len(containers)
    around = comments = 0
    for at in range(1, len(containers)):
        above = outside[containers[at].parent]
        role = roles[at]
        if above is not Role.NONE:
            outside[at] = above
        elif role in (Role.AROUND, Role.COMMENTS):
            outside[at] = role
            if role is Role.AROUND:
                around += weights.good[at]
            else:
                comments += weights.good[at]
    total = weights.good[0]
    left = total - around - comments
    enough = max(_ENOUGH, _FAIR_SHARE * (left + around))
    return left >= enough, left >= _ENOUGH


# --- where it is -----------------------------------------------------------------------
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
    sections: frozenset[int] | None = None
    for at in range(1, len(containers)):
        if (
            not dropped[at]
            and containers[at].parent == root
            and good[at] >= _NEARLY_ALL * good[root]
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
    found = []
    for at in range(1, len(containers)):
        parent, *look, level = looks[at]
        around, above = looks[parent][1:3], levels[parent]
        if level and (counts[looks[at]] > 1 or (tuple(look) == around and 0 < above < level)):
            found.append(at)
    return frozenset(found)


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


def _link_article(outline: Outline, weights: _Weights, root: int) -> list[Block]:
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


def _is_long(weights: _Weights, at: int) -> bool:
    return weights.length[at] >= _ENOUGH


def _is_only_link(block: Block, around: str) -> bool:
    """`Read more`, `Next`, `Edit`, `Read also: Another article`; but lists of definitions tell
    where things are."""
    size = len(block.text)
    return (
        block.kind is Kind.PARAGRAPH
        and size < (_LONG_ITEM if around == "dl" else _LONG_LINK)
        and block.link_length >= _NEARLY_ALL * size > 0
    )


def _with_beginning(outline: Outline, found: list[Block], dropped: list[bool]) -> list[Block]:
    """With the page's first heading, and the lead behind it, where they stand before the container
    that was chosen; and with the sections that stand in a header with that heading."""
    if any(block.level == 1 for block in found):
        return found
    containers = outline.containers
    beginning: list[Block] = []
    header: list[Block] = []
    """Behind the first heading, in its own container or one in that."""
    for block in outline.blocks:
        if block is found[0]:
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
        containers, found[0].container, beginning[0].container
    ):
        return [beginning[0], *header, *found]
    return beginning + found


def _is_lead(block: Block) -> bool:
    size = len(block.text)
    return (
        block.kind in (Kind.PARAGRAPH, Kind.HEADING)
        and size >= _LONG_ITEM
        and block.link_length <= _FEW_LINKS * size
    )


def _without_vain_headings(outline: Outline, found: list[Block]) -> list[Block]:
    """Without headings of which all that stood below them was left out: `Read also`."""
    places = {id(block): place for place, block in enumerate(outline.blocks)}
    kept: list[Block] = []
    following = len(outline.blocks)
    """The place of the next block that stays."""
    for block in reversed(found):
        place = places[id(block)]
        if place + 1 == following or not _is_vain(block, kept):
            kept.append(block)
            following = place
    kept.reverse()
    return kept if _has_running_text(kept) else found


def _is_vain(block: Block, following: list[Block]) -> bool:
    """Whether a block, behind which something was left out, only announced that; `following` are
    those that stay, the next one last."""
    if block.kind is Kind.HEADING and block.level > 1:
        return not following or 0 < following[-1].level <= block.level
    return block.kind is Kind.PARAGRAPH and len(block.text) < _LONG_ITEM and block.text[-1] == ":"
