"""Pages with known truth: edited copies, and pages of one template that are no copies."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class MadePage:
    """A page; those of one original are near duplicates of it."""

    url: str
    text: str
    original: int
    edits: float
    """The share of words that were changed; 0 for the original."""


@cache
def vocabulary() -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Words, and how often each and those before it are used: as in a language, few very often."""
    chance = random.Random("words")
    words = {
        "".join(chance.choices("aeiounrstldkmpbgvhfz", k=chance.randint(2, 9)))
        for _ in range(20_000)
    }
    return tuple(sorted(words)), tuple(accumulate(1 / (rank + 3) for rank in range(len(words))))


def words_of(chance: random.Random, count: int) -> list[str]:
    words, weights = vocabulary()
    return chance.choices(words, cum_weights=weights, k=count)


def edited(chance: random.Random, words: list[str], share: float) -> list[str]:
    """A copy in which so many words are replaced, left out or put in."""
    found: list[str] = []
    for word in words:
        if chance.random() >= share:
            found.append(word)
            continue
        what = chance.randrange(4)
        if what != 0:  # else left out
            found += words_of(chance, 1)
        if what == 1:
            found.append(word)
    return found


def made_pages(seed: int, originals: int, shares: tuple[float, ...]) -> list[MadePage]:
    """Pages of ten hosts. Half of the hosts have a template of up to nine times as many words as
    a page has of its own; each original has a copy for each share, on its own or another host."""
    chance = random.Random(seed)
    templates = [words_of(chance, chance.randint(150, 900)) for _ in range(5)]
    pages: list[MadePage] = []
    for number in range(originals):
        own = words_of(chance, chance.randint(100, 800))
        versions = [(0.0, own), *((share, edited(chance, own, share)) for share in shares)]
        for copy, (share, words) in enumerate(versions):
            host = (number + (copy % 2) * chance.randrange(10)) % 10
            if host < len(templates):
                half = len(templates[host]) // 2
                words = [*templates[host][:half], *words, *templates[host][half:]]
            url = f"http://h{host}.org/{number}/{copy}"
            pages.append(MadePage(url, " ".join(words), number, share))
    return pages
