"""What a page says beside its main text: menus, teasers, footers.

An index weighs it less than the main text, and yet finds the page by it.
"""

from __future__ import annotations

from collections import Counter

_SURE = 4
"""Words by which the main text's beginning and end are found in the whole."""


def rest_of(text: str, main_text: str) -> str:
    """The words of a text that its main text has not, in order; those that both have count as often
    as the whole has more of them. What is before the main text and behind it is taken as it is, so
    that words stay beside those that they stand with."""
    words, main = text.split(), main_text.split()
    first = _place(words, main[:_SURE], range(len(words)))
    last = _place(words, main[-_SURE:], range(len(words) - 1, -1, -1))
    if first is None or last is None or last < first:
        return " ".join(_without(words, Counter(main)))
    end = last + min(_SURE, len(main))
    inside = _without(words[first:end], Counter(main))
    return " ".join([*words[:first], *inside, *words[end:]])


def _place(words: list[str], phrase: list[str], places: range) -> int | None:
    """The first of the places where the wanted words stand."""
    if not phrase:
        return None
    size, begun = len(phrase), phrase[0]
    return next(
        (at for at in places if words[at] == begun and words[at : at + size] == phrase), None
    )


def _without(words: list[str], counts: Counter[str]) -> list[str]:
    rest = []
    for word in words:
        if counts[word] > 0:
            counts[word] -= 1
        else:
            rest.append(word)
    return rest
