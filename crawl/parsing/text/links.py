"""Links in plain text, in time that grows with the text alone: each character is looked at a
bounded number of times, whatever the text is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crawl.model.parse import Outlink
from crawl.urls.parse import parse, serialize

MAX_LINKS = 100_000
"""More links than this no page has; the rest is left out."""
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


def links_in_text(text: str, most: int = MAX_LINKS) -> tuple[Outlink, ...]:
    """The distinct absolute links of the text, in its order and as the standard writes them."""
    found: dict[str, None] = {}
    for url in _links(text):
        found[url] = None
        if len(found) >= most:
            break
    return tuple(map(Outlink, found))


def link_of(text: str) -> str | None:
    """The link where the text is one and nothing else."""
    if len(text) > MAX_URL or not _WHOLE.fullmatch(text):
        return None
    return _checked(text)


def _links(text: str) -> Iterator[str]:
    seen: set[str] = set()
    position = 0
    for _ in range(MAX_LOOKED_AT):
        # to look for what is rare, and from there back, is ten times quicker than a pattern
        colon = text.find("://", position)
        if colon < 0:
            return
        position = colon + 3
        # one more than a scheme, to see what comes before it
        scheme = _SCHEME.search(text[max(0, colon - _LONGEST_SCHEME - 1) : colon])
        rest = _REST.match(text, position) if scheme else None
        if scheme is None or rest is None:
            continue
        position = rest.end()
        if len(rest[0]) >= MAX_URL:
            continue
        link = _without_punctuation(f"{scheme[0]}://{rest[0]}")
        if link not in seen:
            seen.add(link)
            url = _checked(link)
            if url is not None:
                yield url


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
