"""Text made ready for tantivy's tokenizers, which know spaces and punctuation alone.

Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer write words without spaces or with
particles attached: every run of their characters becomes overlapping pairs, 東京都 →
東京 京都 都. The last character stands alone, so that a query of one character is answered by
the terms that begin with it. Pairs instead of a dictionary: names and new words are found too,
and query and page cannot be cut differently. Compatibility forms (Ｗｉｄｅ, ﬁ, decomposed
accents) become the plain ones.
"""

from __future__ import annotations

import re
from operator import add
from unicodedata import is_normalized, normalize

UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e46\u0e81-\u0ec6\u1000-\u109f\u1780-\u17c8"  # Thai Lao Burmese Khmer
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3105-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\u1100-\u11ff\uac00-\ud7a3"  # Korean
)
"""Characters of scripts whose words cannot be told by spaces, as a set of a regular expression."""

UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")

# tone marks and killers that tantivy takes for punctuation, inside of such runs
_MARKS = re.compile("[\u0e47-\u0e4e\u0ec8-\u0ece\u1037\u1039\u103a\u17c9-\u17d3\u17dd]")


def plain_form(text: str) -> str:
    """The text in Unicode's form KC, without marks that would split words."""
    if text.isascii():
        return text
    if not is_normalized("NFKC", text):
        text = normalize("NFKC", text)
    return _MARKS.sub("", text) if _MARKS.search(text) else text


def spaced(text: str) -> str:
    """The text with spaces wherever a word ends."""
    if text.isascii():
        return text
    plain = plain_form(text)
    if UNSPACED_RUN.search(plain) is None:
        return plain
    return UNSPACED_RUN.sub(_pairs, plain)


def _pairs(run: re.Match[str]) -> str:
    characters = run[0]
    return f" {' '.join(map(add, characters, characters[1:]))} {characters[-1]} "
