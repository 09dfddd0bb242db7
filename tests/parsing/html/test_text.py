from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.html.text import LINE, collapse_whitespace, to_lines


@given(st.text(alphabet=f"ab \t\n\r\x0b\x0c\x1c\x85\xa0\u2003\u2028\u3000ü{LINE}"))
def test_lines_are_tidy(text: str) -> None:
    expected = [" ".join(line.split()) for line in text.split(LINE)]
    assert to_lines(text) == "\n".join(line for line in expected if line)


def test_a_great_many_blanks() -> None:
    assert to_lines(" " * 1_000_000 + "x" + "\n" * 1_000_000 + "y") == "x y"


@given(st.text(), st.integers(1, 50))
def test_collapsed(text: str, limit: int) -> None:
    found = collapse_whitespace(text, limit)
    assert len(found) <= limit
    assert found == " ".join(found.split())
    assert " ".join(text.split()).startswith(found)
