"""Words in are words out: nothing is lost, moved or invented, whatever elements lie in each other,
and Markdown keeps each word in its item, its quotation and its emphasis."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import settings

from crawl.maincontent.render import as_markdown, as_text
from crawl.maincontent.walk import outline_of
from tests.maincontent.markdown_reader import words_of
from tests.maincontent.nestings import Item, Nesting, Quotation, Word, nesting

_SHARES = 8
_NESTINGS = 50 * settings().max_examples
"""100,000 where all that is known is hunted for (PROPERTY_TESTS=hunt)."""
_TOKEN = re.compile(r"w\d+x")


def _characters(words: Sequence[Word]) -> str:
    """All that is said, without blanks."""
    return "".join("".join(word.text for word in words).split())


def _tokens(words: Sequence[Word]) -> list[Word]:
    return [
        Word(token, word.around, word.emphasis, word.heading, word.is_preformatted)
        for word in words
        for token in _TOKEN.findall(word.text)
    ]


def _valid(words: Sequence[Word]) -> list[Word]:
    """Those that the page does not strike out."""
    return [word for word in words if "struck" not in word.emphasis]


def _said_in_markdown(page: Nesting) -> list[Word]:
    """Headings and code have no struck text."""
    return [
        word
        for word in page.words
        if "struck" not in word.emphasis or not (word.heading or word.is_preformatted)
    ]


def check(seed: int) -> None:
    """Renders one page both ways and holds it against what it says."""
    page = nesting(seed)
    blocks = outline_of(page.markup.encode()).blocks
    plain = as_text(blocks).text
    assert "".join(plain.replace(" | ", "").split()) == _characters(_valid(page.words))
    markdown = as_markdown(blocks).text
    read = words_of(markdown)
    wanted = _said_in_markdown(page)
    if page.is_spaced:
        assert _characters(read) == _characters(wanted), markdown
        _check_tokens(page, _tokens(wanted), _tokens(read))
    else:  # struck text that Markdown cannot say is left out
        assert _characters(_valid(read)) == _characters(_valid(wanted)), markdown
        _check_tokens(page, _tokens(_valid(wanted)), _tokens(_valid(read)))


def _check_tokens(page: Nesting, wanted: list[Word], read: list[Word]) -> None:
    ours: dict[int, int] = {}
    theirs: dict[int, int] = {}
    lists_of: dict[int, set[int]] = {}
    for want, found in zip(wanted, read, strict=True):
        assert found.text == want.text
        assert (found.heading, found.is_preformatted) == (want.heading, want.is_preformatted), want
        assert len(found.around) == len(want.around), want
        for here, there in zip(want.around, found.around, strict=True):
            assert ours.setdefault(here.id, there.id) == there.id, want
            assert theirs.setdefault(there.id, here.id) == here.id, want
            if isinstance(here, Quotation) or isinstance(there, Quotation):
                assert type(here) is type(there), want
                continue
            assert there.number == here.number, want
            assert theirs.setdefault(there.list_id, here.list_id) == here.list_id, want
            lists_of.setdefault(here.list_id, set()).add(there.list_id)
        if want.heading or want.is_preformatted:
            continue
        assert found.emphasis <= want.emphasis, want
        if page.is_spaced and not want.emphasis >= {"bold", "italic", "struck"}:
            assert found.emphasis == want.emphasis, want
    if page.is_spaced:
        _check_lists(page, wanted, lists_of)


def _check_lists(page: Nesting, wanted: list[Word], lists_of: dict[int, set[int]]) -> None:
    """A list is one, unless an item of it is not shown, or has a number out of order."""
    shown = {each.id for word in wanted for each in word.around}
    broken = {
        each.list_id
        for word in page.words
        for each in word.around
        if isinstance(each, Item) and each.id not in shown
    }
    for list_id in (page.whole_lists & lists_of.keys()) - broken:
        assert len(lists_of[list_id]) == 1, list_id


@pytest.mark.parametrize("share", range(_SHARES))
def test_words_in_are_words_out(share: int) -> None:
    for seed in range(share, _NESTINGS, _SHARES):
        try:
            check(seed)
        except AssertionError as fault:
            page = nesting(seed).markup
            raise AssertionError(f"page {seed}: {page}\n{fault}") from fault
