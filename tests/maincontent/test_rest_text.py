"""What a page says beside its main text."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.maincontent.rest_text import rest_of
from tests.examples import scaled

words = st.lists(st.sampled_from("abcdefgh"), max_size=12)


def test_menus_and_footers_are_left_as_they_stand() -> None:
    main = "The story itself\n\nis told in a few words of its own."
    text = f"Home News Sport The weather\n{' '.join(main.split())}\nImprint The privacy of its own"
    assert rest_of(text, main) == "Home News Sport The weather Imprint The privacy of its own"
    assert rest_of(main, main) == ""
    assert rest_of("Home News", "Other") == "Home News"
    assert rest_of("", "Other") == ""


@settings(max_examples=scaled(200), deadline=None)
@given(before=words, main=words, inside=words, after=words)
def test_words_count_as_often_as_the_whole_has_more_of_them(
    before: list[str], main: list[str], inside: list[str], after: list[str]
) -> None:
    middle = [*main[: len(main) // 2], *inside, *main[len(main) // 2 :]]
    rest = rest_of(" ".join([*before, *middle, *after]), "\n".join(main))
    assert Counter(rest.split()) == Counter([*before, *inside, *after])
