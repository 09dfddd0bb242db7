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
_MAX_SHORT_LINE = 30
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
    signals: dict[str, int | float] = dict.fromkeys(SIGNALS, 0)
    signals["characters"] = len(text)
    if not count:
        return signals
    signals["words"] = count
    signals["lines"] = line_count
    counts = Counter(words)  # most words repeat: what is asked of one is asked once
    signals["mean_word_length"] = _rounded(sum(map(len, words)), count)
    signals["symbol_to_word_ratio"] = _rounded(text.count("#"), count)
    signals["ellipsis_to_word_ratio"] = _rounded(text.count("...") + text.count("…"), count)
    signals["alphabetic_words_share"] = _rounded(_alphabetic(counts), count)
    signals["stop_words"] = len(_STOP_WORDS & counts.keys())
    _line_shares(signals, lines)
    _repeats(signals, "lines", lines, len(text))
    paragraphs = [each.lstrip("\n") for each in text.strip().split("\n\n") if each]
    _repeats(signals, "paragraphs", paragraphs, len(text))
    _n_grams(signals, words[:_MAX_WORDS], len(text))
    return signals


def _alphabetic(counts: Counter[str]) -> int:
    """How many words have a letter in them."""
    plain = sum(map(counts.__getitem__, filter(str.isalpha, counts)))
    has_letter = _HAS_LETTER.search
    others = itertools.filterfalse(str.isalpha, counts)
    return plain + sum(counts[word] for word in others if has_letter(word))


def _line_shares(signals: dict[str, int | float], lines: Sequence[str]) -> None:
    ends = [end for line in lines if (end := line.rstrip()).endswith(_ENDS)]
    for name, part in (
        ("bullet", sum(line.lstrip().startswith(_BULLETS) for line in lines)),
        ("ellipsis", sum(end.endswith(_ELLIPSES) for end in ends)),
        ("punctuated", len(ends)),
        ("short", sum(len(line) <= _MAX_SHORT_LINE for line in lines)),
    ):
        signals[f"{name}_lines_share"] = _rounded(part, len(lines))


def _rounded(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def _repeats(
    signals: dict[str, int | float], name: str, pieces: Sequence[str], length: int
) -> None:
    unique = set(pieces)
    if len(unique) == len(pieces):
        return
    characters = sum(map(len, pieces)) - sum(map(len, unique))
    signals[f"duplicate_{name}_share"] = _rounded(len(pieces) - len(unique), len(pieces))
    signals[f"duplicate_{name}_characters_share"] = _rounded(characters, length)


def _n_grams(signals: dict[str, int | float], words: Sequence[str], length: int) -> None:
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
                signals[f"top_{n}_gram_share"] = _rounded(int(ends[n]) + n - 1, length)
            continue
        following = grams[:-1] * len(numbers) + ids[n - 1 :]
        _, first, grams, counts = np.unique(
            following, return_index=True, return_inverse=True, return_counts=True
        )
        repeats = len(counts) < len(grams)
        if n in TOP_N_GRAMS:
            signals[f"top_{n}_gram_share"] = _top(first, counts, ends, n, length)
        if n in DUPLICATE_N_GRAMS and repeats:
            repeated = _duplicate_characters(grams, ends, n)
            signals[f"duplicate_{n}_grams_share"] = _rounded(repeated, length)


def _top(
    first: npt.NDArray[Any], counts: npt.NDArray[Any], ends: npt.NDArray[Any], n: int, length: int
) -> float:
    """Of several that are as frequent, the one that comes first, as Counter has it."""
    most = counts.max()
    at = int(first[counts == most].min())
    return _rounded(int(most) * (int(ends[at + n] - ends[at]) + n - 1), length)


def _duplicate_characters(grams: npt.NDArray[Any], ends: npt.NDArray[Any], n: int) -> int:
    """Characters of n-grams that were there before; those that overlap count once."""
    earlier: set[int] = set()
    repeated = at = 0
    values: list[int] = grams.tolist()
    while at < len(values):
        if values[at] in earlier:
            repeated += int(ends[at + n] - ends[at])
            at += n
        else:
            earlier.add(values[at])
            at += 1
    return repeated
