"""Links in plain text, in time that grows with the text alone: each character is looked at a
bounded number of times, whatever the text is made of."""

from __future__ import annotations

import re
from typing import NamedTuple

from crawl.model.parse import Outlink
from crawl.urls.parse import parse, serialize

MAX_LINKS = 100_000
"""More links than this no page has; the rest is left out and counted."""
MAX_LOOKED_AT = 10 * MAX_LINKS
"""Of a text that has the same few links again and again."""
MAX_URL = 4096
"""Characters of a link; what goes on longer is no link."""

_ENDS = (
    r"\s\x00-\x1f\x7f<>\"`{}|\\^\u00ab\u00bb\u2018-\u201f"
    r"\u3000-\u303f\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
)
"""What no link goes on after: blanks, quotes, and the punctuation of scripts that put no
blank after a link."""
# The possessive repeat never gives back what it took, so that there is nothing to retry.
_REST = re.compile(rf"[^{_ENDS}]{{1,{MAX_URL}}}+")
_SCHEME = re.compile(r"(?<![A-Za-z0-9])(?:https?|ftp)\Z", re.IGNORECASE)
_LONGEST_SCHEME = 5
_WHOLE = re.compile(rf"(?:https?|ftp)://[^{_ENDS}]{{1,{MAX_URL}}}+", re.IGNORECASE)

_PUNCTUATION = frozenset(".,;:!?'*_~…")
_BRACKETS = {")": "(", "]": "["}


class TextLinks(NamedTuple):
    """The links of a text."""

    links: tuple[Outlink, ...]
    """Distinct and absolute, in their order and as the standard writes them."""
    over_limit: int
    """How many more there are; of a text that has very many, some may be none, or the same."""


def links_in_text(text: str, most: int = MAX_LINKS) -> TextLinks:
    """The first links of a text."""
    links: dict[str, None] = {}
    over_limit: set[str] = set()
    texts: set[str] = set()
    position = 0
    for _ in range(MAX_LOOKED_AT):
        # to look for what is rare, and from there back, is ten times quicker than a pattern
        colon = text.find("://", position)
        if colon < 0:
            break
        link, position = _link_around(text, colon)
        if link is None or link in texts:
            continue
        texts.add(link)
        url = _checked(link)
        if url is not None and url not in links:
            if len(links) < most:
                links[url] = None
            else:
                over_limit.add(url)
    else:
        unread = text.count("://", position)
        return TextLinks(tuple(map(Outlink, links)), len(over_limit) + unread)
    return TextLinks(tuple(map(Outlink, links)), len(over_limit))


def link_of(text: str) -> str | None:
    """The link where the text is one and nothing else."""
    if len(text) > MAX_URL or not _WHOLE.fullmatch(text):
        return None
    return _checked(text)


def _link_around(text: str, colon: int) -> tuple[str | None, int]:
    """The link whose `://` is there, if there is one, and where to look for the next."""
    position = colon + 3
    # one more than a scheme, to see what comes before it
    scheme = _SCHEME.search(text[max(0, colon - _LONGEST_SCHEME - 1) : colon])
    rest = _REST.match(text, position) if scheme else None
    if scheme is None or rest is None:
        return None, position
    if len(rest[0]) >= MAX_URL:
        return None, rest.end()
    return _without_punctuation(f"{scheme[0]}://{rest[0]}"), rest.end()


def _without_punctuation(link: str) -> str:
    """The link without what belongs to the sentence around it: a full stop, a bracket that
    was opened before it."""
    end = len(link)
    surplus = {close: link.count(close) - link.count(open_) for close, open_ in _BRACKETS.items()}
    while end:
        last = link[end - 1]
        if last in _BRACKETS and surplus[last] > 0:
            surplus[last] -= 1
        elif last not in _PUNCTUATION:
            break
        end -= 1
    return link[:end]


def _checked(link: str) -> str | None:
    url = parse(link)
    if url is None or not url.host:
        return None
    return serialize(url)
