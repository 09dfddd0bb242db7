"""Signals of a text's quality, as the filters of public pipelines know them.

Gopher's (Rae et al. 2021, table A1), C4's and FineWeb's, by the definitions of datatrove; words
are what blanks separate, where datatrove asks a tokenizer of the language. They are reported, and
nothing is dropped: where to cut is the reader's to say.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

TOP_N_GRAMS = (2, 3, 4)
DUPLICATE_N_GRAMS = (5, 6, 7, 8, 9, 10)

_ENDS = (".", "?", "!", '"', "'", "”", "’", "。", "？", "！", "…", "؟", "।", "։")
_BULLETS = ("•", "-", "*", "‣", "◦", "–")
_ELLIPSES = ("...", "…")
_SHORT_LINE = 30
_HAS_LETTER = re.compile(r"[^\W\d_]")
_STOP_WORDS = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))
_MAX_WORDS = 200_000
"""Of which n-grams are counted: those of a longer text, at its beginning."""

SIGNALS: dict[str, pa.DataType] = {
    "characters": pa.int64(),
    "words": pa.int64(),
    "lines": pa.int64(),
    "mean_word_length": pa.float32(),
    "symbol_to_word_ratio": pa.float32(),
    "ellipsis_to_word_ratio": pa.float32(),
    "alphabetic_words_share": pa.float32(),
    "stop_words": pa.int32(),
    "bullet_lines_share": pa.float32(),
    "ellipsis_lines_share": pa.float32(),
    "punctuated_lines_share": pa.float32(),
    "short_lines_share": pa.float32(),
    "duplicate_lines_share": pa.float32(),
    "duplicate_lines_characters_share": pa.float32(),
    "duplicate_paragraphs_share": pa.float32(),
    "duplicate_paragraphs_characters_share": pa.float32(),
    **{f"top_{n}_gram_share": pa.float32() for n in TOP_N_GRAMS},
    **{f"duplicate_{n}_grams_share": pa.float32() for n in DUPLICATE_N_GRAMS},
}
"""The signals and their types, in their order."""


def signals_of(text: str) -> dict[str, int | float]:
    """The signals of a text, by name; shares are of 1, and those of nothing are 0."""
    words = text.split()
    lines = [line for line in text.split("\n") if line.strip()]
    count, line_count = len(words), len(lines)
    found: dict[str, int | float] = dict.fromkeys(SIGNALS, 0)
    found["characters"] = len(text)
    if not count:
        return found
    found["words"] = count
    found["lines"] = line_count
    counts = Counter(words)  # most words repeat: what is asked of one is asked once
    found["mean_word_length"] = _rounded(sum(map(len, words)), count)
    found["symbol_to_word_ratio"] = _rounded(text.count("#"), count)
    found["ellipsis_to_word_ratio"] = _rounded(text.count("...") + text.count("…"), count)
    found["alphabetic_words_share"] = _rounded(_alphabetic(counts), count)
    found["stop_words"] = len(_STOP_WORDS & counts.keys())
    _line_shares(found, lines)
    _repeats(found, "lines", lines, len(text))
    paragraphs = [each.lstrip("\n") for each in text.strip().split("\n\n") if each]
    _repeats(found, "paragraphs", paragraphs, len(text))
    _n_grams(found, words[:_MAX_WORDS], len(text))
    return found


def _alphabetic(counts: Counter[str]) -> int:
    """How many words have a letter in them."""
    plain = sum(map(counts.__getitem__, filter(str.isalpha, counts)))
    has_letter = _HAS_LETTER.search
    others = itertools.filterfalse(str.isalpha, counts)
    return plain + sum(counts[word] for word in others if has_letter(word))


def _line_shares(found: dict[str, int | float], lines: Sequence[str]) -> None:
    bullets = ellipses = punctuated = short = 0
    for line in lines:
        if line.lstrip().startswith(_BULLETS):
            bullets += 1
        if len(line) <= _SHORT_LINE:
            short += 1
        end = line.rstrip()
        if end.endswith(_ENDS):
            punctuated += 1
            if end.endswith(_ELLIPSES):
                ellipses += 1
    count = len(lines)
    found["bullet_lines_share"] = _rounded(bullets, count)
    found["ellipsis_lines_share"] = _rounded(ellipses, count)
    found["punctuated_lines_share"] = _rounded(punctuated, count)
    found["short_lines_share"] = _rounded(short, count)


def _rounded(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def _repeats(found: dict[str, int | float], name: str, pieces: Sequence[str], length: int) -> None:
    unique = set(pieces)
    if len(unique) == len(pieces):
        return
    characters = sum(map(len, pieces)) - sum(map(len, unique))
    found[f"duplicate_{name}_share"] = _rounded(len(pieces) - len(unique), len(pieces))
    found[f"duplicate_{name}_characters_share"] = _rounded(characters, length)


def _n_grams(found: dict[str, int | float], words: Sequence[str], length: int) -> None:
    """Shares of the characters that are in the most frequent n-gram, and in repeated ones."""
    numbers = dict(zip(dict.fromkeys(words), itertools.count(), strict=False))
    ids = np.fromiter(map(numbers.__getitem__, words), np.int64, len(words))
    ends = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=ends[1:])
    grams, repeats = ids, len(numbers) < len(words)
    for n in range(2, max(DUPLICATE_N_GRAMS) + 1):
        if len(words) < n:
            return
        if not repeats:  # then no longer one does either, and of the top ones the first counts
            if n in TOP_N_GRAMS:
                found[f"top_{n}_gram_share"] = _rounded(int(ends[n]) + n - 1, length)
            continue
        following = grams[:-1] * len(numbers) + ids[n - 1 :]
        _, first, grams, counts = np.unique(
            following, return_index=True, return_inverse=True, return_counts=True
        )
        repeats = len(counts) < len(grams)
        if n in TOP_N_GRAMS:
            found[f"top_{n}_gram_share"] = _top(first, counts, ends, n, length)
        if n in DUPLICATE_N_GRAMS and repeats:
            repeated = _duplicate_characters(grams, ends, n)
            found[f"duplicate_{n}_grams_share"] = _rounded(repeated, length)


def _top(
    first: npt.NDArray[Any], counts: npt.NDArray[Any], ends: npt.NDArray[Any], n: int, length: int
) -> float:
    """Of several that are as frequent, the one that comes first, as Counter has it."""
    most = counts.max()
    at = int(first[counts == most].min())
    return _rounded(int(most) * (int(ends[at + n] - ends[at]) + n - 1), length)


def _duplicate_characters(grams: npt.NDArray[Any], ends: npt.NDArray[Any], n: int) -> int:
    """Characters of n-grams that were there before; those that overlap count once."""
    seen: set[int] = set()
    repeated = at = 0
    values: list[int] = grams.tolist()
    while at < len(values):
        if values[at] in seen:
            repeated += int(ends[at + n] - ends[at])
            at += n
        else:
            seen.add(values[at])
            at += 1
    return repeated
