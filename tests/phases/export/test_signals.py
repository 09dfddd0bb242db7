"""Quality signals beside the plain definitions of datatrove's filters."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.phases.export.tasks.signals import DUPLICATE_N_GRAMS, SIGNALS, TOP_N_GRAMS, signals_of
from tests.examples import scaled

_texts = st.lists(st.sampled_from(["a", "bc", "the", "#", "…", "x.", "\n", "\n\n", "-"])).map(
    " ".join
)


def top_share(words: list[str], n: int, length: int) -> float:
    grams = [" ".join(words[at : at + n]) for at in range(len(words) - n + 1)]
    if not grams:
        return 0.0
    gram, count = Counter(grams).most_common(1)[0]
    return round(len(gram) * count / length, 4)


def duplicate_share(words: list[str], n: int, length: int) -> float:
    seen: set[tuple[str, ...]] = set()
    repeated = at = 0
    while at < len(words) - n + 1:
        gram = tuple(words[at : at + n])
        if gram in seen:
            repeated += len("".join(gram))
            at += n
        else:
            seen.add(gram)
            at += 1
    return round(repeated / length, 4)


@settings(max_examples=scaled(300))
@given(_texts)
def test_n_grams_are_as_datatrove_counts_them(text: str) -> None:
    found = signals_of(text)
    assert list(found) == list(SIGNALS)
    paragraphs = re.split(r"\n{2,}", text.strip())
    repeated = len(paragraphs) - len(set(paragraphs))
    assert found["duplicate_paragraphs_share"] == round(repeated / len(paragraphs), 4)
    words = text.split()
    for n in TOP_N_GRAMS:
        assert found[f"top_{n}_gram_share"] == top_share(words, n, len(text) or 1)
    for n in DUPLICATE_N_GRAMS:
        assert found[f"duplicate_{n}_grams_share"] == duplicate_share(words, n, len(text) or 1)


def test_signals_of_a_plain_text() -> None:
    text = "The cat sat with that hat.\n- a bullet...\n- a bullet...\n\nIt # is 42 here"
    found = signals_of(text)
    assert found["words"] == 17 and found["lines"] == 4 and found["characters"] == len(text)
    assert found["stop_words"] == 2  # `with` and `that`
    assert found["punctuated_lines_share"] == 0.75
    assert found["ellipsis_lines_share"] == found["bullet_lines_share"] == 0.5
    assert found["duplicate_lines_share"] == 0.25
    assert found["symbol_to_word_ratio"] == pytest.approx(1 / 17, abs=1e-4)
    assert found["alphabetic_words_share"] == pytest.approx(13 / 17, abs=1e-4)
    assert set(signals_of("").values()) == {0}
    assert set(signals_of("\n \n").values()) == {0, 3}
