"""Which of a page's links to one URL is stored for all of them.

The one with the longest text, of those that a reader can follow: a logo has none, and a menu
says "Home" where a sentence names the page. A text's length is that of its words with one blank
between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_mask
from crawl.model.parse import UNFOLLOWABLE_TAGS, Outlink

_Integers = npt.NDArray[np.int64]

UNFOLLOWABLE = "unfollowable"
"""The reason of links that are none to the page's reader: canonical pages, style sheets …"""

Repeat = tuple[int, int]
"""A link to a URL that is kept already: the number of the kept link, and the place of this one
among the links of its page."""


def positions_with_longest_text(
    links_of: Sequence[Sequence[Outlink]],
    owner: _Integers,
    position: _Integers,
    repeats: Iterable[Repeat],
) -> _Integers:
    """The place of the link to store for each one that is kept, whose page is its `owner`;
    `repeats` come in the order of documents. The first of the longest wins."""
    best = position.copy()
    for row, place in repeats:
        links = links_of[owner[row]]
        if _rank(links[place]) > _rank(links[best[row]]):
            best[row] = place
    return best


def _rank(link: Outlink) -> tuple[bool, int]:
    return link.is_followable, len(" ".join(link.anchor.split()))


def are_followable(tags: pa.Array[Any]) -> npt.NDArray[np.bool_]:
    """Of stored links, told by their tags, those that a reader can follow."""
    return ~as_mask(pc.is_in(tags, pa.array(UNFOLLOWABLE_TAGS, pa.string())))


def unread_links(
    links_of: Sequence[Sequence[Outlink]],
    owner: _Integers,
    position: _Integers,
    scanned: _Integers,
    ignored_rel: frozenset[str],
) -> Iterator[tuple[int, int, str]]:
    """Page, place and URL of links behind those that were looked at, of pages of which some are
    kept, as far as their text may be wanted for one of these."""
    lacking = {
        page
        for page, place in zip(owner.tolist(), position.tolist(), strict=True)
        if not links_of[page][place].is_followable
    }
    for page in np.unique(owner).tolist():
        links = links_of[page]
        for place in range(int(scanned[page]), len(links)):
            link = links[place]
            if (link.anchor or (page in lacking and link.is_followable)) and (
                not link.rel or ignored_rel.isdisjoint(link.rel.split())
            ):
                yield page, place, link.url
