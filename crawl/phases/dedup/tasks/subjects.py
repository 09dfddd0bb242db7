"""What a page is about by its own word: its title without what most titles of its host have in
common, and the heading that its text begins with.

Pages of one template may differ in nothing else: of the pages about GLib's ParamSpecChar and
ParamSpecLong 99.5% of the word triples are the same. Pages about different things are never near
duplicates, so a title is part of the keys under which pages meet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.phases.dedup.tasks.keys import Keys, Mask, Numbers, mixed
from crawl.urls.columns import column_bytes

TITLE_SHARE = 0.5
"""Of a host's titles: a word that as many have is of the site, not of the page."""
_TITLE_PAGES = 4
_MAX_WORDS = 32
"""Of a title."""
_HEADING_WORDS = 12
"""A first line of more is a sentence."""
_HEADING_TEXT = 400
"""Characters at the beginning of a text among which its heading is looked for."""
_EDGES = ".,:;?|·•¶\"'«»“”‘’"
"""What may stand around a word and is not of it; not signs by which names differ (C, C++, C#)."""
_NUMBERING = re.compile(
    r"(?:(?:chapter|part|section|appendix|kapitel|teil|chapitre|partie)\s+(?:[ivxlc]+|[a-z]|\d+)"
    r"|(?:[a-z]\.)?\d+)(?:\.\d+)*\.\s+"
)
"""An outline's number before a title, which is another in the next version of the same text."""
_POSITION = np.uint64(0xD6E8FEB86659FD93)


def subject_words(title: str) -> list[str]:
    """The words of a title or heading by which it is compared."""
    plain = _NUMBERING.sub("", title.lower().strip(), count=1) or title.lower()
    words = [word.strip(_EDGES) for word in plain.split()[:_MAX_WORDS]]
    return [word for word in words if any(map(str.isalnum, word))]


def packed_words(titles: Sequence[str | None]) -> pa.Array[Any]:
    """Of each title its words as numbers of four bytes, in their order: what travels."""
    return pa.array(
        [
            np.array([crc32(word.encode("utf-8", "replace")) for word in words], "<u4").tobytes()
            for words in (subject_words(title or "") for title in titles)
        ],
        pa.binary(),
    )


def subject_keys(titles: pa.Array[Any], hosts: Keys) -> Keys:
    """Of each packed title the number of what is its own: of the words that most titles of its
    host lack, or of all where it has no other; 0 for a title that most pages of its host have, and
    for none."""
    whole = column_bytes(titles)
    words = np.frombuffer(whole.data.tobytes(), "<u4").astype(np.uint64)
    owners: Numbers = np.repeat(np.arange(len(titles)), np.diff(whole.offsets) // 4)
    site = _are_common(words, owners, hosts)
    own, every = (
        _joined(words[mask], owners[mask], len(titles)) for mask in (~site, np.ones_like(site))
    )
    titled = np.flatnonzero(every)
    is_site = np.zeros(len(titles), np.bool_)
    is_site[titled] = _are_common(every[titled], titled, hosts)
    return np.where(is_site, np.uint64(0), np.where(own != 0, own, every))


def heading_keys(texts: Sequence[str | None]) -> Keys:
    """Of the beginning of each text the number of its heading, 0 for none: a short first line with
    more text below it."""
    keys = np.zeros(len(texts), np.uint64)
    for place, text in enumerate(texts):
        line, _, rest = (text or "").lstrip().partition("\n")
        words = subject_words(line) if rest.strip() else []
        if 0 < len(words) <= _HEADING_WORDS:
            joined = " ".join(words).encode("utf-8", "replace")
            keys[place] = np.uint64(crc32(joined) + (len(joined) << 32))
    return keys


def beginnings(texts: pa.ChunkedArray[Any]) -> list[str | None]:
    """The part of each text in which its heading is."""
    cut: Any = pc.utf8_slice_codeunits
    heads: list[str | None] = cut(texts, 0, _HEADING_TEXT).to_pylist()
    return heads


def _are_common(values: Keys, owners: Numbers, hosts: Keys) -> Mask:
    """Whether each value is one that so many pages of its page's host have."""
    names, host, sizes = np.unique(hosts, return_inverse=True, return_counts=True)
    _, codes = np.unique(values, return_inverse=True)
    count = np.int64(len(names) + 1)
    pairs = codes.astype(np.int64) * count + host[owners]
    once = np.unique(np.stack([pairs, owners]), axis=1)[0] if len(pairs) else pairs
    distinct, counts = np.unique(once, return_counts=True)
    pages = counts[np.searchsorted(distinct, pairs)] if len(pairs) else pairs
    least = np.maximum(_TITLE_PAGES, np.ceil(TITLE_SHARE * sizes))
    return np.asarray(pages >= least[host[owners]])


def _joined(words: Keys, owners: Numbers, count: int) -> Keys:
    """A number of each owner's words in their order; 0 for none."""
    numbers = np.zeros(count, np.uint64)
    if len(words):
        firsts = np.searchsorted(owners, owners)
        place = (np.arange(len(owners)) - firsts).astype(np.uint64)
        np.add.at(numbers, owners, mixed(words + (place + np.uint64(1)) * _POSITION))
    return numbers
