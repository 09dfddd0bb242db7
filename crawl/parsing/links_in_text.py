"""Links in plain text, in time that grows with the text alone: each character is looked at a
bounded number of times, whatever the text is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crawl.model.parse import Outlink
from crawl.urls.parse import parse, serialize

MAX_LINKS = 100_000
"""More links than this no page has; the rest is left out."""
MAX_URL = 4096
"""Characters of a link; what goes on longer is no link."""

_ENDS = (
    r"\s\x00-\x1f\x7f<>\"`{}|\\^\u00ab\u00bb\u2018-\u201f"
    r"\u3000-\u303f\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
)
"""What no link goes on after: blanks, quotes, and the punctuation of scripts that put no
blank after a link."""
# The possessive repeat never gives back what it took, so that there is nothing to retry.
_LINK = re.compile(rf"(?<![A-Za-z0-9])(?:https?|ftp)://[^{_ENDS}]{{1,{MAX_URL}}}+", re.IGNORECASE)
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
    for match in _LINK.finditer(text):
        if match.end() - match.start() >= MAX_URL:
            continue
        url = _checked(_without_its_sentence(match[0]))
        if url is not None:
            yield url


def _without_its_sentence(link: str) -> str:
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
