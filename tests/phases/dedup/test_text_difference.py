"""What differs between two texts."""

from __future__ import annotations

from crawl.phases.dedup.text_difference import MAX_CHANGES, Change, difference_of


def test_the_words_that_differ() -> None:
    one = "DROP VIEW removes a view.\n\nThis is the default."
    other = "DROP VIEW   removes a materialized view. This is the default. Not for tables."
    found = difference_of(one, other)
    assert found.changes == (Change("", "materialized"), Change("", "Not for tables."))
    assert (found.left_out, found.is_cut) == (0, False)
    assert difference_of(one, one.replace("\n", " ")).changes == ()
    assert difference_of("", "a b").changes == (Change("", "a b"),)


def test_long_differences_are_bounded() -> None:
    one = " ".join(f"a{n} same{n}" for n in range(3000))
    other = " ".join(f"b{n} same{n}" for n in range(3000))
    found = difference_of(one, other)
    assert len(found.changes) == MAX_CHANGES and found.left_out > 700 and found.is_cut
    (change,) = difference_of("x" * 5000, "y").changes
    assert len(change.one) < 300


def test_a_word_that_is_everywhere_is_compared_beside_others() -> None:
    one = " ".join(f"a{n} same" for n in range(3000))
    other = " ".join(f"a{n} same" if n % 50 else f"b{n} same" for n in range(3000))
    found = difference_of(one, other)
    assert found.changes[0] == Change("a0", "b0") and found.changes[1] == Change("a50", "b50")
    assert found.is_cut
    (change,) = difference_of("a " * 1500, "b " + "a " * 1400).changes
    assert change.other == "b"
