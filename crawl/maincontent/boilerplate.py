"""What of a page is around its main content: menus, teasers, captions, comments and footers.

As readability and boilerpipe do it: running text with few links is content, short texts full of
links are not; what elements say of themselves counts where the text does not contradict it.
"""

from __future__ import annotations

from crawl.maincontent.blocks import Outline
from crawl.maincontent.names import Role
from crawl.maincontent.weights import ENOUGH, FEW_LINKS, MOST, SOME_LINKS, Weights

_MANY_LINKS = 0.5
"""The share of a container's characters from which on it is a menu."""
_FAIR_SHARE = 0.2
"""Of the running text that is not in something around the main content: where there is so much, it
is the main content, however much else there is."""
_LONG_CAPTION = 400
_NEAR = 4
"""So many containers above a caption may hold what it belongs to."""
_UNDECIDED = frozenset((Role.HEADER, Role.LINKS, Role.LEAD, Role.CAPTION, Role.FORM))
"""Roles that are settled by what is in the container."""


def dropped_containers(outline: Outline, weights: Weights) -> list[bool]:
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
        if weights.good[at] > MOST * total and total >= ENOUGH:
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


def _has_article(outline: Outline, weights: Weights, roles: list[Role]) -> tuple[bool, bool]:
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
    main = total - around - comments
    enough = max(ENOUGH, _FAIR_SHARE * (main + around))
    return main >= enough, main >= ENOUGH


def _roles(outline: Outline, weights: Weights) -> list[Role]:
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
            around = not begins or links > SOME_LINKS * size
        elif role is Role.CAPTION:
            pictures = pictures or _pictures(outline)
            place = _captioned(outline, pictures, at)
            around = size < _LONG_CAPTION and place is not None and not weights.shown[place]
        elif role is Role.FORM:
            around = good < _FAIR_SHARE * weights.good[0]
        else:
            around = links > FEW_LINKS * size
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
