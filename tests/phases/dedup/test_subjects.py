"""What pages are about, by their titles and headings."""

from __future__ import annotations

import numpy as np
import pytest

from crawl.phases.dedup.tasks.subjects import (
    heading_keys,
    packed_words,
    subject_keys,
    subject_words,
)


@pytest.mark.parametrize(
    ("title", "other", "is_same"),
    [
        ("53.32. pg_namespace", "51.32. pg_namespace", True),
        ("Chapter 73. Physical Storage", "Chapter 65. Physical Storage", True),
        ("Part VI. Reference", "Part VII. Reference", True),
        ("C_STANDARD¶", "C_STANDARD", True),
        ("E.10. Release 17.2", "E.11. Release 15.10", False),
        ("Release 3.9.1 On 2015-10-16", "Release 3.9.2 On 2015-11-02", False),
        ("C++ flags", "C flags", False),
        ("C# flags", "C flags", False),
        ("operator<", "operator>", False),
        ("operator()", "operator[]", False),
        ("read and write", "write and read", False),
    ],
)
def test_titles_are_compared_by_their_words(title: str, other: str, is_same: bool) -> None:
    assert (subject_words(title) == subject_words(other)) is is_same
    hosts = np.array([1, 2], np.uint64)
    one, two = subject_keys(packed_words([title, other]), hosts).tolist()
    assert one and two and (one == two) is is_same


def test_what_most_titles_of_a_host_have_is_the_sites() -> None:
    here = [f"{name} — CMake 3.25.1 Documentation" for name in ("a", "b", "c", "d", "a b")]
    there = [f"Manual 4 | {name}" for name in ("a", "b", "c", "d", "a b")]
    hosts = np.array([7] * 5 + [8] * 5, np.uint64)
    keys = subject_keys(packed_words([*here, *there]), hosts).tolist()
    assert keys[:5] == keys[5:] and len(set(keys)) == 5 and 0 not in keys


def test_a_title_that_all_pages_share_says_nothing_and_words_that_many_share_do() -> None:
    hosts = np.full(6, 7, np.uint64)
    assert subject_keys(packed_words(["Acme"] * 6), hosts).tolist() == [0] * 6
    assert subject_keys(packed_words(["", None] * 3), hosts).tolist() == [0] * 6
    # each word is on half of the pages, and no two titles are the same
    titles = ["drop table", "drop view", "drop table view", "table", "view", "table drop view"]
    keys = subject_keys(packed_words(titles), hosts).tolist()
    assert len(set(keys)) == 6 and 0 not in keys


def test_the_first_short_line_is_a_heading() -> None:
    sentence = " ".join(["word"] * 20)
    texts = [
        "Index – A\n\nabc",
        "  \n Index – G\nabc",
        "3.1. Index – A\nx",
        "alone",
        sentence + "\nx",
        "",
    ]
    keys = heading_keys([*texts, None]).tolist()
    assert keys[0] == keys[2] != keys[1] and keys[1]
    assert keys[3:] == [0, 0, 0, 0]
